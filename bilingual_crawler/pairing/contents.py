"""What the documents of a running crawl hold: translations among unpaired ones, and copies at other addresses."""

from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
from cachetools import LRUCache

from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pages.outline import Outline
from bilingual_crawler.pairing.book import MAX_RELATED, Book
from bilingual_crawler.pairing.resemblance import (
    CONFIRMED_BY_OUTLINE,
    Resemblance,
    ResemblanceWeights,
    is_same,
    items_of,
)
from bilingual_crawler.scoring.models import models_folder
from bilingual_crawler.urls.hosts import registered_domain

MAX_DOCUMENTS = 20_000  # latest documents that are compared; each takes some 5 kB
MAX_SITES = 500  # sites with statistics of their contents, 130 kB each
MAX_INDEXED = 32  # indexed items of a document, the rarest on its site
MAX_SHARING = 8  # maximum postings per item
MAX_COMPARED = 4  # documents that share items with a new one and are compared with it


@dataclass(frozen=True, slots=True)
class _IndexedDocument:
    site: str
    side: int
    outline: Outline
    index: Sequence[int]


class Contents:
    """The outlines of unpaired documents."""

    def __init__(self) -> None:
        # not at the first page, when file descriptors may have run out
        self._weights = ResemblanceWeights.load(models_folder(None))
        self._documents: OrderedDict[str, _IndexedDocument] = OrderedDict()
        self._sites: LRUCache[str, Resemblance] = LRUCache(MAX_SITES)
        self._having: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
        """Site, side and item -> documents."""

    def see(self, site: str, side: int, outline: Outline) -> Resemblance:
        """Observe a document of *site* in the first (0) or second (1) language; return the statistics of the site."""
        resemblance = self._sites.get(site)
        if resemblance is None:
            resemblance = self._sites[site] = Resemblance(self._weights)
        resemblance.see(outline, side)
        return resemblance

    def add(self, url: str, side: int, outline: Outline) -> None:
        """Compare the observed document at *url*, in the first (0) or second (1) language, with others."""
        site = registered_domain(url)
        resemblance = self._sites[site]
        items = items_of(outline)
        rarest = items[np.argsort(resemblance.frequency(items), kind="stable")[:MAX_INDEXED]].tolist()
        self._documents[url] = _IndexedDocument(site, side, outline, rarest)
        for item in rarest:
            having = self._having[site, side, item]
            if len(having) < MAX_SHARING:
                having.append(url)
        if len(self._documents) > MAX_DOCUMENTS:
            self.forget(next(iter(self._documents)))

    def usual(self, site: str) -> Resemblance | None:
        """The statistics of *site*; None if evicted."""
        return self._sites.get(site)

    def forget(self, url: str) -> None:
        """Stop comparing the document at *url*."""
        if document := self._documents.pop(url, None):
            for item in document.index:
                having = self._having[place := (document.site, document.side, item)]
                if url in having:
                    having.remove(url)
                if not having:
                    del self._having[place]

    def translation(self, url: str) -> str | None:
        """The confirmed translation of the document at *url*, or None."""
        found = self._best(url)
        if found is None or found[1] < CONFIRMED_BY_OUTLINE:
            return None
        back = self._best(found[0])
        return found[0] if back is not None and back[0] == url else None

    def _best(self, url: str) -> tuple[str, float] | None:
        document = self._documents.get(url)
        if document is None or document.site not in self._sites:
            return None
        resemblance = self._sites[document.site]
        shared: defaultdict[str, float] = defaultdict(float)
        for item in items_of(document.outline).tolist():
            having = self._having.get((document.site, 1 - document.side, item), ())
            for other in having:
                shared[other] += 1 / len(having)
        candidates = nlargest(MAX_COMPARED, shared, key=shared.__getitem__)
        best = resemblance.best(document.outline, document.side, [self._documents[one].outline for one in candidates])
        return None if best is None else (candidates[best.place], best.probability)


class Copies:
    """Finds copies, which name their original as canonical and have its text, or are equal, or nearly and unclaimed."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._outlines: LRUCache[str, tuple[str, Outline]] = LRUCache(MAX_DOCUMENTS)
        """Document -> its canonical URL and its outline."""
        self._texts: LRUCache[Hashable, str] = LRUCache(2 * MAX_DOCUMENTS)  # common key of copies -> the first document
        self._naming: LRUCache[Hashable, tuple[str, ...]] = LRUCache(MAX_DOCUMENTS)
        """Language and URL -> documents that name it as canonical."""

    def have_same_text(self, url: str, other: str, usual: Resemblance) -> bool:
        """Whether two documents have the same text, with boilerplate if of one canonical URL; false if evicted."""
        if url not in self._outlines or other not in self._outlines:
            return False
        (one, a), (another, b) = self._outlines[url], self._outlines[other]
        same = usual.is_same_text(a, b) or usual.is_untranslated(a, b)
        return same or (one == another and is_same(a, b))

    def outline(self, url: str) -> Outline | None:
        """Return the outline of the document at *url*; None if unknown or evicted."""
        return self._outlines[url][1] if url in self._outlines else None

    def add(self, page: PageRecord, usual: Resemblance, *, is_claimed: bool) -> tuple[str | None, list[str]]:
        """Add a document; return its original or None, and its copies; *is_claimed*: it is claimed or claims others."""
        outline = page.outline
        if outline is None:
            return None, []
        own = _bare(page.url)
        named = _bare(page.canonical) if page.canonical else own
        naming = self._naming.get((page.side, own), ())
        copies = [url for url in naming if not self._book.is_copy(url) and self._is_same(url, page)]
        if named != own:
            original = self._book.original(self._texts.get((page.side, named), page.url))
            if original != page.url and self._is_same(original, page):
                # of two pages that name each other as canonical, the first is the original
                return original, [url for url in copies if url != original]
            naming = self._naming.get((page.side, named), ())
            self._naming[page.side, named] = (*naming, page.url)[-MAX_RELATED:]
        self._outlines[page.url] = named, outline
        self._texts[page.side, own] = page.url
        same = self._same_text(page, outline, usual, is_claimed=is_claimed)
        return (None if same in copies else same), copies

    def _same_text(self, page: PageRecord, outline: Outline, usual: Resemblance, *, is_claimed: bool) -> str | None:
        """The near-duplicate of *page*, unless a claim tells them apart; pages of boilerplate alone must be equal."""
        if is_claimed or not outline.length:
            return None
        site = registered_domain(page.url)
        exactly = site, page.side, page.length, outline
        least = site, page.side, min(usual.own_lines(outline), default=0), outline.numbers
        found = self._texts.setdefault(hash(exactly), page.url)
        if found == page.url:
            near = self._texts.setdefault(hash(least), page.url)
            if near in self._outlines and usual.is_same_text(outline, self._outlines[near][1]):
                found = near
        original = self._book.original(found)
        return original if original != page.url else None

    def _is_same(self, url: str, page: PageRecord) -> bool:
        return url in self._outlines and page.outline is not None and is_same(self._outlines[url][1], page.outline)


def _bare(url: str) -> str:
    """*url* without scheme, ``www.``, the name of an index page, and last slash."""
    return url.partition("://")[2].removeprefix("www.").removesuffix("/index.html").rstrip("/")
