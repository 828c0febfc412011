"""The knowledge of a crawl about traps."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cachetools import LRUCache

from bilingual_crawler.traps.barren import Barren
from bilingual_crawler.traps.copies import Copies, MissingPages
from bilingual_crawler.traps.staleness import Staleness
from bilingual_crawler.traps.text import sequences
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.traps import grown

if TYPE_CHECKING:
    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.pages.model import Page

MAX_SITEMAPS = 1000
"""Sitemaps of a site that are read."""
MAX_UNREADABLE = 10
"""Unreadable responses of a site, a registered domain, after which the site is left: hosts cost nothing."""
MAX_SITEMAP_DEPTH = 4
"""Levels of sitemaps, from robots.txt on; the protocol has two, an index and its sitemaps."""


_HOSTS = 10_000


class Traps:
    """Knows which URLs are not worth a fetch. In memory and bounded; a resumed crawl learns it again."""

    def __init__(self, *, stale_pages: int, barren_pages: int) -> None:
        self.missing = MissingPages()
        self._barren = Barren(barren_pages)
        self._staleness = Staleness(stale_pages)
        self._copies = Copies()
        self._sitemaps: LRUCache[str, int] = LRUCache(_HOSTS)
        self._unreadable: LRUCache[str, int] = LRUCache(_HOSTS)

    def refuses(self, url: str) -> str | None:
        """The kind of trap that *url* belongs to; None if it is no trap."""
        if self._staleness.refuses(url):
            return "stale"
        if self._barren.refuses(url):
            return "barren"
        if self._unreadable and self._unreadable.get(registered_domain(url), 0) >= MAX_UNREADABLE:
            return "unreadable"
        return grown(url)

    def learn(self, page: Page) -> list[tuple[str, str]]:
        """Add a fetched page; returns (kind, group of URLs) of the traps that it completes."""
        found = [("stale", self._staleness.learn(page.url, sequences(page.text)))]
        found.append(("barren", self._barren.learn(page.url)))
        return [(kind, group) for kind, group in found if group is not None]

    def wants_sitemap(self, entry: Entry) -> bool:
        """Whether one more sitemap of its site is read. Called once per sitemap."""
        read = self._sitemaps[entry.slot] = self._sitemaps.get(entry.slot, 0) + 1
        return entry.depth <= MAX_SITEMAP_DEPTH and read <= MAX_SITEMAPS

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
