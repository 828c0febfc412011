"""Downloader middleware: entry pages of candidates from Common Crawl's archive in place of their sites."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from bilingual_crawler.crawl.answers import archived_answer
from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext
from bilingual_crawler.crawl.meta import ENTRY
from bilingual_crawler.urls.hosts import host_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry


class ArchivedPagesMiddleware:
    """Answers before robots.txt and the delay of the site, which is not asked. It is asked if the archive has no page.

    Stats: ``bilingual/archived/pages|missing``.
    """

    def __init__(self, crawler: Crawler) -> None:
        context = CrawlContext.of(crawler)
        if not isinstance(context, DiscoveryContext) or context.sources.archive is None:
            raise NotConfigured
        assert crawler.stats
        self._stats = crawler.stats
        self._archive = context.sources.archive
        self._places = context.sources.archived

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        entry: Entry | None = request.meta.get(ENTRY)
        place = self._places.get(entry.url) if entry else None
        if place is None:
            return None
        page = await asyncio.to_thread(self._archive.read, place)
        if page is not None and (page.status != 200 or host_of(page.url) != host_of(request.url)):
            self._archive.left_out.add("not the entry page", request.url)
            page = None
        self._stats.inc_value(f"bilingual/archived/{'pages' if page else 'missing'}")
        return archived_answer(request, page, page.body, []) if page else None
