"""Traps: copies, soft 404s, stale groups of URLs and folders without pairs."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
from cachetools import LRUCache

from bilingual_crawler.items import ENOUGH_NEW_TEXT
from bilingual_crawler.pages.sequences import SAMPLE, sequences
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.traps import IN_ANOTHER_ORDER, addresses, grown, shapes, trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.pages.model import Page

MAX_FOLDERS = 3


def folders(url: str) -> list[str]:
    """The host of *url* and the first three folders of its path."""
    parts = urlsplit(url)
    names = parts.path.split("/")[1:-1][:MAX_FOLDERS]
    return ["/".join((parts.netloc, *names[:depth])) + "/" for depth in range(len(names) + 1)]


_FOLDERS = 100_000


class Barren:
    """Refuses URLs of a host or folder after *limit* of its pages without a single pair; 0 is never."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pages: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._fertile: LRUCache[str, bool] = LRUCache(_FOLDERS)
        self._barren: LRUCache[str, bool] = LRUCache(_FOLDERS)

    def learn(self, url: str) -> str | None:
        """Add the fetched page *url*; returns the folder that it makes barren, if any."""
        found = None
        for folder in folders(url) if self._limit else ():
            pages = self._pages[folder] = self._pages.get(folder, 0) + 1
            if pages >= self._limit and folder not in self._fertile and folder not in self._barren:
                self._barren[folder] = True
                found = found or folder
        return found

    def note_pair(self, *urls: str) -> None:
        """The pages *urls* are in a pair, so their folders are not barren."""
        for url in urls:
            for folder in folders(url):
                self._fertile[folder] = True
                self._barren.pop(folder, None)

    def refuses(self, url: str) -> bool:
        return bool(self._barren) and any(folder in self._barren for folder in folders(url))


MAX_COPIES = 20
"""Pages of one host with the same text whose links are followed. There are honest ones: an untranslated page is shown
under the URLs of several languages."""
PROBE_AFTER = 10
"""Pages of a host after which a page that cannot exist is requested."""
FOLDER_PROBE_AFTER = 3
"""Documents of a language in a folder of its own after which a page of the folder that cannot exist is requested."""
MAX_FOLDERS_PROBED = 4
"""Folders of a host that are probed beside the host."""
MAX_PROBES = 4
"""Probes of a host or folder as long as none was answered, each after twice as many pages as the one before."""
_OWN_SHARE = 0.8
"""Share of a language in the documents of its own folder; some of its pages are not translated."""
_PAGES = 200_000
_MIN_SEQUENCES = 10
_HOSTS = 10_000
_SEQUENCES = 1_000_000


class Copies:
    """Counts pages with the same text on the same host; pages without text are not compared."""

    def __init__(self) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(_PAGES)

    def learn(self, host: str, text: str) -> bool:
        """Add a page; true if it is one copy too many."""
        if not text:
            return False
        key = blake2b(f"{host}\n{text}".encode("utf-8", "replace"), digest_size=16).digest()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > MAX_COPIES


