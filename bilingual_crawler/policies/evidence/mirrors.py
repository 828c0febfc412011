"""Evidence: documents whose URL is equal but for language marks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import PartnerEvidence
from bilingual_crawler.policies.evidence.reliability import Reliability

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


@dataclass
class Mirrors(PartnerEvidence):
    """A twin in the other language is believed to be the translation as often as it was on this site."""

    name: ClassVar[str] = "mirrors"
    right: float = 2.0
    wrong: float = 0.5
    """Twins that were translations, and that were not, as if counted before the site has shown any."""

    def __post_init__(self) -> None:
        self._by_site = Reliability(self.right, self.wrong)

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        others = [url for held in self.known.twins(self.known.target(page.url)) for url in held if url != page.url]
        paired = self.known.partner(page.url) is not None
        if others and (paired or page.side is None or any(self.known.side(url) == page.side for url in others)):
            self._by_site.count(self.known.place(page.url).site, paired)
        return self.known.queued_twins(self.known.target(page.url)) if page.side else ()

    def learn_pair(self, url: str, partner: str) -> Iterable[str]:
        return self.known.queued_twins(self.known.target(partner))

    def chance(self, target: Target, belief: Belief) -> float:
        best = 0.0
        for held in self.known.twins(target):
            for twin, other in islice(self.known.lacking(held), 1):
                best = max(best, self._by_site.of(self.known.place(twin).site) * belief[other])
        return best

    def counterpart(self, target: Target) -> float:
        return self._by_site.of(target.place.site) if len(self.known.queued_twins(target)) > 1 else 0.0
