"""Evidence: documents that still lack a partner, of which the other language has fewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bilingual_crawler.policies.evidence.base import PartnerEvidence
from bilingual_crawler.urls.canonical import registered_domain


@dataclass
class Surplus(PartnerEvidence):
    """Where more documents of one language are without a partner, a page in the other may complete one of them."""

    name: ClassVar[str] = "surplus"
    trust: float = 0.2
    weight: float = 2.0

    def __post_init__(self):
        self._single = {}

    def learn(self, page, links):
        if page.side is not None:
            self._single.setdefault(registered_domain(page.url), [0, 0])[self.known.index(page.side)] += 1
        return ()

    def learn_pair(self, url, partner):
        single = self._single[registered_domain(url)]
        single[0] -= 1
        single[1] -= 1
        return ()

    def chance(self, url, belief):
        single = self._single.get(registered_domain(url))
        if single is None:
            return 0.0
        more = 0 if single[0] > single[1] else 1
        surplus = single[more] - single[1 - more]
        return self.trust * belief[1 - more] * surplus / (single[more] + self.weight)
