"""Walls: hosts that answer every URL alike from some request on, such as by asking whether a person reads."""

from itertools import islice
from urllib.parse import urlsplit
from zlib import crc32

import msgspec
import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from bilingual_crawler.crawl.traps import differing
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pages.sequences import sequences

MAX_CHARACTERS = 1_000  # characters of a text that are compared
MAX_LINKS = 100  # links of a page that are compared, the first ones to its host
MIN_SEQUENCES = 10  # word sequences of a page by which a wall is told from it
MAX_OTHER = 5  # word sequences in which copies of a short wall differ: the time, its visitor, the address
OTHER_SHARE = 0.25  # the same as a share of a longer wall, and of its links
ROW = 2  # URLs in a row with one answer before the host is tested; twice as many after each test in vain
MIN_PAGES = 5  # pages of a host before the first one that demands something, and leads nowhere, is tested
_HOSTS = 10_000
_TO = "to "


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What a host shows at a URL."""

    kind: str  # page, the status without a page, or where it leads
    said: bytes = b""  # word sequences at the beginning of its text, as 32-bit numbers
    links: bytes = b""  # hashes of the pages of its host to which it links, as 32-bit numbers
    own: int = 0  # hash of its address

    @classmethod
    def of_page(cls, page: PageRecord) -> "Answer":
        own = "/".join(page.url.split("/", 3)[:3])
        links = islice((link.url for link in page.links if link.url.startswith(own)), MAX_LINKS)
        said = sequences(page.text[:MAX_CHARACTERS], page.url)
        hashes = np.array(sorted(set(map(_hash, links))), np.uint32)
        return cls("page", said.tobytes(), hashes.tobytes(), _hash(page.url))

    @classmethod
    def redirect(cls, url: str) -> "Answer":
        """A redirect to *url*, whose query may name the page that was requested."""
        return cls(f"{_TO}{_without_query(url)}")

    @property
    def leads_on(self) -> bool:
        """Whether it may lead to other pages of the host."""
        return self.kind.startswith(_TO) or len(self._links({self.own})) > 0

    def is_like(self, other: "Answer") -> bool:
        own = {self.own, other.own}
        said = [np.frombuffer(one.said, np.uint32) for one in (self, other)]
        says_the_same = self.kind == other.kind and _are_like(*said, spare=MAX_OTHER)
        return says_the_same and _are_like(self._links(own), other._links(own), spare=0)

    def _links(self, own: set[int]) -> NDArray[np.uint32]:
        return np.setdiff1d(np.frombuffer(self.links, np.uint32), np.array([*own], np.uint32), assume_unique=True)


def _without_query(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]


def _hash(url: str) -> int:
    return crc32(_without_query(url).encode("utf-8", "replace"))


def _are_like(one: NDArray[np.uint32], other: NDArray[np.uint32], *, spare: int) -> bool:
    return differing(one, other) <= max(spare, OTHER_SHARE * max(len(one), len(other)))


class Host(msgspec.Struct):
    """What a host has shown, and its wall: an answer for all URLs, also for a page that showed another one before."""

    known: str = ""  # URL of its first page with links and enough text
    shown: Answer | None = None  # what it showed there
    pages: int = 0
    last: Answer | None = None
    row: int = 0  # URLs in a row with the last answer
    tests: int = 0  # tests that found no wall
    wall: Answer | None = None
    is_new: bool = False  # whether a resume does not know all of it

    def is_wall(self, answer: Answer) -> bool:
        return self.wall is not None and self.wall.is_like(answer)

    def passed(self) -> None:
        """Note that the host gives another answer than its wall."""
        self.wall, self.row, self.is_new = None, 0, True

    def learn(self, url: str, answer: Answer, *, as_known: bool = True, demands: bool = False) -> str | None:
        """Learn the *answer* at *url*; return the page to test the host by, if the answer may be a wall.

        *as_known*: whether *url* may be that page, later. *demands*: the answer has a form or a script, or is a
        refusal.
        """
        # a page that was redirected to lies between two redirects to it
        if self.last != Answer.redirect(url):
            self.row = self.row + 1 if self.last is not None and self.last.is_like(answer) else 1
            self.last = answer
        if self.shown is None or self.shown.is_like(answer):
            if as_known and self.shown is None and answer.leads_on and len(answer.said) >= 4 * MIN_SEQUENCES:
                self.known, self.shown, self.is_new = url, answer, True
        else:
            suspicious = demands and not answer.leads_on and not self.tests and self.pages >= MIN_PAGES
            if suspicious or self.row >= ROW << self.tests:
                return self.known
        self.pages += 1
        return None

    def test(self, url: str, answer: Answer, shown: Answer | None) -> bool:
        """Whether *answer*, at *url*, is a wall: *shown* is what the page of :meth:`learn` shows now, if it came."""
        if shown is not None and (shown.is_like(answer) or shown == Answer.redirect(url)):
            self.wall, self.is_new = shown, True
        else:
            self.tests, self.row = self.tests + 1, 0
        return self.wall is not None

    def news(self) -> bytes | None:
        """What a resume must know of the host, if that has changed."""
        if not self.is_new or self.shown is None:
            return None
        self.is_new = False
        return _pack((self.known, self.shown, self.wall))


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[str, Answer, Answer | None]).decode


class Walls:
    """The hosts of a crawl. Bounded: 10,000 hosts, with up to 4 kB each."""

    def __init__(self) -> None:
        self._hosts: LRUCache[str, Host] = LRUCache(_HOSTS)

    def host(self, url: str) -> Host:
        return self._hosts.setdefault(urlsplit(url).netloc, Host())

    def recall(self, url: str, fact: bytes) -> None:
        """Learn what :meth:`Host.news` has given in an earlier run, or in another worker."""
        host = self.host(url)
        host.known, host.shown, host.wall = _unpack(fact)
        host.pages = MIN_PAGES
