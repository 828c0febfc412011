"""Downloader middlewares: ask for pages in the languages of the crawl, keep cookies of switchers, check the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.signals import ENTRY, READ, SWITCH, Refused
from bilingual_crawler.urls.canonical import asked_language

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry

_REDIRECTS = range(300, 400)


class NegotiatedMiddleware(CrawlComponent):
    """Refuses a variant in another language than asked for. It follows the rendering: scripts may choose it."""

    def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        asked = asked_language(entry.url) if entry else None
        # a page that was not read is no answer
        if entry is None or asked is None or response.status != 200 or READ not in request.meta:
            return response
        found = request.meta[READ].language
        right = self._context.pairs.side(found) == asked
        self._visits.variants.note_answer(entry.url, right=right)
        if not right:
            raise Refused("not-negotiated", f"asked for {asked}, answered in {found}", status=200)
        return response


class VariantsMiddleware(CrawlComponent):
    """Sends ``Accept-Language``, and the cookies of a variant; notes cookies that come with a redirect.

    If the project has set an ``Accept-Language`` in ``DEFAULT_REQUEST_HEADERS``, only variants have another one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        headers = crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        self._asks_by_default = headers == default_settings.DEFAULT_REQUEST_HEADERS

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        visits = self._visits
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
            request.meta[SWITCH] = self._visits.variants.switch(entry.url, set_cookies)
        return response
