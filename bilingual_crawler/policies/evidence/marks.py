"""Evidence: the language that a URL names, as in ``/fi/`` or ``?lang=fi``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import NOTHING, counted, normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


@dataclass
class Marks(LanguageEvidence):
    """A mark means at first what it says, and then what its pages on this site turned out to be."""

    name: ClassVar[str] = "marks"
    trust: float = 0.93
    """Probability that a page is in the language its URL names, before the site has shown any."""
    weak: float = 0.5
    """Share of that for a mark that may mean something else."""
    weight: float = 3.0
    """Pages with the mark that count as much as what it says."""
    doubt: float = 0.05
    """Added to each belief of before: what the folder has never shown, a mark can still name."""

    def __post_init__(self) -> None:
        self._counts: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._strong, self._weak = ([self._said(index, share) for index in range(3)] for share in (1.0, self.weak))

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        mark = self.known.place(page.url).mark
        if mark:
            self._counts[mark][self.known.index(page.side)] += 1
        return ()

    def update(self, target: Target, belief: Belief) -> Belief | None:
        place = target.place
        if place.mark is None:
            return None
        named = self.known.index(self.known.pair.side(place.marked) if place.marked else None)
        said = (self._weak if place.weak else self._strong)[named]
        first, second, neither = counted(said, self._counts.get(place.mark, NOTHING), self.weight)
        doubt = self.doubt
        return normal(first * (belief[0] + doubt), second * (belief[1] + doubt), neither * (belief[2] + doubt))

    def _said(self, named: int, share: float) -> Belief:
        """What a mark of the language at index *named* says; the prior keeps what the *share* leaves."""
        wrong = (1 - self.trust) / 2
        first, second, neither = (
            share * (self.trust if index == named else wrong) + (1 - share) * prior
            for index, prior in enumerate(self.known.prior)
        )
        return first, second, neither
