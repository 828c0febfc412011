"""Downloader middleware: what the ``tdmrep.json`` of its host declares for each page (TDM Reservation Protocol)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from cachetools import LRUCache, TTLCache
from scrapy.exceptions import NotConfigured

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import DiscoveryContext
from bilingual_crawler.crawl.middlewares.backoff import origin
from bilingual_crawler.crawl.middlewares.language import Reader
from bilingual_crawler.crawl.middlewares.robots import MAX_AGE, TIMEOUT, download, fetch_once
from bilingual_crawler.crawl.signals import ENTRY, SITE_OPT_OUTS, StillWanted
from bilingual_crawler.frontier.entry import Kind
from bilingual_crawler.pages.jobs import TdmJob
from bilingual_crawler.pages.opt_outs import TDM_FILE, declared_for

if TYPE_CHECKING:
    import asyncio

    from scrapy import Request
    from scrapy.crawler import Crawler

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.pages.opt_outs import TdmRule

logger = logging.getLogger(__name__)

MAX_BYTES = 500 << 10
"""Bytes of a file; a longer one has no rules."""
TRIES = 3
"""Pages of a host with which its file is asked for, as long as the host does not answer."""
_HOSTS = 10_000
_RULES = 200_000
"""Rules that are kept for all hosts: twenty per host, or 200 files with as many as are read."""


class TdmMiddleware(CrawlComponent):
    """Puts what the host declares for a page into the meta of its request.

    The file of a host is fetched once a day, after robots.txt and before the first page. It is fetched like any page:
    robots.txt, delays and archive apply. A file that is missing, too large, no JSON or forbidden declares nothing, and
    so does a host that does not answer three times. A discovery makes no documents, and asks for no file.

    Stats: ``bilingual/tdm/fetched|rules``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(self._context, DiscoveryContext):
            raise NotConfigured
        self._reader = Reader(crawler)
        self._timeout = min(TIMEOUT, crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))
        self._rules: TTLCache[str, list[TdmRule]] = TTLCache(
            _RULES, MAX_AGE, getsizeof=lambda rules: _RULES // _HOSTS + len(rules)
        )
        self._failures: LRUCache[str, int] = LRUCache(_HOSTS)
        self._asking: dict[str, asyncio.Task[list[TdmRule]]] = {}

    async def process_request(self, request: Request) -> None:
        request.meta.pop(SITE_OPT_OUTS, None)
        entry: Entry | None = request.meta.get(ENTRY)
        # a sitemap that was redirected may be a page
        if entry is None or entry.request or (entry.kind is Kind.SITEMAP and not entry.redirects):
            return
        host = origin(request.url)
        rules = self._rules.get(host)
        if rules is None:
            rules = await fetch_once(self._asking, host, lambda: self._fetch(host, request))
        request.meta[SITE_OPT_OUTS] = declared_for(request.url, rules)

    async def _fetch(self, host: str, request: Request) -> list[TdmRule]:
        url = f"{host}{TDM_FILE}"
        self._stats.inc_value("bilingual/tdm/fetched")
        try:
            response = await download(self._crawler, url, request, self._timeout, obeyed=False, max_bytes=MAX_BYTES)
            answered = response.status != 429 and response.status < 500
            body = response.body if response.status == 200 else b""
            rules = await self._reader.read(TdmJob(body, url), url) if 0 < len(body) <= MAX_BYTES else []
        except StillWanted:
            raise
        except Exception as error:
            # whatever is wrong with the file, the page is there
            logger.debug(f"{url}: {error}", extra={"spider": self._crawler.spider})
            answered, rules = False, []
        if not answered:
            self._failures[host] = self._failures.get(host, 0) + 1
        if answered or self._failures[host] >= TRIES:
            self._rules[host] = rules
        if rules:
            self._stats.inc_value("bilingual/tdm/rules", len(rules))
        return rules
