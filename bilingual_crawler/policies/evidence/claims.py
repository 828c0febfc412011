"""Evidence: claims of translations by ``hreflang`` or language switchers, and twins."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar

from cachetools import LRUCache

from bilingual_crawler.items import Proposal
from bilingual_crawler.policies.evidence.base import PartnerEvidence, Reliability, part_left
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.evidence.base import Belief, Target

MAX_SOURCES = 1000
"""Maximum documents that claim one URL, the latest."""
MAX_TIMES = 100_000
"""Maximum URLs with counted switchers, the latest."""


@dataclass
class Claims(PartnerEvidence):
    """The best claim on a URL by an unpaired document, discounted if the language of the URL seems wrong.

    P(claim is right) is learnt by site, by language on the site, and by folder. Anybody can claim the pages of another
    registered domain. Such claims start as trusted, since many addresses redirect to the own domain; then the share of
    mutual claims between the two domains counts.
    """

    trust: float
    """Prior P(claim is right) for a page that is surely in the other language."""
    slope: float
    base: float
    """Factor of the trust: ``slope`` x belief in the other language + ``base``, at most 1."""
    mutual: float = 1.0
    one_sided: float = 0.0
    """Prior counts of claims between two registered domains: mutual, one-sided."""
    weight: float = 5.0
    """Weight of the outer place, in claims."""

    def __post_init__(self) -> None:
        self._right = Reliability(self.trust * self.weight, (1 - self.trust) * self.weight)
        self._by_domains = Reliability(self.mutual, self.one_sided)
        self._sources: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """URL -> claiming documents, in the order of their downloads."""

    @abstractmethod
    def claimed(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        """The URLs that *page* claims as its translations; empty if *page* is in neither language of the pair."""

    def trust_in(self, url: str, other: int) -> float:
        """P(a claim on *url* is right) if *url* is in the language of index *other*."""
        return self._right.probability(*self._places(url, other))

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        self._count(page.url)
        claimed = dict.fromkeys(self.claimed(page, links))
        self._count_foreign(page, claimed)
        for url in claimed:
            self._claim(url, page.url)
        return ()

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        return page.url in self._sources.get(link.url, ())

    def completes(self, target: Target, belief: Belief) -> float:
        sources = self._sources.get(target.url)
        if not sources:
            return 0.0
        trust = [self.trust_in(target.url, other) for other in range(2)]
        return max(
            (
                trust[other] * self._mutual(source, target.url) * part_left(belief[other], self.slope, self.base)
                for source, other in self.known.lacking(sources)
            ),
            default=0.0,
        )

    def observe_redirect(self, url: str, target: str) -> None:
        for source in self._sources.get(url, ()):
            self._claim(target, source)

    def forget(self, url: str) -> None:
        self._sources.pop(url, None)

    def _mutual(self, source: str, url: str) -> float:
        """P(*url* claims its *source* as well); 1 within a registered domain."""
        domains = registered_domain(source), registered_domain(url)
        return 1.0 if domains[0] == domains[1] else self._by_domains.probability(domains)

    def _places(self, url: str, other: int) -> tuple[Hashable, ...]:
        """The site of *url*, its pages in the language of index *other*, and the folder of *url*."""
        place = self.known.place(url)
        return place.site, (place.site, other), (place.folders[-1], other)

    def _count(self, url: str) -> None:
        """Count the claims on the downloaded page at *url* as right or wrong."""
        sources = self._sources.get(url)
        if not sources:
            return
        partner = self.known.partner(url)
        if partner in sources:
            self._right.count(*self._places(url, self.known.index(self.known.side(url))), right=True)
            return
        for _, other in islice(self.known.lacking(sources), 1):
            self._right.count(*self._places(url, other), right=False)

    def _count_foreign(self, page: PageRecord, claimed: Collection[str]) -> None:
        """Count the claims of other domains on *page* as mutual (its partner, or claimed by *page*) or one-sided."""
        domain = registered_domain(page.url)
        mutual: dict[str, bool] = {}
        for source in self._sources.get(page.url, ()):
            claiming = registered_domain(source)
            if claiming != domain:
                right = source in claimed or self.known.partner(page.url) == source
                mutual[claiming] = mutual.get(claiming, False) or right
        for claiming, right in mutual.items():
            self._by_domains.count((claiming, domain), right=right)

    def _claim(self, url: str, source: str) -> None:
        """Add the claim of the document *source* on *url*, unless *url* is a document itself."""
        if self.known.side(url) is not None:
            return
        if url not in self._sources:
            self.known.mention(url)
        sources = self._sources[url]
        sources[source] = None
        if len(sources) > MAX_SOURCES:
            del sources[next(iter(sources))]


@dataclass
class Hreflang(Claims):
    """Translations that pages announce with ``hreflang``."""

    name: ClassVar[str] = "hreflang"
    trust: float = 0.95
    slope: float = 2.0
    base: float = 0.3

    def claimed(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        return [claim.url for claim in page.claims_for(self.known.pair, links) if claim.announced]


@dataclass
class Switchers(Claims):
    """Targets of language switchers; a target of many switchers is a home page."""

    name: ClassVar[str] = "switchers"
    trust: float = 0.85
    slope: float = 1.5
    base: float = 0.1
    spared: int = 1
    """Switchers to one URL without a discount; further ones share the trust."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._times: LRUCache[str, int] = LRUCache(MAX_TIMES)

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        # a one-sided switcher: content decides
        side = self.known.index(page.side)
        leading_here = ((url, self.trust_in(page.url, side)) for url in self._sources.get(page.url, ()))
        claimed = filter(self.known.side, self.claimed(page, links))
        leading_there = ((url, self.trust_in(url, 1 - side)) for url in claimed)
        domain = registered_domain(page.url)
        return [
            Proposal(url, "switcher", trust)
            for url, trust in chain(leading_here, leading_there)
            if registered_domain(url) == domain
        ]

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        for url in dict.fromkeys(self.claimed(page, links)):
            self._times[url] = self._times.get(url, 0) + 1
        return super().observe_page(page, links)

    def claimed(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        claims = page.claims_for(self.known.pair, links)
        announced = {claim.url for claim in claims if claim.announced}
        return [claim.url for claim in claims if claim.url not in announced]

    def trust_in(self, url: str, other: int) -> float:
        return super().trust_in(url, other) / max(1, self._times.get(url, 0) - self.spared)


@dataclass
class Mirrors(PartnerEvidence):
    """Twins in the other language; P(translation) is learnt by site."""

    name: ClassVar[str] = "mirrors"
    right: float = 2.0
    wrong: float = 0.5
    """Prior counts of twins: translations, others."""

    def __post_init__(self) -> None:
        self._by_site = Reliability(self.right, self.wrong)

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        others = [url for held in self.known.twins(self.known.target(page.url)) for url in held if url != page.url]
        paired = self.known.partner(page.url) is not None
        if others and (paired or page.side is None or any(self.known.side(url) == page.side for url in others)):
            self._by_site.count(self.known.place(page.url).site, right=paired)
        return self.known.queued_twins(self.known.target(page.url)) if page.side else ()

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        return self.known.queued_twins(self.known.target(partner))

    def completes(self, target: Target, belief: Belief) -> float:
        best = 0.0
        for held in self.known.twins(target):
            for twin, other in islice(self.known.lacking(held), 1):
                best = max(best, self._by_site.probability(self.known.place(twin).site) * belief[other])
        return best

    def counterpart(self, target: Target) -> float:
        return self._by_site.probability(target.place.site) if len(self.known.queued_twins(target)) > 1 else 0.0
