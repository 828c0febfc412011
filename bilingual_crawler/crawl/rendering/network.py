"""The network of a page in the browser: the crawler fetches its resources."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from cachetools import LRUCache
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from bilingual_crawler.crawl.signals import StillWanted
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Page, Route
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers

logger = logging.getLogger(__name__)

FETCHED = frozenset(("script", "xhr", "fetch"))
"""Playwright's resource types that build a page. No others are fetched: no images, frames or beacons."""
LOADS = 3
"""Number of times that a page may load itself again."""
REQUESTS = 100
"""Scripts and data that one page may request; some pages request data every second without end."""
CACHE_BYTES = 64 << 20
_NOT_FORWARDED = frozenset(("accept-encoding", "connection", "content-length", "cookie", "host", "user-agent"))
_NOT_RETURNED = frozenset(("content-encoding", "content-length", "transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Resource:
    """An answer for the browser."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, response: Response) -> Resource:
        return cls(response.status, _flat(response.headers), response.body)


class Resources:
    """Fetches scripts and data through the crawler's downloader.

    So they wait in a politeness slot, and robots.txt, the address guard, size limits, the archive and a replay apply to
    them as to pages. Scripts are kept in memory, because a site loads the same ones on every page. Stats:
    ``bilingual/render/resources|cached_resources|failed_resources``.
    """

    def __init__(self, crawler: Crawler, slot_of: Callable[[str], str]) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._slot_of = slot_of
        self._scripts: LRUCache[tuple[str | None, ...], Resource] = LRUCache(
            CACHE_BYTES, getsizeof=lambda script: len(script.body)
        )

    async def get(self, url: str, headers: dict[str, str], *, script: bool) -> Resource:
        """Fetch *url*; raises what Scrapy's downloader raises."""
        # a script may be in the language that is asked for
        key = (url, headers.get("accept-language"), headers.get("cookie"))
        if script and key in self._scripts:
            self._stats.inc_value("bilingual/render/cached_resources")
            return self._scripts[key]
        meta = {"download_slot": self._slot_of(url)}
        request = Request(url, headers=headers, callback=NO_CALLBACK, meta=meta)
        assert self._crawler.engine
        self._stats.inc_value("bilingual/render/resources")
        try:
            resource = Resource.of(await self._crawler.engine.download_async(request))
        except Exception:
            self._stats.inc_value("bilingual/render/failed_resources")
            raise
        if script and resource.status == 200 and len(resource.body) < CACHE_BYTES:
            self._scripts[key] = resource
        return resource


class PageNetwork:
    """Answers every request of one page: its HTML by the download, scripts and data by *resources*.

    Stylesheets are answered empty, other requests and everything but GET are refused. Requests to the site of the page
    have the ``Accept-Language`` and the cookies that *asked*, the request of the page, had.
    """

    def __init__(self, url: str, document: Resource, resources: Resources, asked: Headers) -> None:
        self._url = url
        self._asked = {
            name: value.decode("latin-1") for name in ("accept-language", "cookie") if (value := asked.get(name))
        }
        self._document = document
        self._resources = resources
        self._loads = 0
        self._requests = 0
        self.interrupted = False
        """The crawl stopped before all requests of the page were answered."""
        self.left_for: str | None = None
        """Where scripts have sent the visitor instead of showing the page."""

    async def attach(self, page: Page, request: Request) -> None:
        """Put this between *page* and the network."""
        for cookie in filter(None, self._asked.get("cookie", "").split("; ")):
            name, _, value = cookie.partition("=")
            await page.context.add_cookies([{"name": name, "value": value, "url": self._url}])
        await page.context.route("**/*", _refuse)
        await page.route("**/*", self._answer)

    async def _answer(self, route: Route) -> None:
        request = route.request
        kind = request.resource_type
        if request.is_navigation_request():
            await self._navigate(route)
        elif kind == "stylesheet":
            await route.fulfill(status=200, content_type="text/css", body="")
        elif (
            kind in FETCHED and request.method == "GET" and request.url.startswith("http") and self._requests < REQUESTS
        ):
            self._requests += 1
            await self._fetch(route, script=kind == "script")
        else:
            await route.abort()

    async def _navigate(self, route: Route) -> None:
        request = route.request
        if request.frame.parent_frame is not None:
            await route.abort()
        elif urldefrag(request.url).url != self._url:
            if self.left_for is None and request.url.startswith("http"):
                self.left_for = request.url
            await route.abort()
        elif self._loads < LOADS:
            self._loads += 1
            document = self._document
            await route.fulfill(status=document.status, headers=document.headers, body=document.body)
        else:
            await route.abort()

    async def _fetch(self, route: Route, *, script: bool) -> None:
        request = route.request
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_FORWARDED}
        headers.setdefault("referer", self._url)
        if registered_domain(request.url) == registered_domain(self._url):
            headers |= self._asked
        try:
            resource = await self._resources.get(request.url, headers, script=script)
        except Exception as error:
            self.interrupted |= isinstance(error, StillWanted)
            logger.debug(f"{self._url}: the page does not get {request.url}: {error}")
            await route.abort()
        else:
            await route.fulfill(status=resource.status, headers=resource.headers, body=resource.body)


async def _refuse(route: Route) -> None:
    await route.abort()


def _flat(headers: Headers) -> dict[str, str]:
    return {
        name.decode("latin-1"): b", ".join(values).decode("latin-1")
        for name, values in headers.items()
        if name.decode("latin-1").lower() not in _NOT_RETURNED
    }
