"""Evidence: translations share a template, so their links lead to translations in the same order."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cachetools import LRUCache

from bilingual_crawler.items import MAX_LINKS, Proposal
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.policies.evidence.base import Belief, PartnerEvidence, Reliability, Target, part_left, place_of

MAX_BYTES = 150_000_000  # memory for the links of unpaired documents, the latest: 30,000 ordinary ones
URL_BYTES = 57  # bytes of a URL beside its characters
MAX_DOCUMENTS = 20_000  # maximum unpaired documents with couples, the latest
MAX_COUPLES = 8  # maximum counterparts of a URL
_ALIGNED = (LinkPosition.BODY, LinkPosition.NAVIGATION)


@dataclass
class ParallelLinks(PartnerEvidence):
    """A couple: two links at corresponding places of a document pair, which may lead to a pair; learnt by site.

    Links in both documents are left out. Known pairs cut both lists; the links between two cuts correspond in order.
    """

    name: ClassVar[str] = "parallel_links"
    right: float = 4.0
    wrong: float = 1.0
    """Prior counts of couples: right, wrong."""
    least: float = 0.1
    """Minimum reliability of the couples of a site for new couples to be weighed."""
    slope: float = 3.0
    base: float = 0.05
    """Factor of P(completes), see :func:`part_left`: an untranslated page has a couple in its own language."""

    def __post_init__(self) -> None:
        self._links: LRUCache[str, Sequence[str]] = LRUCache(MAX_BYTES, getsizeof=_size)
        self._couples: dict[str, Counter[str]] = {}
        """URL -> its counterparts, with the number of document pairs that show them."""
        self._documents: OrderedDict[str, None] = OrderedDict()  # documents with couples
        self._by_site = Reliability(self.right, self.wrong)
        self._proposals: deque[tuple[str, Proposal]] = deque()

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        return [Proposal(url, self.name, self._probability(page.url, url)) for url in self._couples.get(page.url, ())]

    def proposals(self) -> Iterator[tuple[str, Proposal]]:
        while self._proposals:
            yield self._proposals.popleft()

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        if page.is_document:
            aligned = [link.url for link in links if not link.alternate and link.position in _ALIGNED]
            self._links[page.url] = aligned[:MAX_LINKS]
        if not (couples := self._couples.get(page.url)):
            return ()
        likeliest = max(couples, key=couples.__getitem__)
        partner = self.book.partner(page.url)
        if partner or self.book.side(likeliest) is not None:
            self._by_site.count(place_of(page.url).site, right=partner == likeliest)
        return [url for url in couples if self.known.is_queued(url)]

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        links, others = self._links.pop(url, ()), self._links.pop(partner, ())
        changed: list[str] = []
        # known couples are weighed again, too: other beliefs about the site have changed
        for one, other in self._aligned(links, others, {url, partner}):
            changed += [first for first, second in ((one, other), (other, one)) if self._count(first, second)]
            if self.book.side(one) and self.book.side(other):
                self._proposals.append((one, Proposal(other, self.name, self._probability(one, other))))
        self._drop(url)
        self._drop(partner)
        while len(self._documents) > MAX_DOCUMENTS:
            self._drop(next(iter(self._documents)))
        believed = self._by_site.probability(place_of(url).site) >= self.least
        return filter(self.known.is_queued, changed) if believed else ()

    def completes(self, target: Target, belief: Belief) -> float:
        best = 0.0
        if couples := self._couples.get(target.url):
            for other, index in self.book.lacking(couples):
                share = part_left(belief[index], self.slope, self.base)
                best = max(best, self._probability(target.url, other) * share)
        return best

    def counterpart(self, target: Target) -> float:
        if couples := self._couples.get(target.url):
            queued = filter(self.known.is_queued, couples)
            return max((self._probability(target.url, other) for other in queued), default=0.0)
        return 0.0

    def observe_redirect(self, url: str, target: str) -> None:
        for other, times in self._couples.get(url, {}).items():
            self._count(target, other, times)
            self._count(other, target, times)

    def forget(self, url: str) -> None:
        if self.book.side(url) is None:
            self._drop(url)
        elif url in self._couples:
            self._documents[url] = None

    def _aligned(self, links: Sequence[str], others: Sequence[str], pair: set[str]) -> Iterator[tuple[str, str]]:
        """The corresponding links of both documents that are not paired yet."""
        common = pair | (set(links) & set(others))
        one = [url for url in links if url not in common]
        other = [url for url in others if url not in common]
        places = {url: place for place, url in enumerate(other)}
        start, last = 0, 0
        for place, url in enumerate(one):
            cut = places.get(self.book.partner(url) or "", -1)
            if cut >= last:
                yield from self._in_order(one[start:place], other[last:cut])
                start, last = place + 1, cut + 1
        yield from self._in_order(one[start:], other[last:])

    def _in_order(self, *both: Sequence[str]) -> Iterable[tuple[str, str]]:
        one, other = ((url for url in urls if not self.book.partner(url)) for urls in both)
        return zip(one, other, strict=False)

    def _probability(self, url: str, other: str) -> float:
        """P(the two are translations): reliability of couples x share of *other* among the counterparts of *url*."""
        couples = self._couples[url]
        return self._by_site.probability(place_of(url).site) * couples[other] / sum(couples.values())

    def _count(self, url: str, other: str, times: int = 1) -> bool:
        """Add *times* document pairs that show the couple; return False if *url* has too many counterparts."""
        if (couples := self._couples.get(url)) is None:
            couples = self._couples[url] = Counter()
            if self.book.side(url) is None:
                self.known.mention(url)
            else:
                self._documents[url] = None
        if other not in couples and len(couples) == MAX_COUPLES:
            return False
        couples[other] += times
        return True

    def _drop(self, url: str) -> None:
        """Remove all couples of *url*."""
        self._documents.pop(url, None)
        for other in self._couples.pop(url, ()):
            if couples := self._couples.get(other):
                del couples[url]
                if not couples:
                    self._drop(other)


def _size(urls: Sequence[str]) -> int:
    """Approximate bytes of *urls*."""
    return sum(map(len, urls)) + URL_BYTES * (len(urls) + 4)
