"""What URLs and announced links say about two documents, and how far that is believed: one rule for all who pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bilingual_crawler.languages.codes import LanguagePair

N = TypeVar("N", float, NDArray[np.float64])

SCORES = {"hreflang+": 0.99, "hreflang": 0.95, "switcher": 0.9, "url": 0.85}
"""Confidence by method; ``hreflang+`` is announced by both pages. Order of trust, not probabilities."""


@dataclass(slots=True)
class UrlEvidence:
    """Evidence for one candidate pair (CCAligned 2020, section 3.2.3; hreflang; language switchers)."""

    hreflang: int = 0
    """Pages of the pair that announce the other: 0 to 2."""
    switcher: int = 0
    """Pages of the pair whose language switcher leads to the other: 0 to 2."""
    key: bool = False
    """The URLs are equal but for language marks, and those agree with the content."""
    refused: bool = False
    """The URLs are equal but for language marks, and one of those names another language than the content's."""
    one_sided: bool = False
    """One page announces the other, of another registered domain, which does not announce it: the content decides."""

    def need_both_sides(self) -> None:
        """The pages are of two registered domains: anybody can announce the pages of others."""
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
    """Whether the language that a URL is *marked* with, if there is one of *pair*, is that of the content, *side*."""
    return marked is None or pair.side(marked) in (None, side)


def together(one: N, two: N) -> N:
    """The probability by two independent witnesses, from what each alone gives (0 to 1) against even odds."""
    both, neither = one * two, (1 - one) * (1 - two)
    return both / (both + neither)
