"""Beliefs about the language of a page, and how counts and likelihoods change them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit

from bilingual_crawler.items import Partners
from bilingual_crawler.policies.base import Promise
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.hosts import url_cache
from bilingual_crawler.urls.marks import find_markers, strip_language

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from bilingual_crawler.items import FetchedPage, Proposal
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link

Belief: TypeAlias = tuple[float, float, float]
"""Probabilities that a page is in the first language of the pair, in the second, in neither."""

Folder = TypeVar("Folder", bound="Hashable")

NO_COUNTS: Sequence[float] = (0.0, 0.0, 0.0)
"""Counts of a place where no page was seen."""


def normal(first: float, second: float, neither: float) -> Belief:
    """The three weights in proportion, as probabilities."""
    total = first + second + neither
    return (first / total, second / total, neither / total)


def part_left(probability: float, slope: float, base: float) -> float:
    """What is left of a chance if a page is in the right language with *probability*: all of it from (1-base)/slope."""
    return min(1.0, slope * probability + base)


def counted(belief: Belief, counts: Sequence[float], weight: float) -> Belief:
    """*belief* after *counts* of pages, where it counts as much as *weight* pages (the mean of a Dirichlet)."""
    total = counts[0] + counts[1] + counts[2] + weight
    return (
        (counts[0] + weight * belief[0]) / total,
        (counts[1] + weight * belief[1]) / total,
        (counts[2] + weight * belief[2]) / total,
    )


class Reliability:
    """The share of cases in which evidence was right, by place, such as a site (the mean of a Beta distribution).

    Places may be nested: one in which little was seen is judged by the place around it.
    """

    def __init__(self, right: float, wrong: float) -> None:
        """*right* and *wrong* are cases as if counted before a place has shown any."""
        self._prior, self._weight = right / ((right + wrong) or 1.0), right + wrong
        self._counts: dict[Hashable, list[float]] = {}

    def count(self, *places: Hashable, right: bool) -> None:
        """The evidence was right, or wrong, once more at *places*."""
        for place in places:
            self._counts.setdefault(place, [0.0, 0.0])[not right] += 1
        for place in rare_folders(self._counts, lambda place: sum(self._counts[place])):
            del self._counts[place]

    def probability(self, *places: Hashable) -> float:
        """Probability that the evidence is right at the last of *places*, outermost first."""
        probability = self._prior
        for place in places:
            right, wrong = self._counts.get(place, _NONE_COUNTED)
            probability = (right + self._weight * probability) / ((right + wrong + self._weight) or 1.0)
        return probability


_NONE_COUNTED: Sequence[float] = (0.0, 0.0)

MAX_FOLDERS = 4
"""Depth to which folders are told apart."""
MAX_COUNTED = 100_000
"""Folders in which pages are counted; beyond that the half with the fewest pages is forgotten."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the kinds of evidence ask of a URL, read from it once."""

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
    """The place of *url*; those of the last 65,536 URLs are cached, with some 500 bytes for each."""
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]
    marker = next((marker for marker in find_markers(url) if marker.language is not None), None)
    if marker is None:
        return _place(parts.netloc, folder, None, None, weak=False)
    return _place(parts.netloc, folder, (marker.component, marker.token.lower()), marker.language, weak=marker.weak)


@lru_cache(1 << 14)
def _place(host: str, folder: str, mark: tuple[str, str] | None, marked: str | None, *, weak: bool) -> Place:
    """One object for all URLs of a folder that have the same mark: a queue of millions holds thousands of them."""
    folders = [host]
    for segment in [segment for segment in folder.split("/") if segment][:MAX_FOLDERS]:
        folders.append(f"{folders[-1]}/{segment}")
    site = registered_domain(host)
    return Place(site, tuple(folders), mark and (site, *mark), marked, weak)


