"""Downloader middlewares of archives: one writes each exchange, others answer from Common Crawl or an earlier crawl."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import scrapy
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.utils.defer import deferred_from_coro

from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import DiscoveryContext
from bilingual_crawler.crawl.requests import archived_answer
from bilingual_crawler.crawl.signals import ARCHIVED_DATE, ENTRY, MISSING_FLAG, NOT_MODIFIED, WARC_LOCATION, engine_of
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.warc import ArchivedResponse
from bilingual_crawler.storage.writer import Exchange, WarcLocation, WarcWriter
from bilingual_crawler.urls.canonical import asked_language
from bilingual_crawler.urls.hosts import host_of

logger = logging.getLogger(__name__)

_NOT_FETCHED = frozenset(("cached", MISSING_FLAG))
_UNSENT = frozenset((b"proxy-authorization",))
_TRUNCATIONS = {"dataloss": "disconnect", "download_stopped": "unspecified"}


class WarcMiddleware(CrawlComponent):
    """Writes all exchanges to ``crawl-*.warc.gz`` in the output folder, in a thread.

    Its place is 650, between cookies and redirects, so it sees redirects, errors, ``robots.txt`` and bodies as sent.
    What the network did not send is left out, or keeps its date. If writing fails (disk full), the crawl is closed.
    Stats: ``bilingual/warc/{exchanges,bytes,files,repaired_bytes}``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._writer: WarcWriter | None = None
        self._failed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="warc")

    def _is_wanted(self) -> bool:
        return self._options.warc

    def spider_opened(self) -> None:
        settings = self._crawler.settings
        info = {
            "software": f"bilingual-crawler, Scrapy {scrapy.__version__}",
            "http-header-user-agent": str(settings["USER_AGENT"]),
            "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        }
        try:
            self._writer = WarcWriter(self._context.output_dir, info=info)
        except OSError as error:
            self._give_up(error)
        else:
            self._stats.set_value("bilingual/warc/repaired_bytes", self._writer.bytes_repaired)

    async def process_response(self, request: Request, response: Response) -> Response:
        request.meta.pop(WARC_LOCATION, None)
        writer = self._writer
        if writer is None or not _NOT_FETCHED.isdisjoint(response.flags):
            return response
        exchange = _exchange(request, response)
        write = partial(writer.write_exchange, exchange)
        if request.meta.get(NOT_MODIFIED):
            write = partial(writer.write_unchanged, exchange, datetime.now(UTC))
        if await self._write(request, write):
            self._stats.inc_value("bilingual/warc/exchanges")
            self._stats.set_value("bilingual/warc/bytes", writer.bytes_written)
            self._stats.set_value("bilingual/warc/files", writer.files_written)
        return response

    async def _write(self, request: Request, write: Callable[[], WarcLocation]) -> bool:
        """Have the thread *write* what *request* has brought; return whether that was possible."""
        try:
            request.meta[WARC_LOCATION] = await asyncio.get_running_loop().run_in_executor(self._thread, write)
        except OSError as error:
            self._give_up(error)
            return False
        return True

    async def page_rendered(self, request: Request, response: Response) -> None:
        original = request.meta.get(WARC_LOCATION)
        if self._writer is None or original is None:
            return
        page = response.url, response.body, datetime.now(UTC), original.record, asked_language(request.url)
        await self._write(request, partial(self._writer.write_conversion, *page))

    def spider_closed(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._thread.shutdown()
            writer.close()

    def _give_up(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            logger.error(f"WARC cannot be written, closing the crawl: {error}")
            self._crawler.signals.send_catch_log(signals.output_failed, error=error)
            self.spider_closed()
            deferred_from_coro(engine_of(self._crawler).close_spider_async(reason="warc_error"))


def _exchange(request: Request, response: Response) -> Exchange:
    sent = ((name, value) for name, value in _pairs(request.headers) if name.lower() not in _UNSENT)
    protocol = response.protocol or ""
    archived = request.meta.get(ARCHIVED_DATE)
    truncated = next((reason for flag, reason in _TRUNCATIONS.items() if flag in response.flags), None)
    return Exchange(
        url=response.url,
        method=request.method,
        request_headers=sent,
        status=response.status,
        headers=_pairs(response.headers),
        body=response.body,
        fetched=datetime.fromisoformat(archived) if archived else datetime.now(UTC),
        request_body=request.body,
        ip=str(response.ip_address) if response.ip_address else None,
        protocol=protocol if protocol.startswith("HTTP/1") else "HTTP/1.1",
        language=asked_language(request.url),
        truncated=truncated,
    )


def _pairs(headers: Headers) -> Iterator[tuple[bytes, bytes]]:
    return ((name, value) for name, values in headers.items() for value in values)


class ArchivedPagesMiddleware(CrawlComponent):
    """Serves archived pages, else those of the site. Stats: ``bilingual/archived/pages|missing``."""

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


class KnownPagesMiddleware(CrawlComponent):
    """Asks for pages and sitemaps in the archives of ``BILINGUAL_KNOWN`` on the condition that they have changed.

    At the answer 304 the archived response takes its place. At 660 :class:`WarcMiddleware` sees both. Stats:
    ``bilingual/known/unchanged|changed``, ``bilingual/archive/<why a record is left out>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(self._context, DiscoveryContext):
            raise NotConfigured
        self._archive = open_archive(self._options.known)
        signals.add_counts(crawler, "bilingual/archive/", self._archive.left_out)

    def _is_wanted(self) -> bool:
        return bool(self._options.known)

    def process_request(self, request: Request) -> None:
        request.meta.pop(NOT_MODIFIED, None)
        if known := self._known(request):
            for validator, condition in _CONDITIONS.items():
                if values := known.headers.get(validator):
                    request.headers[condition] = values[0]

    def process_response(self, request: Request, response: Response) -> Response:
        if not any(condition in request.headers for condition in _CONDITIONS.values()):
            return response
        if response.status == 200:
            self._stats.inc_value("bilingual/known/changed")
        known = self._known(request) if response.status == 304 else None
        if known is None:
            return response
        self._stats.inc_value("bilingual/known/unchanged")
        request.meta[NOT_MODIFIED] = True
        return archived_answer(request, known, known.body, [])

    def _known(self, request: Request) -> ArchivedResponse | None:
        found = self._archive.find(request.url) if ENTRY in request.meta and request.method == "GET" else None
        if isinstance(found, ArchivedResponse) and found.status == 200 and not found.truncated:
            return found
        return None
