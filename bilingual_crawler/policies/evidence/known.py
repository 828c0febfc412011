"""What all kinds of evidence look at: the documents that a crawl holds, their pairs, and the queue."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bilingual_crawler.policies.evidence.places import Place, place_of
from bilingual_crawler.policies.partners import Partners
from bilingual_crawler.urls.markers import strip_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief

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
    """Documents with their languages and partners, and queued URLs, some 250 bytes each beside their text.

    Twins are URLs that are equal but for language marks.
    """

    def __init__(self, pair: LanguagePair, prior: Belief) -> None:
        self.pair = pair
        self._languages = pair.languages
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
        return self._partners.of(url)

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
        return True

    def is_queued(self, url: str) -> bool:
        return url in self._queued

    def dequeue(self, url: str) -> None:
        key = self._queued.pop(url, None)
        if key is None:
            return
        twins = tuple(twin for twin in self._twins_of(key) if twin != url)
        if twins:
            self._queued_twins[key] = twins if len(twins) > 1 else twins[0]
        else:
            self._queued_twins.pop(key, None)

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
        return hash(strip_language(url, self._languages))

    def _count_single(self, url: str, documents: int) -> None:
        # a pair of an earlier run may be known before its documents are
        side = self._sides.get(url)
        if side is not None:
            self._single.setdefault(self.place(url).site, [0, 0])[self.index(side)] += documents
