"""Downloader middlewares: what a host declares for its pages, in robots.txt (RFC 9309) and tdmrep.json."""

import asyncio
import logging
import weakref
import zlib
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from cachetools import LRUCache, TTLCache
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, DownloadConnectionRefusedError, NotConfigured, StopDownload
from scrapy.http import Response
from scrapy.robotstxt import ProtegoRobotParser, RobotParser
from scrapy.utils.misc import build_from_crawler, load_object

from bilingual_crawler.crawl import signals as ours
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import DiscoveryContext
from bilingual_crawler.crawl.middlewares.backoff import HostUnavailable, asked_to_wait, origin
from bilingual_crawler.crawl.middlewares.language import ReadingComponent
from bilingual_crawler.crawl.politeness import robots_agent
from bilingual_crawler.crawl.requests import header, header_text
from bilingual_crawler.crawl.signals import BYTE_LIMIT, BYTES_RECEIVED, ENTRY, Refused, StillWanted, reason
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.pages.jobs import RobotsJob, TdmJob
from bilingual_crawler.pages.origin import TDM_FILE, TdmRule, declared_for
from bilingual_crawler.pages.sitemap import MAX_PREAMBLE, begins_sitemap
from bilingual_crawler.urls.canonical import canonicalise

File = TypeVar("File")

logger = logging.getLogger(__name__)

MAX_BYTES = 500 << 10  # of a robots.txt that are read (RFC 9309, 2.5); a tdmrep.json over it has no rules
MAX_REDIRECTS = 5
MAX_AGE = 24 * 3600.0  # seconds after which a file is fetched again (RFC 9309, 2.4)
TIMEOUT = 30.0  # seconds
_HOSTS = 10_000
_BYTES = 10 << 20  # of rules that are kept for all hosts: a kilobyte per host, or 20 files of the largest size
_PARSED_BYTES = 64 << 20  # of parsed rules that are kept: 500 files of a kilobyte, or one of the largest size
_PARSED_FACTOR = 110  # bytes that Protego takes for each byte of rules, if they are short and have wildcards
_PARSED_MINIMUM = 3000
_LARGE = 4 << 20  # bytes of parsed rules above which no others of that size are parsed at the same time
TDM_TRIES = 3  # pages of a host with which its tdmrep.json is asked for, as long as the host does not answer
_TDM_RULES = 200_000  # that are kept for all hosts: twenty per host, or 200 files with as many as are read
_UNREACHABLE = "robots-unreachable"
_OBEYED = "dont_obey_robotstxt"
SITEMAP = "/sitemap.xml"
_GZIP_OR_ZLIB = 47


class _HostFiles(ReadingComponent):
    """Fetches a file of each host, once at a time."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._timeout = min(TIMEOUT, crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))
        self._asking: dict[str, asyncio.Task[Any]] = {}

    async def _once(self, host: str, fetch: Callable[[], Coroutine[Any, Any, File]]) -> File:
        """The result of *fetch* for *host*, of a fetch that is under way already if there is one."""
        if host not in self._asking:
            self._asking[host] = asyncio.ensure_future(fetch())
            self._asking[host].add_done_callback(lambda _: self._asking.pop(host))
        file: File = await asyncio.shield(self._asking[host])
        return file

    async def _file(self, url: str, request: Request, **meta: Any) -> Response:
        """The answer for *url*, a file about the host of *request*, at the end of at most five redirects."""
        meta |= {"download_timeout": self._timeout, "download_fail_on_dataloss": False}
        for _ in range(MAX_REDIRECTS):
            response = await self._download(url, request, **meta)
            location = response.headers.get("Location") if 300 <= response.status < 400 else None
            target = canonicalise(header_text(location), url) if location else None
            if target is None:
                return response
            url = target
        return await self._download(url, request, **meta)


class RobotsMiddleware(_HostFiles):
    """Refuses URLs that robots.txt forbids. Replaces Scrapy's middleware, which allows all URLs after a failure.

    After no answer, 429 or 5xx no URL of the host is fetched, after another 4xx or too many redirects all are allowed.
    Signal: Scrapy's ``robots_parsed``. Stats: ``bilingual/robots/fetched|unreachable|forbidden``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._user_agent = robots_agent(crawler.settings)
        self._parser = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._rules: TTLCache[str, bytes] = TTLCache(
            _BYTES, MAX_AGE, getsizeof=lambda rules: _BYTES // _HOSTS + len(rules)
        )
        self._parsed: LRUCache[str, tuple[RobotParser, int]] = LRUCache(_PARSED_BYTES, getsizeof=lambda known: known[1])
        self._parsing_large = asyncio.Lock()

    def _is_wanted(self) -> bool:
        return self._crawler.settings.getbool("ROBOTSTXT_OBEY")

    async def process_request(self, request: Request) -> None:
        if request.meta.get(_OBEYED):
            return
        host = origin(request.url)
        rules = self._rules.get(host)
        parsing = self._once(host, lambda: self._fetch(host, request)) if rules is None else self._parse(host, rules)
        parser = await parsing
        if not parser.allowed(request.url, self._user_agent):
            self._stats.inc_value("bilingual/robots/forbidden")
            raise Refused("robots", "forbidden by robots.txt")

    async def _fetch(self, host: str, request: Request) -> RobotParser:
        url = f"{host}/robots.txt"
        self._stats.inc_value("bilingual/robots/fetched")
        try:
            response = await self._file(url, request, **_first(MAX_BYTES))
        except (Refused, StillWanted):
            raise
        except Exception as error:
            telling = isinstance(error, CannotResolveHostError | DownloadConnectionRefusedError)
            outcome = reason(error)[1] if telling else _UNREACHABLE
            raise self._unreachable(f"{url}: {error}", outcome) from error
        if "dataloss" in response.flags and not response.body:
            raise self._unreachable(f"{url}: no answer")
        if response.status == 429 or response.status >= 500:
            why = f"{url}: HTTP status {response.status}"
            raise self._unreachable(why, alive=True, asked=asked_to_wait(response))
        body = response.body[:MAX_BYTES] if 200 <= response.status < 300 else b""
        try:
            robots = await self._read(RobotsJob(body, url, self._user_agent), url)
        except Refused as error:
            raise self._unreachable(f"{url}: {error}", alive=True) from error
        # bytes that are no UTF-8 have become longer
        rules = self._rules[host] = robots.rules.encode()[:MAX_BYTES]
        self._parsed.pop(host, None)
        parser = await self._parse(host, rules)
        named = robots.sitemaps or await self._unnamed(f"{host}{SITEMAP}", request, parser)
        self._crawler.signals.send_catch_log(ours.sitemaps_named, urls=named)
        self._crawler.signals.send_catch_log(signals.robots_parsed, robotparser=parser, request=request)
        return parser

    def _unreachable(
        self, message: str, outcome: str = _UNREACHABLE, *, alive: bool = False, asked: float | None = None
    ) -> HostUnavailable:
        self._stats.inc_value("bilingual/robots/unreachable")
        return HostUnavailable(outcome, message, alive=alive, asked=asked)

    async def _unnamed(self, url: str, request: Request, parser: RobotParser) -> list[str]:
        """The sitemap at *url*, where generators write one that no robots.txt names, if there is one."""
        if not getattr(self._crawler.spider, "reads_sitemaps", False) or not parser.allowed(url, self._user_agent):
            return []
        try:
            response = await self._file(url, request, **_first(MAX_PREAMBLE))
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