def rare_folders(folders: Collection[Folder], pages: Callable[[Folder], float]) -> list[Folder]:
    """Those of *folders* to forget (or of other places): none up to :data:`MAX_COUNTED`, then half, the least seen."""
    return sorted(folders, key=pages)[: MAX_COUNTED // 2] if len(folders) > MAX_COUNTED else []


MAX_TWINS = 50
"""URLs that are equal but for language marks and are remembered as such; further ones are by themselves."""
MAX_MENTIONED = 10_000
"""URLs that evidence keeps something of although they are not queued, the last ones.

The links of a page are queued after it is learnt from, and many never are: share buttons, and what is out of scope.
"""


class Target(NamedTuple):
    """A URL about which evidence is asked, with what was read from it once."""

    url: str
    place: Place
    key: int
    """The same number for twins; it takes less memory than a text."""


Held: TypeAlias = tuple[list[str], list[str]]
"""Documents in the first and in the second language."""
_NONE_HELD: Held = ([], [])


class Known:
    """Documents with their languages and partners, and queued URLs, some 310 bytes each beside their text.

    Twins are URLs that are equal but for language marks.
    """

    def __init__(self, pair: LanguagePair, prior: Belief) -> None:
        self.pair = pair
        self.prior = prior
        """What is believed of the language of a page before anything is known of its site."""
        self._sides: dict[str, str] = {}
        self._partners = Partners()
        self._single: dict[str, list[int]] = {}
        self._held: dict[int, Held] = {}
        self._queued: dict[str, int] = {}
        """URL -> key of its twins. Their places are worked out again when they are needed: a farm of links has a folder
        for each URL."""
        self._queued_twins: dict[int, str | tuple[str, ...]] = {}
        """Key -> URL, or several."""
        self._worths: dict[str, float] = {}
        self._promises: dict[str, list[float]] = {}
        """Site -> number of its queued URLs, and sum of their worths."""
        self._mentioned: deque[str] = deque()

    def index(self, side: str | None) -> int:
        """Place of a side of the pair in a belief; 2 for neither."""
        return 2 if side is None else int(side == self.pair.b)

    # documents --------------------------------------------------------------------------------------------------------

    def hold(self, page: FetchedPage) -> None:
        """*page* was downloaded."""
        if page.side is None or page.noindex:
            return
        self._sides[page.url] = page.side
        if page.url not in self._partners:
            self._count_single(page.url, 1)
        held = self._held.setdefault(self.target(page.url).key, ([], []))
        if len(held[0]) + len(held[1]) < MAX_TWINS:
            held[self.index(page.side)].append(page.url)

    def join(self, url: str, partner: str) -> Sequence[tuple[str, str]]:
        """Both documents are partners now; returns the pairs that are none any more because of it."""
        parted = self._partners.join(url, partner)
        for one in chain.from_iterable(parted):
            self._count_single(one, 1)
        for one in (url, partner):
            self._count_single(one, -1)
        return parted

    def side(self, url: str) -> str | None:
        """The language that the document at *url* counts as; None if there is no such document."""
        return self._sides.get(url)

    def partner(self, url: str) -> str | None:
        """The partner of the document at *url*, if it has one."""
        return self._partners.partner_of(url)

    def single(self, site: str) -> Sequence[int]:
        """Documents of *site*, a registered domain, without a partner: in the first, in the second language."""
        return self._single.get(site, (0, 0))

    def lacking(self, urls: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Those of *urls* that are documents without a partner, with the index of the language that it would be in."""
        for url in urls:
            side = self._sides.get(url)
            if side is not None and url not in self._partners:
                yield url, 1 - self.index(side)

    def twins(self, target: Target) -> Held:
        """The documents held that are twins of *target*, itself included."""
        return self._held.get(target.key, _NONE_HELD)

    # the queue --------------------------------------------------------------------------------------------------------

    def enqueue(self, url: str) -> bool:
        """*url* is queued; False if it was before."""
        if url in self._queued:
            return False
        key = self._queued[url] = self._key(url)
        twins = self._twins_of(key)
        if len(twins) < MAX_TWINS:
            self._queued_twins[key] = (*twins, url) if twins else url
        self._promises.setdefault(self.place(url).site, [0, 0.0])[0] += 1
        return True

    def is_queued(self, url: str) -> bool:
        return url in self._queued

    def dequeue(self, url: str) -> None:
        key = self._queued.pop(url, None)
        if key is None:
            return
        site, worth = self.place(url).site, self._worths.pop(url, 0.0)
        promise = self._promises[site]
        promise[0] -= 1
        promise[1] -= worth
        if not promise[0]:
            del self._promises[site]
        twins = tuple(twin for twin in self._twins_of(key) if twin != url)
        if twins:
            self._queued_twins[key] = twins if len(twins) > 1 else twins[0]
        else:
            self._queued_twins.pop(key, None)

    def note_worth(self, target: Target, worth: float) -> None:
        """*target* is worth so much now, if it is queued."""
        if target.url in self._queued:
            before, self._worths[target.url] = self._worths.get(target.url, 0.0), worth
            self._promises[target.place.site][1] += worth - before

    def promise(self, site: str) -> Promise:
        """What the queued URLs of *site* promise."""
        urls, pairs = self._promises.get(site, (0, 0.0))
        return Promise(int(urls), pairs)

    def mention(self, url: str) -> None:
        """Evidence begins to keep something of *url*, which may be queued later or never."""
        if url not in self._queued:
            self._mentioned.append(url)

    def lapsed(self) -> Iterator[str]:
        """The URLs mentioned longest ago that are not queued: evidence is to forget them."""
        while len(self._mentioned) > MAX_MENTIONED:
            url = self._mentioned.popleft()
            if url not in self._queued:
                yield url

    def target(self, url: str) -> Target:
        """What evidence is asked of *url*, queued or not."""
        key = self._queued.get(url)
        return Target(url, place_of(url), self._key(url) if key is None else key)

    def place(self, url: str) -> Place:
        """Where *url*, queued or not, is."""
        return place_of(url)

    def queued_twins(self, target: Target) -> tuple[str, ...]:
        """The queued URLs that are twins of *target*, itself included."""
        return self._twins_of(target.key)

    def _twins_of(self, key: int) -> tuple[str, ...]:
        twins = self._queued_twins.get(key, ())
        return (twins,) if isinstance(twins, str) else twins

    def _key(self, url: str) -> int:
        return hash(strip_language(url, self.pair.languages))

    def _count_single(self, url: str, documents: int) -> None:
        # a pair of an earlier run may be known before its documents are
        side = self._sides.get(url)
        if side is not None:
            self._single.setdefault(self.place(url).site, [0, 0])[self.index(side)] += documents


@dataclass
class Evidence:
    """One kind of evidence: what it has learnt, and its weights, which are its fields with defaults.

    No method may take longer the more URLs are queued. What it keeps of a URL it drops in :meth:`forget`, and it
    mentions to :attr:`known` a URL that may never be queued. What it keeps of a site stays.
    """

    name: ClassVar[str]
    known: Known

    def candidates(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[Proposal]:
        """Propose translations of *page*, by what the ledger of pairs does not know itself.

        Called before :meth:`observe_page` of *page*.
        """
        return ()

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        """Propose pairs by what was learnt since the last call: a document, and its possible translation."""
        return ()

    def observe_page(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        """Learn a downloaded *page* and its *links*; :attr:`known` already holds it and its partner.

        Return the queued URLs to weigh anew, beside the targets of *links*.
        """
        return ()

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        """Learn a pair that was found after :meth:`observe_page` of both documents.

        Return the queued URLs to weigh anew.
        """
        return ()

    def part_pair(self, url: str, partner: str) -> None:
        """Unlearn a pair: one of its documents has found a better partner."""

    def observe_link(self, page: FetchedPage, link: Link) -> bool:
        """Learn a *link* of *page* to a URL that is queued or will be; return whether it says something new of the URL.

        Called after :meth:`observe_page` of *page*, and before :attr:`known` learns of a new URL.
        """
        return False

    def observe_redirect(self, url: str, target: str) -> None:
        """Move what is known of *url* to *target*; :meth:`forget` of *url* follows."""

    def forget(self, url: str) -> None:
        """Forget *url*, which is queued no more, or never was."""


class LanguageEvidence(Evidence, ABC):
    """Tells the language of a queued URL."""

    @abstractmethod
    def update(self, target: Target, belief: Belief) -> Belief | None:
        """Return the belief about the language of *target* after *belief* by other evidence; None without evidence."""


class PartnerEvidence(Evidence, ABC):
    """Tells which documents are translations of each other."""

    @abstractmethod
    def completes(self, target: Target, belief: Belief) -> float:
        """Return P(*target* completes a pair with a document held), 0 to 1; *belief* is in its language."""

    def counterpart(self, target: Target) -> float:
        """Return P(the translation of *target* is another queued URL), 0 to 1."""
        return 0.0


class Prospect(Evidence, ABC):
    """Tells how likely it is that a page finds its partner later, or that it says something new."""

    @abstractmethod
    def factor(self, target: Target) -> float:
        """Return the factor, 0 to 1, of the worth of *target*, or of it as half of a pair to come."""
