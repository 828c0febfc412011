"""Beliefs about the language of a page, and how counts and likelihoods change them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from bilingual_crawler.policies.base import Promise
from bilingual_crawler.urls.hosts import registered_domain, url_cache
from bilingual_crawler.urls.marks import find_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from bilingual_crawler.items import Proposal
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.pairing.book import Book

Belief: TypeAlias = tuple[float, float, float]
"""Probabilities that a page is in the first language of the pair, in the second, in neither."""

MAX_FOLDERS = 4  # maximum depth of folders
MAX_COUNTED = 100_000  # maximum folders with counts; beyond it the half with the fewest pages is evicted
MAX_TWINS = 50  # maximum queued twins of a URL; further URLs count as different
MAX_MENTIONED = 10_000
"""Latest URLs with evidence that are not queued: share buttons, URLs out of scope, links of the page at hand."""
NO_COUNTS: Sequence[float] = (0.0, 0.0, 0.0)  # counts of a place where no page was seen


def normal(first: float, second: float, neither: float) -> Belief:
    """The three weights in proportion, as probabilities."""
    total = first + second + neither
    return (first / total, second / total, neither / total)


def part_left(probability: float, slope: float, base: float) -> float:
    """Factor for the belief that a page is in the right language, *probability*: 1 from (1-base)/slope on."""
    return min(1.0, slope * probability + base)


def counted(belief: Belief, counts: Sequence[float], weight: float) -> Belief:
    """*belief* after *counts* of pages, where it counts as much as *weight* pages (the mean of a Dirichlet)."""
    first, second, neither = counts
    total = first + second + neither + weight
    one, two, other = belief
    return ((first + weight * one) / total, (second + weight * two) / total, (neither + weight * other) / total)


class Reliability:
    """P(evidence is right) by place, such as a site: the mean of a Beta distribution; the prior is the outer place."""

    def __init__(self, right: float, wrong: float) -> None:
        """*right* and *wrong*: prior counts."""
        self._prior, self._weight = right / ((right + wrong) or 1.0), right + wrong
        self._counts: dict[Hashable, list[float]] = {}

    def count(self, *places: Hashable, right: bool) -> None:
        """Count the evidence as right, or wrong, at *places*."""
        for place in places:
            self._counts.setdefault(place, [0.0, 0.0])[not right] += 1
        evict_rare(lambda place: sum(self._counts[place]), self._counts)

    def probability(self, *places: Hashable) -> float:
        """Probability that the evidence is right at the last of *places*, outermost first."""
        probability = self._prior
        for place in places:
            right, wrong = self._counts.get(place, (0.0, 0.0))
            probability = (right + self._weight * probability) / ((right + wrong + self._weight) or 1.0)
        return probability


@dataclass(frozen=True, slots=True)
class Place:
    """The parts of a URL that evidence uses, parsed once."""

    site: str
    """Registered domain."""
    folders: tuple[str, ...]
    """Host and folders, outermost first."""
    mark: tuple[str, str, str] | None
    """Site, component and token of the most telling language mark."""
    marked: str | None
    """Language of that mark, ISO 639-3."""
    weak: bool
    """Whether the mark may mean something else (country suffix, a common word)."""


@url_cache(1 << 16)
def place_of(url: str) -> Place:
    """The place of *url*; 65,536 places are cached, some 500 bytes each."""
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]
    marker = next((marker for marker in find_markers(url) if marker.language is not None), None)
    mark = (marker.component, marker.token.lower()) if marker else None
    return _place(parts.netloc, folder, mark, marker and marker.language, weak=bool(marker and marker.weak))


@lru_cache(1 << 14)
def _place(host: str, folder: str, mark: tuple[str, str] | None, marked: str | None, *, weak: bool) -> Place:
    """One object for all URLs of a folder with the same mark: millions of queued URLs share thousands of places."""
    folders = [host]
    for segment in [segment for segment in folder.split("/") if segment][:MAX_FOLDERS]:
        folders.append(f"{folders[-1]}/{segment}")
    site = registered_domain(host)
    return Place(site, tuple(folders), mark and (site, *mark), marked, weak)


def evict_rare(pages: Callable[[Any], float], *tables: dict[Any, Any]) -> None:
    """Evict places from *tables*: none up to :data:`MAX_COUNTED`, then the half with the fewest *pages*."""
    if len(tables[0]) > MAX_COUNTED:
        for place in sorted(tables[0], key=pages)[: MAX_COUNTED // 2]:
            for table in tables:
                table.pop(place, None)


class Target(NamedTuple):
    """A URL to be weighed, parsed once."""

    url: str
    place: Place
    key: int
    """The same number for twins (:meth:`Book.key`)."""


class Known:
    """The book of documents, and the queued URLs, some 310 bytes each beside their text."""

    def __init__(self, book: Book, prior: Belief) -> None:
        self.book = book
        self.pair = book.pair
        self.prior = prior
        """Belief about the language of a page of an unknown site."""
        self._queued: dict[str, int] = {}
        """URL -> key of its twins. Places are recomputed when needed: a link farm has a folder for each URL."""
        self._queued_twins: dict[int, str | tuple[str, ...]] = {}  # key -> URL, or several
        self._worths: dict[str, float] = {}
        self._promises: dict[str, list[float]] = {}
        """Site -> number of its queued URLs, and sum of their worths."""
        self._mentioned: deque[str] = deque()

    def index(self, side: str | None) -> int:
        """Place of a side of the pair in a belief; 2 for neither."""
        return 2 if side is None else int(side == self.pair.b)

    def enqueue(self, url: str) -> bool:
        """Add the queued *url*; return False if it was queued before."""
        if url in self._queued:
            return False
        key = self._queued[url] = self.book.key(url)
        twins = self.queued_twins(key)
        if len(twins) < MAX_TWINS:
            self._queued_twins[key] = (*twins, url) if twins else url
        self._promises.setdefault(place_of(url).site, [0, 0.0])[0] += 1
        return True

    def is_queued(self, url: str) -> bool:
        return url in self._queued

    def dequeue(self, url: str) -> None:
        key = self._queued.pop(url, None)
        if key is None:
            return
        promise = self._promises[site := place_of(url).site]
        promise[0] -= 1
        promise[1] -= self._worths.pop(url, 0.0)
        if not promise[0]:
            del self._promises[site]
        twins = tuple(twin for twin in self.queued_twins(key) if twin != url)
        if twins:
            self._queued_twins[key] = twins if len(twins) > 1 else twins[0]
        else:
            self._queued_twins.pop(key, None)

    def note_worth(self, target: Target, worth: float) -> None:
        """Update the *worth* of *target*, if it is queued."""
        if target.url in self._queued:
            before, self._worths[target.url] = self._worths.get(target.url, 0.0), worth
            self._promises[target.place.site][1] += worth - before

    def promise(self, site: str) -> Promise:
        """The promise of the queued URLs of *site*."""
        urls, pairs = self._promises.get(site, (0, 0.0))
        return Promise(int(urls), pairs)

    def mention(self, url: str) -> None:
        """Note that there is evidence for *url*, which may be queued later or never."""
        if url not in self._queued:
            self._mentioned.append(url)

    def lapsed(self) -> Iterator[str]:
        """The oldest mentioned URLs that are not queued, for evidence to forget."""
        while len(self._mentioned) > MAX_MENTIONED:
            url = self._mentioned.popleft()
            if url not in self._queued:
                yield url

    def target(self, url: str) -> Target:
        """The target for *url*, queued or not."""
        key = self._queued.get(url)
        return Target(url, place_of(url), self.book.key(url) if key is None else key)

    def queued_twins(self, key: int) -> tuple[str, ...]:
        """The queued URLs with this *key*."""
        twins = self._queued_twins.get(key, ())
        return (twins,) if isinstance(twins, str) else twins


@dataclass
class Evidence:
    """One kind of evidence: what it has learnt, and its weights, which are its fields with defaults.

    ``gain`` makes it with :attr:`known`. The time of a method must not depend on the length of the queue. Drop the data
    of a URL in :meth:`forget`, and call :meth:`Known.mention` for a URL that may never be queued. Data of a site stays.
    """

    name: ClassVar[str]
    known: Known

    @property
    def book(self) -> Book:
        """The documents of the crawl, their partners and claims."""
        return self.known.book

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        """Propose translations of *page* by evidence that the ledger lacks; called before :meth:`observe_page`."""
        return ()

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        """Propose pairs learnt since the last call: a document, and its possible translation."""
        return ()

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str] | None:
        """Learn a downloaded *page*, which :attr:`book` holds; return queued URLs to weigh again beside its *links*."""

    def observe_pair(self, url: str, partner: str) -> Iterable[str] | None:
        """Learn a pair found after :meth:`observe_page` of both documents; return queued URLs to weigh again."""

    def part_pair(self, url: str, partner: str) -> None:
        """Unlearn a pair, dissolved by a better pair of one of its documents, or since one is a copy."""

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        """Learn a *link*, after its *page*, to a URL that is or will be queued; return whether it is new evidence."""
        return False

    def observe_failure(self, url: str) -> None:
        """Learn that the download of *url* gave no page; :meth:`forget` follows."""

    def observe_redirect(self, url: str, target: str) -> None:
        """Move the data of *url* to its redirect *target*; :meth:`forget` of *url* follows."""

    def forget(self, url: str) -> None:
        """Drop the data of *url*, which is not queued."""


class LanguageEvidence(Evidence, ABC):
    """Evidence for the language of a queued URL."""

    @abstractmethod
    def update(self, target: Target, belief: Belief) -> Belief | None:
        """Return the posterior of *belief*, the belief about the language of *target* so far; None without evidence."""


class PartnerEvidence(Evidence, ABC):
    """Evidence for documents that are translations of each other."""

    @abstractmethod
    def completes(self, target: Target, belief: Belief) -> float:
        """Return P(*target* completes a pair with a document held), 0 to 1; *belief* is in its language."""

    def counterpart(self, target: Target) -> float:
        """Return P(the translation of *target* is another queued URL), 0 to 1."""
        return 0.0


class Prospect(Evidence, ABC):
    """Evidence that a page finds its partner later, or has new text."""

    @abstractmethod
    def factor(self, target: Target) -> float:
        """Return the factor, 0 to 1, of the worth of *target*, or of its worth as half of a later pair."""