def _first(size: int) -> dict[str, Any]:
    """Meta of a request for the first *size* bytes of a file, which asks no robots.txt."""
    return {BYTE_LIMIT: size, "download_maxsize": 0, _OBEYED: True}


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
        if header(headers, "Content-Encoding").strip().lower() in ("gzip", "x-gzip", "deflate"):
            with suppress(zlib.error):
                body = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, limit)
                del headers["Content-Encoding"]
        # of what is still compressed, as it was not asked for
        request.meta["download_maxsize"] = limit
        return response.replace(headers=headers, body=body[:limit])


class TdmMiddleware(_HostFiles):
    """Puts what the tdmrep.json of a host declares for a page into the meta of its request.

    The file is fetched once a day, like any page. One that is missing, too large, no JSON or forbidden declares
    nothing, and so does a host that does not answer three times. Stats: ``bilingual/tdm/fetched|rules``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(self._context, DiscoveryContext):
            raise NotConfigured
        self._rules: TTLCache[str, list[TdmRule]] = TTLCache(
            _TDM_RULES, MAX_AGE, getsizeof=lambda rules: _TDM_RULES // _HOSTS + len(rules)
        )
        self._failures: LRUCache[str, int] = LRUCache(_HOSTS)

    async def process_request(self, request: Request) -> None:
        request.meta.pop(ours.SITE_OPT_OUTS, None)
        entry: Entry | None = request.meta.get(ENTRY)
        # a sitemap that was redirected may be a page
        if entry is None or entry.request or (entry.kind is Kind.SITEMAP and not entry.redirects):
            return
        host = origin(request.url)
        rules = self._rules.get(host)
        if rules is None:
            rules = await self._once(host, lambda: self._fetch(host, request))
        request.meta[ours.SITE_OPT_OUTS] = declared_for(request.url, rules)

    async def _fetch(self, host: str, request: Request) -> list[TdmRule]:
        url = f"{host}{TDM_FILE}"
        self._stats.inc_value("bilingual/tdm/fetched")
        try:
            response = await self._file(url, request, download_maxsize=MAX_BYTES)
            answered = response.status != 429 and response.status < 500
            body = response.body if response.status == 200 else b""
            rules = await self._read(TdmJob(body, url), url) if 0 < len(body) <= MAX_BYTES else []
        except StillWanted:
            raise
        except Exception as error:
            # whatever is wrong with the file, the page is there
            logger.debug(f"{url}: {error}")
            answered, rules = False, []
        if not answered:
            self._failures[host] = self._failures.get(host, 0) + 1
        if answered or self._failures[host] >= TDM_TRIES:
            self._rules[host] = rules
        if rules:
            self._stats.inc_value("bilingual/tdm/rules", len(rules))
        return rules
