"""Walls: hosts that answer every URL alike from some request on, such as by asking whether a person reads."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zlib import crc32

import msgspec
import numpy as np
from cachetools import LRUCache

from bilingual_crawler.crawl.traps import differing
from bilingual_crawler.pages.sequences import sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.pages.model import PageRecord

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
    def of_page(cls, page: PageRecord) -> Answer:
        own = "/".join(page.url.split("/", 3)[:3])
        links = islice((link.url for link in page.links if link.url.startswith(own)), MAX_LINKS)
        said = sequences(page.text[:MAX_CHARACTERS], page.url)
        hashes = np.array(sorted(set(map(_hash, links))), np.uint32)
        return cls("page", said.tobytes(), hashes.tobytes(), _hash(page.url))

    @classmethod
    def redirect(cls, url: str) -> Answer:
        """A redirect to *url*, whose query may name the page that was requested."""
        return cls(f"{_TO}{_without_query(url)}")

    @property
    def leads_on(self) -> bool:
        """Whether it may lead to other pages of the host."""
        return self.kind.startswith(_TO) or len(self._links({self.own})) > 0

    def is_like(self, other: Answer) -> bool:
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


class _Host(msgspec.Struct):
    known: str = ""  # URL of its first page with links and enough text
    shown: Answer | None = None  # what it showed there
    pages: int = 0
    last: Answer | None = None
    row: int = 0  # URLs in a row with the last answer
    tests: int = 0  # tests that found no wall
    wall: Answer | None = None
    is_new: bool = False  # whether a resume does not know all of it


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[str, Answer, Answer | None]).decode


class Walls:
    """Finds the hosts that show one answer for all URLs: a page that showed another one shows the same now.

    Bounded: 10,000 hosts, with up to 4 kB each.
    """

    def __init__(self) -> None:
        self._hosts: LRUCache[str, _Host] = LRUCache(_HOSTS)

    def has_wall(self, url: str) -> bool:
        return self._host(url).wall is not None

    def is_wall(self, url: str, answer: Answer) -> bool:
        wall = self._host(url).wall
        return wall is not None and wall.is_like(answer)

    def is_behind(self, url: str) -> bool:
        """Whether the wall of the host of *url* leads there."""
        return self.is_wall(url, Answer.redirect(url))

    def passed(self, url: str) -> None:
        """Note that the host of *url* gives another answer than its wall."""
        host = self._host(url)
        host.wall, host.row, host.is_new = None, 0, True

    def learn(self, url: str, answer: Answer, *, as_known: bool = True, demands: bool = False) -> str | None:
        """Learn the *answer* at *url*; return the page to test its host by, if the answer may be a wall.

        *as_known*: whether *url* may be that page, later. *demands*: the answer has a form or a script, or is a
        refusal.
        """
        host = self._host(url)
        # a page that was redirected to lies between two redirects to it
        if host.last != Answer.redirect(url):
            host.row = host.row + 1 if host.last is not None and host.last.is_like(answer) else 1
            host.last = answer
        if host.shown is None or host.shown.is_like(answer):
            if as_known and host.shown is None and answer.leads_on and len(answer.said) >= 4 * MIN_SEQUENCES:
                host.known, host.shown, host.is_new = url, answer, True
        else:
            suspicious = demands and not answer.leads_on and not host.tests and host.pages >= MIN_PAGES
            if suspicious or host.row >= ROW << host.tests:
                return host.known
        host.pages += 1
        return None

    def test(self, url: str, answer: Answer, shown: Answer | None) -> bool:
        """Whether *answer*, at *url*, is a wall: *shown* is what the page of :meth:`learn` shows now, if it came."""
        host = self._host(url)
        if shown is not None and (shown.is_like(answer) or shown == Answer.redirect(url)):
            host.wall, host.is_new = shown, True
        else:
            host.tests, host.row = host.tests + 1, 0
        return host.wall is not None

    def news(self, url: str) -> bytes | None:
        """What a resume must know of the host of *url*, if that has changed."""
        host = self._host(url)
        if not host.is_new or host.shown is None:
            return None
        host.is_new = False
        return _pack((host.known, host.shown, host.wall))

    def recall(self, url: str, fact: bytes) -> None:
        """Learn what :meth:`news` has given in an earlier run, or in another worker."""
        host = self._host(url)
        host.known, host.shown, host.wall = _unpack(fact)
        host.pages = MIN_PAGES

    def _host(self, url: str) -> _Host:
        return self._hosts.setdefault(urlsplit(url).netloc, _Host())
