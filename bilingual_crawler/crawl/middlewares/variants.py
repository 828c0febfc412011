"""Downloader middlewares: ask for pages in the languages of the crawl, keep cookies of switchers, check the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.signals import ENTRY, READ, SWITCH, Refused
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.urls.variants import asked_language

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry

_REDIRECTS = range(300, 400)


class NegotiatedMiddleware:
    """Refuses a variant in another language than asked for: it is what its address gives without being asked.

    It comes after the rendering, whose scripts may choose the language.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._pairs = CrawlContext.from_crawler(crawler).pairs

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        asked = asked_language(entry.url) if entry else None
        # a page that was not read is no answer
        if entry is None or asked is None or response.status != 200 or READ not in request.meta:
            return response
        found = request.meta[READ].language
        right = self._pairs.side(found) == asked
        Visits.from_crawler(self._crawler).variants.note_answer(entry.url, right=right)
        if not right:
            raise Refused("not-negotiated", f"asked for {asked}, answered in {found}", status=200)
        return response


class VariantsMiddleware:
    """Sends ``Accept-Language``, and the cookies of a variant; notes cookies that come with a redirect.

    A variant is an address that is asked for in one language: :mod:`bilingual_crawler.urls.variants`. If there is an
    ``Accept-Language`` in ``DEFAULT_REQUEST_HEADERS`` that is not Scrapy's, only variants have another one.
    """

    def __init__(self, crawler: Crawler) -> None:
        # another scheduler has no variants
        CrawlContext.from_crawler(crawler)
        self._crawler = crawler
        headers = crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        self._asks_by_default = headers == default_settings.DEFAULT_REQUEST_HEADERS

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        visits = Visits.from_crawler(self._crawler)
        if self._asks_by_default or entry.is_variant:
            request.headers["Accept-Language"] = visits.variants.accept_language(entry.url)
        if entry.is_variant and not visits.variants.are_wanted(entry.url):
            raise Refused("not-negotiated", "the site has answered in another language before")
        if cookies := visits.variants.cookies(entry.url):
            request.headers["Cookie"] = cookies

    def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is not None and response.status in _REDIRECTS:
            set_cookies = [value.decode("latin-1") for value in response.headers.getlist("Set-Cookie")]
            request.meta[SWITCH] = Visits.from_crawler(self._crawler).variants.switch(entry.url, set_cookies)
        return response