class MissingPages:
    """The texts that a host, and the folders of its languages, show for missing URLs if they do not answer 404.

    A place is a host or a folder of it, such as ``a.is/`` or ``a.is/es/``.
    """

    def __init__(self) -> None:
        self._pages: LRUCache[str, int] = LRUCache(_HOSTS)
        self._languages: LRUCache[str, Counter[str]] = LRUCache(_FOLDERS)
        self._probes: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._answered: LRUCache[str, bool] = LRUCache(_FOLDERS)
        self._probed: LRUCache[str, set[str]] = LRUCache(_HOSTS)
        """The folders of a host that were probed."""
        self._shown: LRUCache[str, NDArray[np.uint32]] = LRUCache(_SEQUENCES, getsizeof=len)

    def places_to_probe(self, url: str, language: str | None) -> list[str]:
        """The places of the page *url* of which a page that cannot exist is to be requested. Called once per page.

        *language*: of the document that the page is; None if it is no document.
        """
        host, *inner = folders(url)
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        wanted = [host] if self._is_due(host, pages, PROBE_AFTER) else []
        if language is None:
            return wanted
        for place in (host, *inner):
            self._languages.setdefault(place, Counter())[language] += 1
        own = next((place for place in (host, *inner) if self._is_own(place, language)), host)
        probed = self._probed.setdefault(host, set())
        if own != host and (own in probed or len(probed) < MAX_FOLDERS_PROBED):
            documents = self._languages[own][language]
            if self._is_due(own, documents, FOLDER_PROBE_AFTER):
                probed.add(own)
                wanted.append(own)
        return wanted

    def answered(self, place: str) -> None:
        """*place* answered a probe, so it is not asked again."""
        self._answered[place] = True

    def learn(self, place: str, text: str, url: str) -> None:
        """*place* shows *text* for the missing page *url*. Texts of a few words are not compared."""
        shown = sequences(text, url)
        if len(shown) >= _MIN_SEQUENCES:
            self._shown[place] = shown

    def is_missing(self, url: str, text: str) -> bool:
        """Whether *text* is what one of the places of *url* shows for missing URLs, so that *url* does not exist."""
        known = [shown for place in folders(url) if (shown := self._shown.get(place)) is not None]
        if not known:
            return False
        said = sequences(text, url)
        most = max(3, 0.02 * len(said))
        for shown in known:
            common = len(np.intersect1d(said, shown, assume_unique=True))
            if max(len(said), len(shown)) - common <= most:
                return True
        return False

    def _is_own(self, place: str, language: str) -> bool:
        found = self._languages.get(place, Counter())
        return FOLDER_PROBE_AFTER <= found[language] >= _OWN_SHARE * found.total()

    def _is_due(self, place: str, pages: int, first: int) -> bool:
        """Whether *place*, of which *pages* have come, is to be probed now, first after *first* of them."""
        probes = self._probes.get(place, 0)
        if place in self._answered or probes >= MAX_PROBES or pages < first << probes:
            return False
        self._probes[place] = probes + 1
        return True


