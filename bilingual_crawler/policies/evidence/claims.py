"""Evidence: claims of translations, by ``hreflang``, language switchers or links in texts, and twins."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from bilingual_crawler.items import Proposal
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.evidence.base import (
    Belief,
    PartnerEvidence,
    Prospect,
    Reliability,
    Target,
    part_left,
    place_of,
)
from bilingual_crawler.urls.hosts import registered_domain


@dataclass
class Claims(PartnerEvidence):
    """The best claim on a URL by an unpaired document, discounted if the language of the URL seems wrong.

    P(claim is right) is learnt by site, by language on it, and by folder. Claims on pages of another registered domain
    start as trusted, as many addresses redirect to the own domain; then the share of mutual claims between both counts.
    """

    trust: float
    """Prior P(claim is right) for a page that is surely in the other language."""
    slope: float
    base: float
    """Factor of the trust, see :func:`part_left`."""
    mutual: float = 1.0
    one_sided: float = 0.0
    """Prior counts of claims between two registered domains: mutual, one-sided."""
    weight: float = 5.0  # weight of the outer place, in claims

    def __post_init__(self) -> None:
        self._right = Reliability(self.trust * self.weight, (1 - self.trust) * self.weight)
        self._by_domains = Reliability(self.mutual, self.one_sided)

    @abstractmethod
    def sources(self, url: str) -> Sequence[str]:
        """The documents that claim *url* as their translation, in the order of their downloads."""

    def trust_in(self, url: str, other: int) -> float:
        """P(a claim on *url* is right) if *url* is in the language of index *other*."""
        return self._right.probability(*self._places(url, other))

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        url, partner = page.url, self.book.partner(page.url)
        sources = [source for source in self.sources(url) if source != url]
        if partner in sources:
            self._right.count(*self._places(url, self.known.index(self.book.side(url))), right=True)
        else:
            for _, other in islice(self.book.lacking(sources), 1):
                self._right.count(*self._places(url, other), right=False)
        # claims of other domains are mutual, paired with the page, or one-sided
        domain = registered_domain(url)
        mutual = {registered_domain(one) for one in sources if url in self.sources(one) or one == partner}
        for claiming in dict.fromkeys(map(registered_domain, sources)):
            if claiming != domain:
                self._by_domains.count((claiming, domain), right=claiming in mutual)

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        return page.url in self.sources(link.url)

    def completes(self, target: Target, belief: Belief) -> float:
        best = 0.0
        if sources := self.sources(target.url):
            trust = [self.trust_in(target.url, other) for other in range(2)]
            for source, other in self.book.lacking(sources):
                one, two = domains = registered_domain(source), registered_domain(target.url)
                mutual = 1.0 if one == two else self._by_domains.probability(domains)
                best = max(best, trust[other] * mutual * part_left(belief[other], self.slope, self.base))
        return best

    def _places(self, url: str, other: int) -> tuple[Hashable, ...]:
        """The site of *url*, its pages in the language of index *other*, and the folder of *url*."""
        place = place_of(url)
        return place.site, (place.site, other), (place.folders[-1], other)


@dataclass
class Hreflang(Claims):
    """Translations that pages announce with ``hreflang``."""

    name: ClassVar[str] = "hreflang"
    trust: float = 0.95
    slope: float = 2.0
    base: float = 0.3

    def sources(self, url: str) -> Sequence[str]:
        return self.book.announced_by(url)


@dataclass
class Switchers(Claims):
    """Targets of language switchers; a target of many switchers is a home page."""

    name: ClassVar[str] = "switchers"
    trust: float = 0.85
    slope: float = 1.5
    base: float = 0.1
    spared: int = 1  # switchers to one URL without a discount; further ones share the trust

    def sources(self, url: str) -> Sequence[str]:
        announcing = self.book.announced_by(url)
        return [source for source in self.book.switched_by(url) if source not in announcing]

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        # a one-sided switcher: content decides
        side = self.known.index(page.side)
        claims = page.claims_for(self.known.pair)
        announced = {claim.url for claim in claims if claim.announces}
        switched = (self.book.resolve(claim.url) for claim in claims if claim.url not in announced)
        here = [(url, self.trust_in(page.url, side)) for url in self.sources(page.url)]
        there = [(url, self.trust_in(url, 1 - side)) for url in switched if url in self.book]
        domain = registered_domain(page.url)
        return [Proposal(url, "switcher", trust) for url, trust in here + there if registered_domain(url) == domain]

    def trust_in(self, url: str, other: int) -> float:
        return super().trust_in(url, other) / max(1, len(self.sources(url)) - self.spared)


@dataclass
class CrossLinks(Claims):
    """Links in texts from one part of a site to another, as between the articles of two wikis."""

    name: ClassVar[str] = "cross_links"
    trust: float = 0.08
    slope: float = 2.0
    base: float = 0.0
    both: float = 0.8  # P(translation) of two documents that link to each other so

    def sources(self, url: str) -> Sequence[str]:
        return self.book.linked_by(url)

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        if not (sources := self.sources(page.url)):
            return []
        linked = self.book.cross_links(page)
        return [Proposal(url, "linked", self.both) for url in sources if self.book.original(url) in linked]


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
        others = [url for url in self.book.twins(self.book.key(page.url)) if url != page.url]
        paired = self.book.partner(page.url) is not None
        if others and (paired or page.side is None or any(self.book.side(url) == page.side for url in others)):
            self._by_site.count(place_of(page.url).site, right=paired)
        return self.known.queued_twins(self.book.key(page.url)) if page.side else ()

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        return self.known.queued_twins(self.book.key(partner))

    def completes(self, target: Target, belief: Belief) -> float:
        best = 0.0
        for twin, other in self.book.lacking(self.book.twins(target.key)):
            best = max(best, self._by_site.probability(place_of(twin).site) * belief[other])
        return best

    def counterpart(self, target: Target) -> float:
        return self._by_site.probability(target.place.site) if len(self.known.queued_twins(target.key)) > 1 else 0.0


@dataclass
class Claimed(Prospect):
    """P(a URL that is claimed as a translation is a page): themes link to all languages, also where nobody has written.

    It is learnt by site and folder. Some redirect what nobody has written to the start page, or back.
    """

    name: ClassVar[str] = "claimed"
    weight: float = 2.0  # weight of the outer place, in downloads

    def __post_init__(self) -> None:
        self._written = Reliability(self.weight, 0.0)

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        self._written.count(*self._places(page.url), right=True)

    def observe_failure(self, url: str) -> None:
        self._written.count(*self._places(url), right=False)

    def observe_redirect(self, url: str, target: str) -> None:
        end, claimants = self.book.resolve(target), self._claimants(url)
        partner = self.book.partner(end)
        if end in claimants or (partner and partner not in claimants):
            self._written.count(*self._places(url), right=False)

    def factor(self, target: Target) -> float:
        return self._written.probability(*self._places(target.url))

    def _claimants(self, url: str) -> Sequence[str]:
        return self.book.switched_by(url) or self.book.announced_by(url)

    def _places(self, url: str) -> tuple[Hashable, ...]:
        place = place_of(url)
        return (place.site, place.folders) if self._claimants(url) else ()
