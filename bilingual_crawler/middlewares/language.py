"""Downloader middleware: parse a page once and identify the language of its text."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, StopDownload

from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.frontier.scheduler import ENTRY
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.language import identify

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

PAGE = "bilingual_page"
"""Meta key of the parsed :class:`~bilingual_crawler.pages.model.Page`."""
LANGUAGE = "bilingual_language"
"""Meta key of the :class:`~bilingual_crawler.pages.language.Identification` of its text."""

HTML_TYPES = ("text/html", "application/xhtml+xml")


class NotHtml(IgnoreRequest):
    """The response is not an HTML page."""


class LanguageFilterMiddleware:
    """Puts the parsed page and the language of its text into ``response.meta``.

    Responses that are not HTML are dropped, by their headers before the body is read where the download handler
    allows it. Whether links of a page in neither language are followed is the policy's choice, not made here.
    Stats: ``bilingual/language/<code>``, ``bilingual/dropped/not_html``.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats
        middleware = cls(crawler.stats)
        crawler.signals.connect(middleware.headers_received, signal=signals.headers_received)
        return middleware

    def headers_received(self, headers: Headers, request: Request) -> None:
        if _is_page(request) and not _is_html(headers):
            raise StopDownload(fail=True)

    def process_response(self, request: Request, response: Response) -> Response:
        if not _is_page(request) or response.status != 200:
            return response
        if not _is_html(response.headers):
            self._stats.inc_value("bilingual/dropped/not_html")
            raise NotHtml(f"not an HTML page: {_content_type(response.headers)}")
        read_page(request, response, self._stats)
        return response


def read_page(request: Request, response: Response, stats: StatsCollector) -> None:
    """Parse the page in *response*, identify its language, and put both into the meta of *request*."""
    link_headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
    entry = cast("Entry", request.meta[ENTRY])
    page = parse_page(decode_body(response.body, _content_type(response.headers)), entry.url, link_headers)
    identification = identify(page.text)
    request.meta[PAGE] = page
    request.meta[LANGUAGE] = identification
    stats.inc_value(f"bilingual/language/{identification.language}")


def _is_page(request: Request) -> bool:
    entry: Entry | None = request.meta.get(ENTRY)
    return entry is not None and entry.kind is Kind.PAGE


def _is_html(headers: Headers) -> bool:
    content_type = _content_type(headers)
    return not content_type or content_type.lower().startswith(HTML_TYPES)


def _content_type(headers: Headers) -> str:
    return (headers.get("Content-Type") or b"").decode("latin-1")
