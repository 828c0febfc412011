"""Evidence: translations come from one template, so that their links lead to translations in the same order."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cachetools import LRUCache

from bilingual_crawler.items import MAX_LINKS, Proposal
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.policies.evidence.base import PartnerEvidence, Reliability, part_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.items import FetchedPage
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.evidence.base import Belief, Target

MAX_BYTES = 150_000_000
"""Memory for the links of documents without a partner, those that came last: 30,000 ordinary ones."""
URL_BYTES = 57
"""Bytes of a URL beside its characters."""
MAX_DOCUMENTS = 20_000
"""Documents without a partner whose couples are kept: those that came last."""
MAX_COUPLES = 8
"""URLs that one URL may correspond to."""
_ALIGNED = (LinkPosition.BODY, LinkPosition.NAVIGATION)


@dataclass
class ParallelLinks(PartnerEvidence):
    """Links that stand at corresponding places of a pair of documents are a couple: they lead to a pair.

    What both documents link to is left out, both lists are cut at links that are pairs already, and what lies between
    two cuts corresponds in order. A couple that a crawl has seen both pages of was right or wrong; that is counted by
    site.
    """

    name: ClassVar[str] = "parallel_links"
    right: float = 4.0
    wrong: float = 1.0
    """Couples that were right, and that were wrong, as if counted before the site has shown any."""
    least: float = 0.1
    """Reliability of the couples of a site from which a new one is news."""
    slope: float = 3.0
    base: float = 0.05
    """The part of P(completes) that is left, ``slope`` x belief in the other language + ``base``, at most 1.

    A page that is not translated has a couple as well, and is in the language of its couple.
    """

    def __post_init__(self) -> None:
        self._links: LRUCache[str, Sequence[str]] = LRUCache(MAX_BYTES, getsizeof=_size)
        self._couples: dict[str, Counter[str]] = {}
        """URL -> those that it corresponds to, with the pairs of documents that say so."""
        self._documents: OrderedDict[str, None] = OrderedDict()
        """Documents that have couples."""
        self._by_site = Reliability(self.right, self.wrong)
        self._proposals: deque[tuple[str, Proposal]] = deque()

    def candidates(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[Proposal]:
        return [Proposal(url, self.name, self._probability(page.url, url)) for url in self._couples.get(page.url, ())]

    def proposals(self) -> Iterator[tuple[str, Proposal]]:
        while self._proposals:
            yield self._proposals.popleft()

    def observe_page(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        if page.side is not None and not page.noindex:
            aligned = [link.url for link in links if not link.alternate and link.position in _ALIGNED]
            self._links[page.url] = aligned[:MAX_LINKS]
        couples = self._couples.get(page.url)
        if not couples:
            return ()
        likeliest = max(couples, key=couples.__getitem__)
        partner = self.known.partner(page.url)
        if partner or self.known.side(likeliest) is not None:
            self._by_site.count(self.known.place(page.url).site, right=partner == likeliest)
        return [url for url in couples if self.known.is_queued(url)]

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        links, others = self._links.pop(url, ()), self._links.pop(partner, ())
        changed: list[str] = []
        # a couple that was known is news as well: what else is believed of the site has changed since it was weighed
        for one, other in self._aligned(links, others, {url, partner}):
            changed += [first for first, second in ((one, other), (other, one)) if self._count(first, second)]
            if self.known.side(one) and self.known.side(other):
                self._proposals.append((one, Proposal(other, self.name, self._probability(one, other))))
        for one in (url, partner):
            self._drop(one)
        while len(self._documents) > MAX_DOCUMENTS:
            self._drop(next(iter(self._documents)))
        believed = self._by_site.probability(self.known.place(url).site) >= self.least
        return filter(self.known.is_queued, changed) if believed else ()

    def completes(self, target: Target, belief: Belief) -> float:
        couples = self._couples.get(target.url)
        if not couples:
            return 0.0
        return max(
            (
                self._probability(target.url, other) * part_left(belief[index], self.slope, self.base)
                for other, index in self.known.lacking(couples)
            ),
            default=0.0,
        )

    def counterpart(self, target: Target) -> float:
        couples = self._couples.get(target.url)
        if not couples:
            return 0.0
        queued = filter(self.known.is_queued, couples)
        return max((self._probability(target.url, other) for other in queued), default=0.0)

    def observe_redirect(self, url: str, target: str) -> None:
        for other, times in self._couples.get(url, {}).items():
            self._count(target, other, times)
            self._count(other, target, times)

    def forget(self, url: str) -> None:
        if self.known.side(url) is None:
            self._drop(url)
        elif url in self._couples:
            self._documents[url] = None

    def _aligned(self, links: Sequence[str], others: Sequence[str], pair: set[str]) -> Iterator[tuple[str, str]]:
        """The links of both documents that correspond to each other and are in no pair yet."""
        common = pair | (set(links) & set(others))
        one = [url for url in links if url not in common]
        other = [url for url in others if url not in common]
        places = {url: place for place, url in enumerate(other)}
        start, last = 0, 0
        for place, url in enumerate(one):
            partner = self.known.partner(url)
            cut = places.get(partner, -1) if partner else -1
            if cut >= last:
                yield from self._in_order(one[start:place], other[last:cut])
                start, last = place + 1, cut + 1
        yield from self._in_order(one[start:], other[last:])

    def _in_order(self, links: Sequence[str], others: Sequence[str]) -> Iterable[tuple[str, str]]:
        single, other = ([url for url in urls if not self.known.partner(url)] for urls in (links, others))
        return zip(single, other, strict=False)

    def _probability(self, url: str, other: str) -> float:
        """That the two are translations: how often couples were right, by the share of pages that say so."""
        couples = self._couples[url]
        return self._by_site.probability(self.known.place(url).site) * couples[other] / sum(couples.values())

    def _count(self, url: str, other: str, times: int = 1) -> bool:
        """More pages say that *url* corresponds to *other*; false if *url* has others enough."""
        if url not in self._couples:
            self._couples[url] = Counter()
            if self.known.side(url) is None:
                self.known.mention(url)
            else:
                self._documents[url] = None
        couples = self._couples[url]
        if other not in couples and len(couples) == MAX_COUPLES:
            return False
        couples[other] += times
        return True

    def _drop(self, url: str) -> None:
        """*url* corresponds to nothing any more."""
        self._documents.pop(url, None)
        for other in self._couples.pop(url, ()):
            couples = self._couples.get(other)
            if couples:
                del couples[url]
                if not couples:
                    self._drop(other)


def _size(urls: Sequence[str]) -> int:
    """Bytes of memory that *urls* take, about."""
    return sum(map(len, urls)) + URL_BYTES * (len(urls) + 4)