FOLDER_FACTOR = 3
"""Factor of the limit for a whole folder, and for the same path on the hosts of a domain."""
TREE_FACTORS = (27, 9, 3)
"""Factors of the limit for the trees of the first, second and third folder of a path: the trap is in the smallest."""
TREE_ROW = 50
"""Pages of a tree in a row without new text after which a page has no more new text than it has for the tree. Honest
trees have shorter rows: lists of articles by subject, by date."""
PAIRS_FACTOR = 10
"""Factor of the limit for pages in pairs: a template that is filled in for every town or product is translated as well,
and so are some calendars."""
NEW_SHARE = 0.05
"""Share of new word sequences, relative to its group, above which a page has new text."""
_BITS = 1 << 17
_LISTED = 1 << 12
"""Word sequences of a group up to which a list of them takes no more memory than bits."""
_GROUP_BYTES = 500
"""Memory of a group beside its word sequences."""
_BYTES = 1000 * (_GROUP_BYTES + _BITS // 8)
"""Memory for all groups: 1,000 of the largest, or ten times as many of a few pages."""
_STALE = 10_000


_NOTHING: NDArray[np.uint32] = np.empty(0, np.uint32)


class _Group:
    """Keeps a quarter of the word sequences of its pages in 16 kB at most. When half full it deletes them all."""

    __slots__ = ("_bits", "_listed", "alone", "held", "poor", "row")

    def __init__(self) -> None:
        self._listed = _NOTHING
        """The places of the sequences, sorted, as long as they are few; most groups have a page or two."""
        self._bits: NDArray[np.uint8] | None = None
        self.held = 0
        self.row = 0
        self.alone = 0
        self.poor = 0
        """Pages in a row with less new text than counts as enough."""

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return _GROUP_BYTES + (self._listed.nbytes if self._bits is None else self._bits.nbytes)

    def read(self, places: NDArray[np.uint32], count: int) -> float:
        """Add a page with *count* sequences at *places*; return the share of them that is new."""
        new = self._list(places) if self._bits is None else self._set(self._bits, places)
        self.held += new
        if self.held > _BITS // 2:
            self._listed, self._bits = _NOTHING, None
            self.held = 0
        stale = new <= NEW_SHARE * count
        self.row = self.row + 1 if stale else 0
        self.alone = self.alone + 1 if stale else 0
        self.poor = self.poor + 1 if new < ENOUGH_NEW_TEXT * count else 0
        return new / max(1, count)

    def _list(self, places: NDArray[np.uint32]) -> int:
        """Add *places* to the list; return how many are new."""
        unseen = np.setdiff1d(places, self._listed, assume_unique=True)
        if len(unseen):
            self._listed = np.sort(np.concatenate((self._listed, unseen)))
        if len(self._listed) > _LISTED:
            self._bits = np.zeros(_BITS // 8, np.uint8)
            self._set(self._bits, self._listed)
            self._listed = _NOTHING
        return len(unseen)

    def _set(self, bits: NDArray[np.uint8], places: NDArray[np.uint32]) -> int:
        """Set the *bits* of *places*; return how many are new."""
        bytes_, masks = places >> 3, np.left_shift(1, places & 7).astype(np.uint8)
        unseen = bits[bytes_] & masks == 0
        np.bitwise_or.at(bits, bytes_[unseen], masks[unseen])
        return int(unseen.sum())


class Staleness:
    """Learns from each page of a host, and refuses URLs of groups that are stale. Bounded: 16 MB of groups.

    A group is stale after *limit* pages in a row without new text and in no pair; 0 is never.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._groups: LRUCache[str, _Group] = LRUCache(_BYTES, getsizeof=lambda group: group.size)
        self._stale: LRUCache[str, bool] = LRUCache(_STALE)

    def learn(self, url: str, sample: bytes) -> tuple[str | None, float]:
        """Add the page *url* with the *sample* of its word sequences.

        Return the group that it makes stale, if any, and the share of its text, 0 to 1, that its folder has not shown,
        nor a tree that has long said nothing new.
        """
        hashes = np.frombuffer(sample, np.uint32)
        places = np.unique(hashes // SAMPLE % _BITS)
        found, new = None, 1.0
        for shape in shapes(url):
            new = self._read(shape, places, len(hashes))
            found = found or self._stale_by(shape)
        for tree in trees(url):
            # each combination of filters may be a folder, or a host, of its own, in which all text is new
            said = self._read(tree, places, len(hashes))
            if self._groups[tree].poor > TREE_ROW:
                new = min(new, said)
            if found:
                # what is left out from now on says nothing of what is around it
                group = self._groups[tree]
                group.row = group.alone = 0
            else:
                found = self._stale_by(tree)
        return found, new

    def _read(self, shape: str, places: NDArray[np.uint32], count: int) -> float:
        """Add a page to the group *shape*; return the share of its text that is new there."""
        group = self._groups.get(shape) or _Group()
        new = group.read(places, count)
        # it may have grown
        self._groups[shape] = group
        return new

    def _stale_by(self, shape: str) -> str | None:
        """*shape* if its last page makes it stale."""
        group = self._groups[shape]
        if not 0 < self._limit * _factor(shape) <= max(group.alone, group.row // PAIRS_FACTOR) or shape in self._stale:
            return None
        self._stale[shape] = True
        return shape

    def note_pair(self, *urls: str) -> None:
        """The pages *urls* are in a pair, so they do not count as stale pages of their groups."""
        for url in urls:
            for shape in (*shapes(url), *trees(url)):
                if shape in self._groups:
                    group = self._groups[shape]
                    group.alone = max(0, group.alone - 1)

    def refuses(self, url: str) -> bool:
        return bool(self._stale) and any(shape in self._stale for shape in (*shapes(url), *trees(url)))


def _factor(shape: str) -> int:
    """Factor of the limit for the group *shape*."""
    if shape.endswith("/**"):
        return TREE_FACTORS[shape.count("/") - 2]
    return FOLDER_FACTOR if shape.endswith("/*") or shape.startswith("*.") else 1


_SKETCH = 16
"""Word sequences of a page by which it is compared with another; its sample is sorted, so that equal texts have the
same."""
_SAME_PAGE = 0.8
"""Share of them that two addresses of one page have in common; filters that they name may be in the text, too."""
_ADDRESSES = 40_000


class Repeats:
    """Refuses addresses of pages that were fetched at another one. Bounded: 20 MB.

    After *limit* pages of a host in a row that say what the page at such an address has said; 0 is never.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._first: LRUCache[int, tuple[int, bytes, bytes]] = LRUCache(_ADDRESSES)
        """Hash of what the addresses of a page have in common -> of the first: hash, digest of its text, sketch."""
        self._rows: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._repeating: LRUCache[str, bool] = LRUCache(_STALE)

    def learn(self, url: str, text: str, sample: bytes) -> str | None:
        """Add the page *url* with its *text* and the *sample* of its word sequences.

        Return the kind of addresses that is refused from now on, if any.
        """
        sketch, ways = sample[: _SKETCH * 4], addresses(url) if self._limit else ()
        if not ways or len(sketch) < _MIN_SEQUENCES * 4:
            return None
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        found = None
        for kind, common in ways:
            first, said, sketched = self._first.setdefault(hash(common), (hash(url), digest, sketch))
            if first == hash(url):
                continue
            # pages of one template differ in an id, a parameter and perhaps a number, never in the order of words
            repeated = said == digest or (kind.endswith(IN_ANOTHER_ORDER) and _is_same(sketched, sketch))
            row = self._rows[kind] = self._rows.get(kind, 0) + 1 if repeated else 0
            if row >= self._limit and kind not in self._repeating:
                self._repeating[kind] = True
                found = kind
        return found

    def refuses(self, url: str) -> bool:
        if not self._repeating:
            return False
        firsts = (self._first.get(hash(common)) for kind, common in addresses(url) if kind in self._repeating)
        return any(first is not None and first[0] != hash(url) for first in firsts)


def _is_same(one: bytes, other: bytes) -> bool:
    """Whether two pages with these sketches say nearly the same."""
    first, second = np.frombuffer(one, np.uint32), np.frombuffer(other, np.uint32)
    common = np.intersect1d(first, second, assume_unique=True)
    return len(common) >= _SAME_PAGE * max(len(first), len(second))


MAX_SITEMAPS = 1000
"""Sitemaps of a site that are read."""
MAX_UNREADABLE = 10
"""Unreadable responses of a site, a registered domain, after which the site is left: hosts cost nothing."""
MAX_SITEMAP_DEPTH = 4
"""Levels of sitemaps, from robots.txt on; the protocol has two, an index and its sitemaps."""


class Traps:
    """Knows which URLs are not worth a fetch. In memory and bounded; a resumed crawl learns it again."""

    def __init__(self, *, stale_pages: int, barren_pages: int) -> None:
        self.missing = MissingPages()
        self._barren = Barren(barren_pages)
        self._staleness = Staleness(stale_pages)
        self._repeats = Repeats(stale_pages)
        self._copies = Copies()
        self._sitemaps: LRUCache[str, int] = LRUCache(_HOSTS)
        self._named: LRUCache[int, bool] = LRUCache(_FOLDERS)
        """Hashes of the sitemaps that are read."""
        self._unreadable: LRUCache[str, int] = LRUCache(_HOSTS)

    def refuses(self, url: str) -> str | None:
        """The kind of trap that *url* belongs to; None if it is no trap."""
        if self._staleness.refuses(url) or self._repeats.refuses(url):
            return "stale"
        if self._barren.refuses(url):
            return "barren"
        if self._unreadable and self._unreadable.get(registered_domain(url), 0) >= MAX_UNREADABLE:
            return "unreadable"
        return grown(url)

    def learn(self, page: Page, sample: bytes) -> tuple[list[tuple[str, str]], float]:
        """Add *page* with the *sample* of its word sequences.

        Return (kind, group of URLs) of the traps that it completes, and the share of its text, 0 to 1, that its folder
        has not shown.
        """
        stale, new = self._staleness.learn(page.url, sample)
        repeated = self._repeats.learn(page.url, page.text, sample)
        found = (("stale", stale), ("stale", repeated), ("barren", self._barren.learn(page.url)))
        return [(kind, group) for kind, group in found if group is not None], new

    def wants_sitemap(self, entry: Entry) -> bool:
        """Whether the sitemap *entry* is read. Called whenever one is named; one that is named again does not count."""
        if hash(entry.url) in self._named:
            return True
        read = self._sitemaps[entry.slot] = self._sitemaps.get(entry.slot, 0) + 1
        wanted = entry.depth <= MAX_SITEMAP_DEPTH and read <= MAX_SITEMAPS
        if wanted:
            self._named[hash(entry.url)] = True
        return wanted

    def note_unreadable(self, url: str) -> None:
        """The response of *url* could not be read within the limits of a helper process."""
        site = registered_domain(url)
        self._unreadable[site] = self._unreadable.get(site, 0) + 1

    def was_unreadable(self, url: str) -> bool:
        """Whether a response of the site of *url* could not be read within the limits."""
        return bool(self._unreadable) and registered_domain(url) in self._unreadable

    def note_pair(self, *urls: str) -> None:
        """The pages *urls* are in a pair."""
        self._barren.note_pair(*urls)
        self._staleness.note_pair(*urls)

    def is_copy(self, page: Page) -> bool:
        """Whether the page's host has shown its text too often. Called once per page."""
        return self._copies.learn(urlsplit(page.url).netloc, page.text)
