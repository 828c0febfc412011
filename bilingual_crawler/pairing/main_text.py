"""Main text: the lines of a page that the other pages of its site and language do not repeat."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.documents import Alignment, Profile

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


def main_text(corpus: Corpus, alignment: Alignment) -> Callable[[str], list[str]]:
    """A function that gives the main text of a document of *alignment* that is in a pair, by its URL, in lines."""
    paired = {url for pair in alignment.pairs for url in (pair.url_a, pair.url_b)}
    masks: dict[str, NDArray[np.bool_]] = {}
    profiles = corpus.profiles(alignment.domain)
    for language in (corpus.pair.a, corpus.pair.b):
        side = [profile for profile in profiles if profile.language == language]
        masks |= {p.url: mask for p, mask in zip(side, main_lines(side), strict=True) if p.url in paired}
    return lambda url: list(compress(corpus.document(url).lines, masks[url]))
