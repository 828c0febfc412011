"""Evidence: documents that have no partner yet, of which one language has more than the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import PartnerEvidence
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief


@dataclass
class Surplus(PartnerEvidence):
    """A page in the language that a site lacks may complete a pair, even if nothing tells of which documents.

    On sites where no pair is recognised, this keeps the crawl from fetching one language first and the other last.
    """

    name: ClassVar[str] = "surplus"
    trust: float = 0.2
    """Chance where all documents are in the other language."""
    weight: float = 2.0
    """Documents that have to be there for half of it."""

    def __post_init__(self) -> None:
        self._single: dict[str, list[int]] = {}
        """Site -> documents without a partner in the first, in the second language."""

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        self._count(page.url, 1)
        return ()

    def learn_pair(self, url: str, partner: str) -> Iterable[str]:
        self._count(url, -1)
        self._count(partner, -1)
        return ()

    def chance(self, url: str, belief: Belief) -> float:
        single = self._single.get(registered_domain(url))
        if single is None:
            return 0.0
        more = int(single[1] > single[0])
        surplus = single[more] - single[1 - more]
        return self.trust * belief[1 - more] * surplus / (single[more] + self.weight)

    def _count(self, url: str, documents: int) -> None:
        # a pair of an earlier run may be known before its documents are
        side = self.known.side(url)
        if side is not None:
            self._single.setdefault(registered_domain(url), [0, 0])[self.known.index(side)] += documents
