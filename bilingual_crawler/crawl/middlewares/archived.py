"""Downloader middlewares: answers from archives, of Common Crawl for entry pages and of an earlier crawl."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import DiscoveryContext
from bilingual_crawler.crawl.requests import archived_answer
from bilingual_crawler.crawl.signals import ENTRY, NOT_MODIFIED
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.warc import ArchivedResponse
from bilingual_crawler.urls.hosts import host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry


class ArchivedPagesMiddleware(CrawlComponent):
    """Serves archived pages, before robots.txt and the delay of the site; falls back to the site.

    Stats: ``bilingual/archived/pages|missing``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not isinstance(self._context, DiscoveryContext) or self._context.sources.archive is None:
            raise NotConfigured
        self._archive = self._context.sources.archive
        self._places = self._context.sources.archived

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


_CONDITIONS = {b"etag": b"If-None-Match", b"last-modified": b"If-Modified-Since"}
"""Headers of a response, and those of the request that asks whether it still holds."""
_OK, _UNCHANGED = 200, 304


class KnownPagesMiddleware(CrawlComponent):
    """Asks for pages and sitemaps in the archives of ``BILINGUAL_KNOWN`` on the condition that they have changed.

    At the answer 304 the archived response takes its place. At 660 :class:`.warc.WarcMiddleware` sees both, and
    whatever may refuse a request has been asked. A discovery judges every site anew.

    Stats: ``bilingual/known/unchanged|changed``, ``bilingual/archive/record_too_long|damaged_record|no_file``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(self._context, DiscoveryContext):
            raise NotConfigured
        self._archive = open_archive(self._options.known)
        for reason, count in self._archive.left_out.items():
            self._stats.set_value(f"bilingual/archive/{reason}", count)

    def _is_wanted(self) -> bool:
        return bool(self._options.known)

    def process_request(self, request: Request) -> None:
        request.meta.pop(NOT_MODIFIED, None)
        known = self._known(request)
        if known is not None:
            for validator, condition in _CONDITIONS.items():
                if values := known.headers.get(validator):
                    request.headers[condition] = values[0]

    def process_response(self, request: Request, response: Response) -> Response:
        if not any(condition in request.headers for condition in _CONDITIONS.values()):
            return response
        if response.status == _OK:
            self._stats.inc_value("bilingual/known/changed")
        known = self._known(request) if response.status == _UNCHANGED else None
        if known is None:
            return response
        self._stats.inc_value("bilingual/known/unchanged")
        request.meta[NOT_MODIFIED] = True
        return archived_answer(request, known, known.body, [])

    def _known(self, request: Request) -> ArchivedResponse | None:
        """The complete page in the archive that *request* asks for."""
        found = self._archive.find(request.url) if ENTRY in request.meta and request.method == "GET" else None
        if isinstance(found, ArchivedResponse) and found.status == _OK and not found.truncated:
            return found
        return None
