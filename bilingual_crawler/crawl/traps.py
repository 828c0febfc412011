"""Traps: copies, soft 404s, stale groups of URLs."""

import re
from collections import Counter
from hashlib import blake2b
from math import inf
from urllib.parse import urlsplit

import numpy as np
from cachetools import LRUCache
from msgspec.structs import replace
from numpy.typing import NDArray

from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.pages.formats import ending_of
from bilingual_crawler.pages.model import ENOUGH_NEW_TEXT, Link, PageRecord
from bilingual_crawler.pages.sequences import SAMPLE, sequences
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.traps import IN_ANOTHER_ORDER, addresses, grown, shapes, trees


def folders(url: str) -> list[str]:
    """The host of *url* and the first three folders of its path."""
    parts = urlsplit(url)
    names = parts.path.split("/")[1:-1][:3]
    return ["/".join((parts.netloc, *names[:depth])) + "/" for depth in range(len(names) + 1)]


def differing(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """How many of the sorted numbers of the longer one the shorter one lacks."""
    return max(len(one), len(other)) - len(np.intersect1d(one, other, assume_unique=True))


MAX_COPIES = 20  # pages of a host with one text whose links are followed; an untranslated page has several URLs
PROBE_AFTER = 10  # pages of a host before a made-up URL tests for soft 404s
FOLDER_PROBE_AFTER = 3  # documents of a language in a folder of its own before a made-up URL of the folder does
MAX_FOLDERS_PROBED = 4  # folders of a host that are probed beside the host
MAX_PROBES = 4  # maximum unanswered probes of a host or folder; each waits for twice as many pages as the one before
_OWN_SHARE = 0.8  # minimum share of a language in the documents of its own folder; some are untranslated
_PAGES = 200_000
_MIN_SEQUENCES = 10
_HOSTS = 10_000
_FOLDERS = 100_000
_SEQUENCES = 1_000_000


class MissingPages:
    """Soft 404s: what a place, a host or a folder such as ``a.is/es/``, serves for missing URLs."""

    def __init__(self) -> None:
        self._pages: LRUCache[str, int] = LRUCache(_HOSTS)
        self._languages: LRUCache[str, Counter[str]] = LRUCache(_FOLDERS)
        self._probes: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._probed: LRUCache[str, set[str]] = LRUCache(_HOSTS)  # host -> its probed folders
        self._shown: LRUCache[str, NDArray[np.uint32]] = LRUCache(_SEQUENCES, getsizeof=len)

    def places_to_probe(self, url: str, language: str | None) -> list[str]:
        """The places of *url*, a document in *language* if it has one, to probe now. Called once per page."""
        host, *inner = folders(url)
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        wanted = [host] if self._is_due(host, pages, PROBE_AFTER) else []
        if language is None:
            return wanted
        counts = {place: self._languages.setdefault(place, Counter()) for place in (host, *inner)}
        for found in counts.values():
            found[language] += 1
        least = {place: max(FOLDER_PROBE_AFTER, _OWN_SHARE * found.total()) for place, found in counts.items()}
        own = next((place for place in counts if counts[place][language] >= least[place]), host)
        probed = self._probed.setdefault(host, set())
        may_probe = own != host and (own in probed or len(probed) < MAX_FOLDERS_PROBED)
        if may_probe and self._is_due(own, counts[own][language], FOLDER_PROBE_AFTER):
            probed.add(own)
            wanted.append(own)
        return wanted

    def answered(self, place: str) -> None:
        """Stop probing *place*, which has answered."""
        self._probes[place] = MAX_PROBES

    def learn(self, place: str, text: str, url: str) -> None:
        """Add *text*, which *place* serves for the missing page *url*. Texts of a few words are not compared."""
        if len(shown := sequences(text, url)) >= _MIN_SEQUENCES:
            self._shown[place] = shown

    def is_missing(self, url: str, text: str) -> bool:
        """Whether *url* is a soft 404: one of its places serves *text* for missing URLs."""
        known = [self._shown[place] for place in folders(url) if place in self._shown]
        if not known:
            return False
        said = sequences(text, url)
        return any(differing(said, shown) <= max(3, 0.02 * len(said)) for shown in known)

    def _is_due(self, place: str, pages: int, first: int) -> bool:
        """Whether to probe *place* after *pages* of its pages; the first probe is due after *first*."""
        probes = self._probes.get(place, 0)
        is_due = probes < MAX_PROBES and pages >= first << probes
        if is_due:
            self._probes[place] = probes + 1
        return is_due


FOLDER_FACTOR = 3  # factor of the limit for a whole folder, and for the same path on the hosts of a domain
TREE_FACTORS = (27, 9, 3)  # for the trees of the first, second and third folder of a path: smaller trees stop first
TREE_ROW = 50  # stale pages in a row before novelty is measured per tree; lists of articles have shorter rows
PAIRS_FACTOR = 10  # for paired pages: templates filled in for every town, and some calendars, are translated too
NEW_SHARE = 0.05  # share of new word sequences, relative to its group, above which a page has new text
_BITS = 1 << 17
_LISTED = 1 << 12  # list size above which a bitmap is smaller
_GROUP_BYTES = 500  # bytes of a group beside its word sequences
_BYTES = 1000 * (_GROUP_BYTES + _BITS // 8)  # bytes for all groups: 1,000 of the largest, or 10,000 of a few pages
_STALE = 10_000
_NOTHING: NDArray[np.uint32] = np.empty(0, np.uint32)


class _Group:
    """A sample of one in four word sequences of its pages, in at most 16 kB; emptied when half full."""

    __slots__ = ("_bits", "_listed", "alone", "held", "poor", "row")

    def __init__(self) -> None:
        self._listed = _NOTHING  # sorted places of the sequences while they are few; most groups have a page or two
        self._bits: NDArray[np.uint8] | None = None
        # sequences; pages in a row that are stale, that are unpaired as well, that have little new text
        self.held = self.row = self.alone = self.poor = 0

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return _GROUP_BYTES + (self._listed.nbytes if self._bits is None else self._bits.nbytes)

    def read(self, places: NDArray[np.uint32], count: int) -> float:
        """Add a page with *count* sequences at *places*; return the share of them that is new."""
        new = self._list(places) if self._bits is None else self._set(self._bits, places)
        self.held += new
        if self.held > _BITS // 2:
            self._listed, self._bits, self.held = _NOTHING, None, 0
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
    """Refuses URLs of groups with *limit* unpaired pages in a row without new text; 0 disables. 16 MB of groups."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._groups: LRUCache[str, _Group] = LRUCache(_BYTES, getsizeof=lambda group: group.size)
        self._stale: LRUCache[str, bool] = LRUCache(_STALE)

    def learn(self, url: str, sample: bytes) -> tuple[str | None, float]:
        """Add the page *url* with the *sample* of its word sequences; return the group that becomes stale, if any.

        And the share of the text, 0 to 1, that is new to its folder and to each tree with a long row of stale pages.
        """
        hashes = np.frombuffer(sample, np.uint32)
        places = np.unique(hashes // SAMPLE % _BITS)
        found, new = None, 1.0
        for shape in shapes(url):
            new = self._read(shape, places, len(hashes))
            found = found or self._stale_by(shape)
        for tree in trees(url):
            # each combination of filters may have its own folder or host, where all text is new
            said = self._read(tree, places, len(hashes))
            if self._groups[tree].poor > TREE_ROW:
                new = min(new, said)
            if found:
                # refused groups no longer count for their parents
                group = self._groups[tree]
                group.row = group.alone = 0
            else:
                found = self._stale_by(tree)
        return found, new

    def _read(self, shape: str, places: NDArray[np.uint32], count: int) -> float:
        """Add a page to the group *shape*; return the share of new text."""
        group = self._groups.get(shape) or _Group()
        new = group.read(places, count)
        self._groups[shape] = group  # after it has grown
        return new

    def _stale_by(self, shape: str) -> str | None:
        """*shape* if its last page made it stale."""
        group = self._groups[shape]
        if not 0 < self._limit * _factor(shape) <= max(group.alone, group.row // PAIRS_FACTOR) or shape in self._stale:
            return None
        self._stale[shape] = True
        return shape

    def note_pair(self, *urls: str) -> None:
        """Note that the pages *urls* are in a pair, and so not stale."""
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


_SKETCH = 16  # word sequences by which pages are compared: the first of the sorted sample, the same for equal texts
_OTHER_SHARE = 0.2  # maximum share of them that differs at two addresses of a page: its text may have the filters
_ADDRESSES = 40_000


class Repeats:
    """Refuses a kind of address after *limit* pages of a host in a row that repeat another's; 0 disables. 20 MB."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # hash of the common part of the addresses of a page -> hash, text digest and sketch of the first
        self._first: LRUCache[int, tuple[int, bytes, bytes]] = LRUCache(_ADDRESSES)
        self._rows: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._repeating: LRUCache[str, bool] = LRUCache(_STALE)

    def learn(self, url: str, text: str, sample: bytes) -> str | None:
        """Add the page *url*; return the kind of address that is refused from now on, if any."""
        sketch, ways = sample[: _SKETCH * 4], addresses(url) if self._limit else ()
        if not ways or len(sketch) < _MIN_SEQUENCES * 4:
            return None
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        found = None
        for kind, common in ways:
            first, said, sketched = self._first.setdefault(hash(common), (hash(url), digest, sketch))
            if first == hash(url):
                continue
            # pages of one template differ in an id, a parameter or a number, never in the order of words
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
    """Whether two pages with these sketches have nearly the same text."""
    first, second = np.frombuffer(one, np.uint32), np.frombuffer(other, np.uint32)
    return differing(first, second) <= _OTHER_SHARE * max(len(first), len(second))


_INDEX = re.compile(r"/index\.(?:html?|php)$")
MIN_REDIRECTED = 10  # redirects from one form of addresses to another before links of that form are rewritten


class Forms:
    """Rewrites links as their host redirects addresses of this form: scheme, ``www.``, last ``/`` or ``index.html``.

    A form is rewritten after :data:`MIN_REDIRECTED` redirects, all to the same form, if it has no page itself.
    """

    def __init__(self) -> None:
        self._led: LRUCache[tuple[str, ...], Counter[tuple[str, ...]]] = LRUCache(_HOSTS)
        self._usual: LRUCache[tuple[str, ...], tuple[str, ...]] = LRUCache(_HOSTS)
        self._given: LRUCache[str, str] = LRUCache(_ADDRESSES)

    def learn(self, url: str, target: str) -> None:
        """Note that *url* is redirected to *target*, or, if they are the same, has a page."""
        place, to = _place(url), _place(target)[1:]
        if _key(url) == _key(target):
            led = self._led.setdefault(place, Counter())
            led[to] += 1
            self._usual.pop(place, None)
            if len(led) == 1 and to != place[1:] and led[to] >= MIN_REDIRECTED:
                self._usual[place] = to

    def of_page(self, page: PageRecord) -> PageRecord:
        """Return *page*, which was read, with its links rewritten."""
        self.learn(page.url, page.url)
        return replace(page, links=tuple(map(self._rewritten, page.links))) if self._usual else page

    def given(self, url: str) -> str | None:
        """The address in whose place *url*, which gave no page, was requested; None without one, and the next time."""
        return self._given.pop(url, None)

    def _rewritten(self, link: Link) -> Link:
        form = self._usual.get(_place(link.url))
        if form is None or "#" in link.url:
            return link
        url = form[0] + form[1] + _key(link.url) + form[2].strip("?.")
        self._given.setdefault(url, link.url)
        return replace(link, url=url)


def _place(url: str) -> tuple[str, str, str, str]:
    """The host of *url*, and its form."""
    scheme, separator, rest = url.partition("://")
    path, _, name = rest.rpartition("/")
    index = _INDEX.search(rest)
    end = index[0] if index else "?" if "?" in url else "." if "." in name and path else "/" * (not name)
    return link_key(url).partition("/")[0], scheme + separator, "www." * rest.startswith("www."), end


def _key(url: str) -> str:
    """What addresses of one page have in common, whatever their form."""
    return _INDEX.sub("", link_key(url))


MAX_FILES = 50  # answers for one ending on a host before it is refused, if none was a page
MAX_SITEMAPS = 1000  # maximum sitemaps of a site
MAX_UNREADABLE = 10  # unreadable responses before a registered domain is abandoned; new hosts cost nothing
MAX_SITEMAP_DEPTH = 4  # levels of sitemaps below robots.txt; the protocol has two, an index and its sitemaps


def _ending(url: str) -> tuple[str, str]:
    """The host of *url*, and the ending of its file name."""
    return urlsplit(url).netloc, ending_of(url)


class Traps:
    """Knows the URLs that are not worth a fetch. In memory and bounded; a resumed crawl learns them again."""

    def __init__(self, *, stale_pages: int) -> None:
        self.missing = MissingPages()
        self.staleness = Staleness(stale_pages)
        self._repeats = Repeats(stale_pages)
        self.forms = Forms()
        self._texts: LRUCache[bytes, int] = LRUCache(_PAGES)  # digest of host and text -> pages of the host with it
        self._sitemaps: LRUCache[str, int] = LRUCache(_HOSTS)
        self._named: LRUCache[int, bool] = LRUCache(_FOLDERS)  # hashes of the sitemaps that are read
        self._unreadable: LRUCache[str, int] = LRUCache(_HOSTS)
        self._files: LRUCache[tuple[str, str], float] = LRUCache(_HOSTS)  # host and ending -> answers without a page
        self._only_files: LRUCache[tuple[str, str], bool] = LRUCache(_HOSTS)  # refused; few, and links are many

    def refuses(self, url: str) -> str | None:
        """The kind of trap that *url* belongs to, or None."""
        if self.staleness.refuses(url) or self._repeats.refuses(url):
            return "stale"
        if self._unreadable and self._unreadable.get(registered_domain(url), 0) >= MAX_UNREADABLE:
            return "unreadable"
        if self._only_files and _ending(url) in self._only_files:
            return "file"
        return grown(url)

    def learn(self, page: PageRecord) -> tuple[list[str], float]:
        """Add *page*; return the groups of URLs that it makes stale, and the share of its text, 0 to 1, that is new."""
        self._files[_ending(page.url)] = -inf
        stale, new = self.staleness.learn(page.url, page.sample)
        repeated = self._repeats.learn(page.url, page.text, page.sample)
        return [group for group in (stale, repeated) if group is not None], new

    def wants_sitemap(self, entry: Entry) -> bool:
        """Whether to read the sitemap *entry*. Called for each mention; repeated mentions count once."""
        if hash(entry.url) in self._named:
            return True
        read = self._sitemaps[entry.slot] = self._sitemaps.get(entry.slot, 0) + 1
        if entry.depth > MAX_SITEMAP_DEPTH or read > MAX_SITEMAPS:
            return False
        self._named[hash(entry.url)] = True
        return True

    def note_file(self, url: str) -> None:
        """Note that *url* led to a file that is no document."""
        key = _ending(url)
        self._files[key] = self._files.get(key, 0) + 1
        if key[1] and self._files[key] >= MAX_FILES:
            self._only_files[key] = True

    def note_unreadable(self, url: str) -> None:
        """Note that a helper process could not read the response of *url* within its limits."""
        site = registered_domain(url)
        self._unreadable[site] = self._unreadable.get(site, 0) + 1

    def was_unreadable(self, url: str) -> bool:
        """Whether a response of the site of *url* exceeded the limits."""
        return bool(self._unreadable) and registered_domain(url) in self._unreadable

    def is_copy(self, page: PageRecord) -> bool:
        """Whether more than :data:`MAX_COPIES` pages of the host have the text of *page*. Called once per page."""
        if not page.text:
            return False
        of_host = f"{urlsplit(page.url).netloc}\n{page.text}"
        key = blake2b(of_host.encode("utf-8", "replace"), digest_size=16).digest()
        count = self._texts[key] = self._texts.get(key, 0) + 1
        return count > MAX_COPIES
