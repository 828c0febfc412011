"""Downloader middleware: robots.txt by RFC 9309."""

from __future__ import annotations

import asyncio
import logging
import weakref
import zlib
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from cachetools import LRUCache, TTLCache
from scrapy import Request, signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    NotConfigured,
    StopDownload,
)
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.misc import build_from_crawler, load_object

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.backoff import HostUnavailable, asked_to_wait, origin
from bilingual_crawler.crawl.middlewares.language import Reader
from bilingual_crawler.crawl.politeness import robots_agent
from bilingual_crawler.crawl.requests import header_text
from bilingual_crawler.crawl.signals import BYTE_LIMIT, BYTES_RECEIVED, Refused, StillWanted, reason, sitemaps_named
from bilingual_crawler.pages.jobs import RobotsJob
from bilingual_crawler.pages.sitemap import MAX_PREAMBLE, begins_sitemap
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

File = TypeVar("File")

logger = logging.getLogger(__name__)

MAX_BYTES = 500 << 10
"""Bytes of a robots.txt that are read (RFC 9309, 2.5)."""
MAX_REDIRECTS = 5
MAX_AGE = 24 * 3600.0
"""Seconds after which it is fetched again (RFC 9309, 2.4)."""
TIMEOUT = 30.0
"""Seconds."""
_HOSTS = 10_000
_BYTES = 10 << 20
"""Bytes of rules that are kept for all hosts: a kilobyte per host, or 20 files of the largest size."""
_PARSED_BYTES = 64 << 20
"""Bytes of parsed rules that are kept: 500 files of a kilobyte, or one of the largest size."""
_PARSED_FACTOR = 110
"""Bytes that Protego takes for each byte of rules, if they are as short as can be and have wildcards."""
_PARSED_MINIMUM = 3000
_LARGE = 4 << 20
"""Bytes of parsed rules above which no others of that size are parsed at the same time."""
_OBEYED = "dont_obey_robotstxt"
SITEMAP = "/sitemap.xml"
_GZIP_OR_ZLIB = 47


