"""Main text: the lines of a page that the other pages of its site and language do not repeat."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.documents import Profile

REPEATED = 5
"""Documents of one language that must have a line at least for it to be boilerplate."""
REPEATED_SHARE = 0.1
"""The same as a share of the documents of that language."""


def main_lines(side: Sequence[Profile]) -> list[NDArray[np.bool_]]:
    """For each document of one side, which of its lines are main text on its registered domain."""
    sites: defaultdict[str, list[int]] = defaultdict(list)
    for place, profile in enumerate(side):
        sites[registered_domain(profile.url)].append(place)
    main: dict[int, NDArray[np.bool_]] = {}
    for places in sites.values():
        distinct = np.concatenate([np.unique(side[place].lines) for place in places])
        lines, frequency = np.unique(distinct, return_counts=True)
        common = lines[frequency >= max(REPEATED, REPEATED_SHARE * len(places))]
        main.update((place, ~np.isin(side[place].lines, common)) for place in places)
    return [main[place] for place in range(len(side))]
