"""Downloader middleware: pages of an earlier crawl are downloaded again only if they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from bilingual_crawler.archive import ArchivedResponse, open_archive
from bilingual_crawler.crawl.answers import archived_answer
from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext
from bilingual_crawler.crawl.meta import ENTRY, NOT_MODIFIED
from bilingual_crawler.options import Options

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_CONDITIONS = {b"etag": b"If-None-Match", b"last-modified": b"If-Modified-Since"}
"""Headers of a response, and those of the request that asks whether it still holds."""
_OK, _UNCHANGED = 200, 304


class KnownPagesMiddleware:
    """Asks for pages and sitemaps in the archives of ``BILINGUAL_KNOWN`` on the condition that they have changed.

    At the answer 304 the archived response takes its place, so that the page is read as if it had been downloaded.
    Its place is 660, so that :class:`~bilingual_crawler.middlewares.warc.WarcMiddleware` sees both, and whatever may
    refuse a request has been asked. A discovery judges every site anew.

    Stats: ``bilingual/known/unchanged|changed``, ``bilingual/archive/record_too_long|damaged_record|no_file``.
    """

    def __init__(self, crawler: Crawler) -> None:
        known = Options.of(crawler.settings).known
        if not known or isinstance(CrawlContext.of(crawler), DiscoveryContext):
            raise NotConfigured
        assert crawler.stats
        self._stats = crawler.stats
        self._archive = open_archive(known)
        for reason, count in self._archive.left_out.items():
            self._stats.set_value(f"bilingual/archive/{reason}", count)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

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
        found = self._archive.find(request.url) if ENTRY in request.meta else None
        if isinstance(found, ArchivedResponse) and found.status == _OK and not found.truncated:
            return found
        return None
