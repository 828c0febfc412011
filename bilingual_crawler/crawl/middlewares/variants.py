"""Downloader middlewares: ask for pages in the languages of the crawl, keep cookies of switchers, check the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.middlewares.stop import unless_stopping
from bilingual_crawler.crawl.signals import ENTRY, READ, SWITCH, Refused
from bilingual_crawler.crawl.variants import MAX_POSTS, Posting
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.variants import asked_language, is_posting

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.crawl.variants import Switch
    from bilingual_crawler.frontier.entry import Entry

_REDIRECTS = range(300, 400)
_AS_GET = (301, 302, 303)
"""Redirects after which a browser does not post again."""


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
        found = request.meta[READ].identification.language
        right = self._pairs.side(found) == asked
        Visits.from_crawler(self._crawler).variants.note_answer(entry.url, right=right)
        if not right:
            raise Refused("not-negotiated", f"asked for {asked}, answered in {found}", status=200)
        return response


class VariantsMiddleware:
    """Sends ``Accept-Language``, and the cookies of a variant; notes cookies that come with a redirect, or for a form.

    A variant is an address that is asked for in one language: :mod:`bilingual_crawler.urls.variants`. If there is an
    ``Accept-Language`` in ``DEFAULT_REQUEST_HEADERS`` that is not Scrapy's, only variants have another one. A form is
    posted once for each site and language, whatever comes of it, in all runs and workers of the crawl together. Stats:
    ``bilingual/variants/posts``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        # another scheduler has no variants
        CrawlContext.from_crawler(crawler)
        self._crawler = crawler
        self._stats = crawler.stats
        headers = crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        self._asks_by_default = headers == default_settings.DEFAULT_REQUEST_HEADERS

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        visits = Visits.from_crawler(self._crawler)
        if self._asks_by_default or entry.is_variant:
            request.headers["Accept-Language"] = visits.variants.accept_language(entry.url)
        if is_posting(entry.url):
            await self._count_post(entry)
            return
        if entry.is_variant and not visits.variants.are_wanted(entry.url):
            raise Refused("not-negotiated", "the site has answered in another language before")
        if cookies := visits.variants.cookies(entry.url):
            request.headers["Cookie"] = cookies

    def process_response(self, request: Request, response: Response) -> Request | Response:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return response
        if is_posting(entry.url):
            return self._after_post(request, response, entry)
        if response.status in _REDIRECTS:
            request.meta[SWITCH] = self._switch(response, entry)
        return response

    async def _count_post(self, entry: Entry) -> None:
        """Count the post of *entry*, which is about to be sent; raises Refused if it must not be, and StillWanted."""
        if not entry.request:
            raise Refused("no-form", "a link to what is posted")
        site = registered_domain(entry.url)
        to_site, in_language = f"posts {site}", f"posts {site} {asked_language(entry.url)}"
        counting = Visits.from_crawler(self._crawler).count(to_site, in_language)
        counts = await unless_stopping(self._crawler, counting)
        if counts[in_language] > 1 or counts[to_site] > MAX_POSTS:
            raise Refused("posted-before", "a form of the site was posted for the language before")
        self._stats.inc_value("bilingual/variants/posts")

    def _after_post(self, request: Request, response: Response, entry: Entry) -> Request | Response:
        """The answer to a post leads on: to where it redirects, or back to the page of the form if it is a page."""
        switch, status = self._switch(response, entry, Posting.unpack(entry.request)), response.status
        if status in _AS_GET:
            request.meta[SWITCH] = switch
            return response
        if switch is None or not 200 <= status < 300:
            if status < 400:
                raise Refused("not-switched", "the form has not chosen a language", status=status)
            return response
        meta = {**request.meta, SWITCH: switch, "redirect_urls": [request.url], "redirect_reasons": [status]}
        return request.replace(url=entry.parent, method="GET", body=b"", meta=meta)

    def _switch(self, response: Response, entry: Entry, posting: Posting | None = None) -> Switch | None:
        set_cookies = [value.decode("latin-1") for value in response.headers.getlist("Set-Cookie")]
        return Visits.from_crawler(self._crawler).variants.switch(entry.url, set_cookies, posting)
