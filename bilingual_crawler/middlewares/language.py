"""Downloader middleware: parse pages and sitemaps once; identify the language of a page's text, take its outline."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from scrapy import signals
from scrapy.exceptions import StopDownload

from bilingual_crawler.crawl.meta import ENTRY, LANGUAGE, OUTLINE, PAGE, SITEMAP
from bilingual_crawler.crawl.refused import Refused
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.middlewares.read import Reader
from bilingual_crawler.pages.jobs import PageJob, SitemapJob

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

HTML_TYPES = ("text/html", "application/xhtml+xml")


class LanguageFilterMiddleware:
    """Puts the parsed page, the language of its text and its outline, or the parsed sitemap, into ``response.meta``.

    Responses that are not HTML are dropped by their headers, before the body is read if the download handler allows it.
    The policy decides whether links of a page in neither language are followed. Stats: ``bilingual/language/<code>``,
    ``bilingual/dropped/not_html``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._stats = crawler.stats
        self._reader = Reader(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.headers_received, signal=signals.headers_received)
        return middleware

    def headers_received(self, headers: Headers, request: Request) -> None:
        if _is_page(request) and not _is_html(headers):
            raise StopDownload(fail=True)

    async def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None or response.status != 200:
            return response
        if entry.kind is Kind.SITEMAP:
            request.meta[SITEMAP] = await self._reader.read(SitemapJob(response.body, entry.url), entry.url)
            return response
        if not _is_html(response.headers):
            self._stats.inc_value("bilingual/dropped/not_html")
            raise Refused("not-html", f"not an HTML page: {_content_type(response.headers)}", status=200)
        await read_response(request, response, self._reader, self._stats)
        return response


async def read_response(request: Request, response: Response, reader: Reader, stats: StatsCollector) -> None:
    """Put the page in *response*, its language and its outline into the meta of *request*; raises Refused."""
    url = cast("Entry", request.meta[ENTRY]).url
    found = await reader.read(page_job(response, url), url)
    request.meta[PAGE] = found.page
    request.meta[LANGUAGE] = found.identification
    request.meta[OUTLINE] = found.outline
    stats.inc_value(f"bilingual/language/{found.identification.language}")


def page_job(response: Response, url: str) -> PageJob:
    """The job that reads the page in *response*, fetched from *url*."""
    link_headers = tuple(value.decode("latin-1") for value in response.headers.getlist("Link"))
    return PageJob(response.body, _content_type(response.headers), url, link_headers)


def _is_page(request: Request) -> bool:
    entry: Entry | None = request.meta.get(ENTRY)
    return entry is not None and entry.kind is Kind.PAGE


def _is_html(headers: Headers) -> bool:
    content_type = _content_type(headers)
    return not content_type or content_type.lower().startswith(HTML_TYPES)


def _content_type(headers: Headers) -> str:
    return (headers.get("Content-Type") or b"").decode("latin-1")
