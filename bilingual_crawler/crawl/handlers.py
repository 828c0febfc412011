"""Download handlers: the web, with a limit on response headers, and archives in place of the web."""

import asyncio
import logging
import time
from typing import Any

from scrapy import Request, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, NotConfigured, StopDownload
from scrapy.http import Headers, Response

from bilingual_crawler.crawl.requests import answer, archived_answer
from bilingual_crawler.crawl.scrapy_internals import read_as_browsers
from bilingual_crawler.crawl.signals import ARCHIVED_DATE, MISSING_FLAG, REDIRECT_FLAG, StillWanted, stop_now
from bilingual_crawler.options import Options
from bilingual_crawler.storage.archive import Redirect, open_archive
from bilingual_crawler.storage.warc import ArchivedResponse, ArchiveError

_LOGGERS = ("core.downloader.tls", "core.downloader.handlers.http11", "downloadermiddlewares.httpcompression")
"""Those of Scrapy that warn of single downloads: a certificate of another host, an unknown coding, a large body."""


class OncePerKind(logging.Filter):
    """Leaves the first message of each line of code as it is; the level of those that follow is DEBUG."""

    def __init__(self) -> None:
        super().__init__()
        self._known: set[tuple[str, int]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.pathname, record.lineno
        if kind in self._known:
            record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        self._known.add(kind)
        return True


MAX_HEADERS = 256 << 10  # bytes; Scrapy limits the body only, so headers may go on until the time-out


class LimitedDownloadHandler(HTTP11DownloadHandler):
    """Cuts connections whose response has more than 256 kB of headers, and all connections at ``stop_now``."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        read_as_browsers(self, MAX_HEADERS)
        self._transfers: set[asyncio.Task[Response]] = set()
        self._quiet = OncePerKind()
        for name in _LOGGERS:
            logging.getLogger(f"scrapy.{name}").addFilter(self._quiet)
        crawler.signals.connect(self._cut, signal=stop_now)

    async def close(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(f"scrapy.{name}").removeFilter(self._quiet)
        await super().close()

    async def download_request(self, request: Request) -> Response:
        transfer = asyncio.ensure_future(super().download_request(request))
        self._transfers.add(transfer)
        try:
            return await transfer
        except asyncio.CancelledError:
            raise StillWanted("the crawl stops at once") from None
        finally:
            self._transfers.discard(transfer)

    def _cut(self) -> None:
        for transfer in self._transfers:
            transfer.cancel()


class ReplayDownloadHandler(BaseDownloadHandler):
    """Serves http and https from the archives in the setting ``BILINGUAL_REPLAY``.

    If the archive holds a URL in another form, the answer is a 301 to that form, else a 404. As in a real download,
    ``DOWNLOAD_MAXSIZE`` applies, and ``headers_received`` and ``bytes_received`` are sent. Stats:
    ``bilingual/replay/{responses,redirects,missing,cut_files}``, ``bilingual/archive/<why a record is left out>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self._archive = open_archive(Options.of(crawler.settings).replay)
        except ArchiveError as error:
            raise NotConfigured(f"BILINGUAL_REPLAY: {error}") from error
        self._stats = crawler.stats
        self._max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._stats.set_value("bilingual/replay/cut_files", len(self._archive.cut_files))
        for reason, count in self._archive.left_out.items():
            self._stats.set_value(f"bilingual/archive/{reason}", count)

    async def download_request(self, request: Request) -> Response:
        started = time.monotonic()
        found = self._archive.find(request.url)
        request.meta["download_latency"] = time.monotonic() - started
        if isinstance(found, ArchivedResponse):
            self._stats.inc_value("bilingual/replay/responses")
            return self._deliver(request, found)
        request.meta[ARCHIVED_DATE] = None
        if isinstance(found, Redirect):
            self._stats.inc_value("bilingual/replay/redirects")
            return answer(request, 301, Headers({"Location": found.url}), flags=[REDIRECT_FLAG])
        self._stats.inc_value("bilingual/replay/missing")
        return answer(request, 404, Headers(), flags=[MISSING_FLAG])

    def _deliver(self, request: Request, archived: ArchivedResponse) -> Response:
        size = len(archived.body)
        limit = request.meta.get("download_maxsize", self._max_size)
        if limit and size > limit:
            raise DownloadCancelledError(f"{request.url} has {size} bytes, more than the limit of {limit}")
        headers = Headers(archived.headers)
        stop = self._stopped_by(signals.headers_received, request, headers=headers, body_length=size)
        body = b"" if stop or request.method == "HEAD" else archived.body
        if body:
            stop = self._stopped_by(signals.bytes_received, request, data=body)
        response = archived_answer(request, archived, body, ["download_stopped"] if stop else [])
        if stop and stop.fail:
            stop.response = response
            raise stop
        return response

    def _stopped_by(self, signal: object, request: Request, **data: Any) -> StopDownload | None:
        results = self.crawler.signals.send_catch_log(signal, request=request, spider=self.crawler.spider, **data)
        causes = (getattr(result, "value", None) for _, result in results)
        return next((cause for cause in causes if isinstance(cause, StopDownload)), None)
