"""Main text: the lines of a page that the other pages of its site and language do not repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.documents import Profile

REPEATED = 5
"""Documents of one language that must have a line at least for it to be boilerplate."""
REPEATED_SHARE = 0.1
"""The same as a share of the documents of that language."""


def main_lines(side: Sequence[Profile]) -> list[NDArray[np.bool_]]:
    """For each document of one side of a domain, which of its lines are main text."""
    if not side:
        return []
    lines, frequency = np.unique(np.concatenate([np.unique(profile.lines) for profile in side]), return_counts=True)
    common = lines[frequency >= max(REPEATED, REPEATED_SHARE * len(side))]
    return [~np.isin(profile.lines, common) for profile in side]
