"""Evidence: documents that have no partner yet, of which one language has more than the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import PartnerEvidence

if TYPE_CHECKING:
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


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

    def chance(self, target: Target, belief: Belief) -> float:
        single = self.known.single(target.place.site)
        more = int(single[1] > single[0])
        surplus = single[more] - single[1 - more]
        return self.trust * belief[1 - more] * surplus / (single[more] + self.weight)
