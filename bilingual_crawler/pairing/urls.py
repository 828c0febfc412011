"""The evidence of URLs, ``hreflang`` and language switchers for a candidate pair; alignment and ledger share it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bilingual_crawler.languages.codes import LanguagePair

N = TypeVar("N", float, NDArray[np.float64])

SCORES = {"hreflang+": 0.99, "hreflang": 0.95, "switcher": 0.9, "url": 0.85}
"""Confidence by method; ``hreflang+`` is announced by both pages. Order of trust, not probabilities."""
MAX_LENGTH_RATIO = 4.0
"""The longer text of a pair has at most this many times the width of the shorter, whatever announces the pair."""


@dataclass(slots=True)
class UrlEvidence:
    """Evidence for one candidate pair (CCAligned 2020, section 3.2.3; hreflang; language switchers)."""

    hreflang: int = 0
    """Pages of the pair that announce the other: 0 to 2."""
    switcher: int = 0
    """Pages of the pair whose language switcher leads to the other: 0 to 2."""
    key: bool = False
    """The URLs are equal but for language marks, which agree with the content."""
    numbered: int = 0
    """Which group of numbered pages, as ``/chapter-3``, :attr:`key` is one of; 0 for none, or if the pages name it."""
    refused: bool = False
    """The URLs are equal but for language marks, and one mark contradicts the content."""
    linked: bool = False
    """The pages link to each other, and to no other page in the other language that links back."""
    one_sided: bool = False
    """Only one of two pages of different registered domains announces the other: the content decides."""

    def need_both_sides(self) -> None:
        """Count links only if both pages have them: anybody can announce the pages of another registered domain."""
        self.one_sided = self.hreflang == 1
        self.hreflang *= self.hreflang == 2
        self.switcher *= self.switcher == 2

    @property
    def score(self) -> float:
        """Confidence, 0 to 1."""
        if self.hreflang:
            return SCORES["hreflang+"] if self.hreflang == 2 else SCORES["hreflang"]
        return SCORES[self.method] if self.switcher == 2 or self.key else 0.0

    @property
    def method(self) -> str:
        """The evidence that the score rests on: ``hreflang``, ``switcher`` or ``url``."""
        if self.hreflang:
            return "hreflang"
        return "switcher" if self.switcher == 2 else "url"


def agrees(marked: str | None, side: str, pair: LanguagePair) -> bool:
    """Whether the mark of a URL, or None, agrees with the content; marks outside *pair* agree with everything."""
    return marked is None or pair.side(marked) in (None, side)


MAX_REDIRECTS = 20  # redirects in a row that are followed, as in a crawl


def last_hop(redirects: Mapping[str, str], url: str, is_document: Callable[[str], bool]) -> str:
    """Return where *redirects* (URL to target) lead from *url*, at most up to the first document."""
    for _ in range(MAX_REDIRECTS):
        if url not in redirects or is_document(url):
            break
        url = redirects[url]
    return url


def together(one: N, two: N) -> N:
    """Combine two independent probabilities (0 to 1), each given at even prior odds."""
    both, neither = one * two, (1 - one) * (1 - two)
    return both / (both + neither)