class RobotsMiddleware(CrawlComponent):
    """Refuses URLs that robots.txt forbids. Replaces Scrapy's middleware, which allows all URLs after a failure.

    After no answer, 429 or 5xx no URL of the host is fetched, and robots.txt is fetched again after a pause. After
    another 4xx or too many redirects all URLs are allowed. A host's robots.txt is fetched once a day. Signal: Scrapy's
    ``robots_parsed``. Stats: ``bilingual/robots/fetched|unreachable|forbidden``.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        if not settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        super().__init__(crawler)
        self._reader = Reader(crawler)
        self._user_agent = robots_agent(settings)
        self._parser = load_object(settings["ROBOTSTXT_PARSER"])
        self._timeout = min(TIMEOUT, settings.getfloat("DOWNLOAD_TIMEOUT"))
        self._rules: TTLCache[str, bytes] = TTLCache(
            _BYTES, MAX_AGE, getsizeof=lambda rules: _BYTES // _HOSTS + len(rules)
        )
        self._parsed: LRUCache[str, tuple[RobotParser, int]] = LRUCache(_PARSED_BYTES, getsizeof=lambda known: known[1])
        self._parsing_large = asyncio.Lock()
        self._asking: dict[str, asyncio.Task[RobotParser]] = {}

    async def process_request(self, request: Request) -> None:
        if request.meta.get(_OBEYED):
            return
        host = origin(request.url)
        rules = self._rules.get(host)
        if rules is None:
            parser = await fetch_once(self._asking, host, lambda: self._fetch(host, request))
        else:
            parser = await self._parse(host, rules)
        if not parser.allowed(request.url, self._user_agent):
            self._stats.inc_value("bilingual/robots/forbidden")
            raise Refused("robots", "forbidden by robots.txt")

    async def _fetch(self, host: str, request: Request) -> RobotParser:
        url = f"{host}/robots.txt"
        self._stats.inc_value("bilingual/robots/fetched")
        try:
            response = await download(self._crawler, url, request, self._timeout, read_bytes=MAX_BYTES)
        except (Refused, StillWanted):
            raise
        except Exception as error:
            self._stats.inc_value("bilingual/robots/unreachable")
            telling = isinstance(error, CannotResolveHostError | DownloadConnectionRefusedError)
            outcome = reason(error)[1] if telling else "robots-unreachable"
            raise HostUnavailable(outcome, f"{url}: {error}", alive=False) from error
        if "dataloss" in response.flags and not response.body:
            self._stats.inc_value("bilingual/robots/unreachable")
            raise HostUnavailable("robots-unreachable", f"{url}: no answer", alive=False)
        if response.status == 429 or response.status >= 500:
            self._stats.inc_value("bilingual/robots/unreachable")
            message = f"{url}: HTTP status {response.status}"
            raise HostUnavailable("robots-unreachable", message, alive=True, asked=asked_to_wait(response))
        body = response.body[:MAX_BYTES] if 200 <= response.status < 300 else b""
        try:
            robots = await self._reader.read(RobotsJob(body, url, self._user_agent), url)
        except Refused as error:
            self._stats.inc_value("bilingual/robots/unreachable")
            raise HostUnavailable("robots-unreachable", f"{url}: {error}", alive=True) from error
        # bytes that are no UTF-8 have become longer
        rules = self._rules[host] = robots.rules.encode()[:MAX_BYTES]
        self._parsed.pop(host, None)
        parser = await self._parse(host, rules)
        named = robots.sitemaps or await self._unnamed(f"{host}{SITEMAP}", request, parser)
        self._crawler.signals.send_catch_log(sitemaps_named, urls=named)
        self._crawler.signals.send_catch_log(signals.robots_parsed, robotparser=parser, request=request)
        return parser

    async def _unnamed(self, url: str, request: Request, parser: RobotParser) -> list[str]:
        """The sitemap at *url*, where generators write one that no robots.txt names, if there is one."""
        if not getattr(self._crawler.spider, "reads_sitemaps", False) or not parser.allowed(url, self._user_agent):
            return []
        try:
            response = await download(self._crawler, url, request, self._timeout, read_bytes=MAX_PREAMBLE)
        except StillWanted:
            raise
        except Exception as error:
            logger.debug(f"{url}: {error}")
            return []
        return [url] if response.status == 200 and begins_sitemap(response.body) else []

    async def _parse(self, host: str, rules: bytes) -> RobotParser:
        """The parser of the *rules* of *host*. The largest take seconds, so threads make them, and one at a time."""
        size = _PARSED_MINIMUM + _PARSED_FACTOR * len(rules)
        async with self._parsing_large if size > _LARGE else nullcontext():
            if host not in self._parsed:
                parser: RobotParser = await asyncio.to_thread(build_from_crawler, self._parser, self._crawler, rules)
                if isinstance(parser, ProtegoRobotParser):
                    # its rules refer to each other, and the garbage collector frees such only now and then
                    weakref.finalize(parser, vars(parser.rp).clear).atexit = False
                self._parsed[host] = parser, size
            return self._parsed[host][0]


class FirstBytesMiddleware(CrawlComponent):
    """Ends downloads with a limit of bytes to read, of which Scrapy would make errors; decompresses no more of them."""

    def process_request(self, request: Request) -> None:
        if BYTE_LIMIT in request.meta:
            request.meta[BYTES_RECEIVED] = 0
            request.headers["Accept-Encoding"] = b"gzip"

    def bytes_received(self, data: bytes, request: Request) -> None:
        if BYTE_LIMIT in request.meta:
            request.meta[BYTES_RECEIVED] += len(data)
            if request.meta[BYTES_RECEIVED] >= request.meta[BYTE_LIMIT]:
                raise StopDownload(fail=False)

    def process_response(self, request: Request, response: Response) -> Response:
        limit = request.meta.get(BYTE_LIMIT)
        if limit is None:
            return response
        headers, body = response.headers.copy(), response.body
        if (headers.get("Content-Encoding") or b"").strip().lower() in (b"gzip", b"x-gzip", b"deflate"):
            try:
                body = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, limit)
                del headers["Content-Encoding"]
            except zlib.error:
                pass
        # of what is still compressed, as it was not asked for
        request.meta["download_maxsize"] = limit
        return response.replace(headers=headers, body=body[:limit])


async def fetch_once(
    asking: dict[str, asyncio.Task[File]], host: str, fetch: Callable[[], Coroutine[Any, Any, File]]
) -> File:
    """The result of *fetch* for *host*, of a fetch that is in *asking* already if there is one."""
    if host not in asking:
        asking[host] = asyncio.ensure_future(fetch())
        asking[host].add_done_callback(lambda _: asking.pop(host))
    return await asyncio.shield(asking[host])


async def download(
    crawler: Crawler,
    url: str,
    request: Request,
    timeout: float,
    *,
    obeyed: bool = True,
    max_bytes: int | None = None,
    read_bytes: int | None = None,
) -> Response:
    """Return the answer for *url*, a file about the host of *request*, at the end of at most five redirects.

    *timeout* in seconds. robots.txt is not asked if it is *obeyed* already. A longer body than *max_bytes* is an error.
    With *read_bytes* the download ends at this length, and its body has at most as many bytes.
    """
    assert crawler.engine
    meta: dict[str, Any] = {_OBEYED: obeyed, "dont_redirect": True, "download_timeout": timeout}
    meta["download_fail_on_dataloss"] = False
    if max_bytes is not None:
        meta["download_maxsize"] = max_bytes
    if read_bytes is not None:
        meta |= {BYTE_LIMIT: read_bytes, "download_maxsize": 0}
    if "download_slot" in request.meta:
        meta["download_slot"] = request.meta["download_slot"]
    redirects = 0
    while True:
        response = await crawler.engine.download_async(Request(url, meta=dict(meta), callback=NO_CALLBACK))
        location = response.headers.get("Location") if 300 <= response.status < 400 else None
        target = canonicalise(header_text(location), url) if location else None
        if target is None or redirects == MAX_REDIRECTS:
            return response
        url = target
        redirects += 1
