"""Every use of private or undocumented names of Scrapy and Twisted, each with its reason.

``tests/test_scrapy_internals.py`` fails if a release lacks one, and says what to do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares import cookies
from scrapy.statscollectors import MemoryStatsCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy import Request
    from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
    from scrapy.core.engine import ExecutionEngine
    from twisted.internet.interfaces import IAddress

    from bilingual_crawler.urls.hosts import Domain


_STATUS_LINE = re.compile(rb"(HTTP/\S*)\s+(\d{3})(.*)", re.DOTALL)
_SAY_NOTHING = ((b"transfer-encoding", b"identity"), (b"content-length", b""))
_HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Stats(MemoryStatsCollector):
    """Scrapy's, without its search for a deprecated argument at each of the dozens of uses a page."""

    __getattribute__ = object.__getattribute__


def is_closing(engine: ExecutionEngine) -> bool:
    """Whether the engine has begun to close the spider, which no signal says: ``spider_closed`` comes at the end."""
    slot = engine._slot
    return not engine.running or slot is None or slot.closing is not None


def ask_scheduler(engine: ExecutionEngine) -> None:
    """Have the engine ask the scheduler for a request now; left alone it does so every five seconds."""
    if engine._slot is not None:
        engine._slot.nextcall.schedule()


def being_scraped(engine: ExecutionEngine) -> Collection[Request]:
    """Requests whose responses spider and pipelines are not done with, which Scrapy's scraper alone knows."""
    slot = engine.scraper.slot
    return slot.active if slot else ()


def fail_waiting(engine: ExecutionEngine, make_error: Callable[[], Exception]) -> int:
    """Fail the requests that wait in the downloader, which cannot empty its queues; return the running transfers."""
    transfers = 0
    for slot in engine.downloader.slots.values():
        while slot.queue:
            _, waiting = slot.queue.popleft()
            waiting.errback(make_error())
        transfers += len(slot.transferring)
    return transfers


def slow_down(engine: ExecutionEngine, name: str, delay: float) -> float:
    """Have the downloader's slot *name* send one request at a time, at least *delay* seconds apart; return the seconds.

    ``DOWNLOAD_SLOTS`` is read at the start only, and slots come and go with their requests.
    """
    downloader = engine.downloader
    known = downloader.per_slot_settings.get(name, {})
    delay = max(delay, float(known.get("delay", downloader._delay)))
    downloader.per_slot_settings[name] = known | {"concurrency": 1, "delay": delay, "jitter": 0}
    if slot := downloader.slots.get(name):
        slot.concurrency, slot.jitter, slot.delay = 1, 0, max(delay, slot.delay)
    return delay


def keep_slow(engine: ExecutionEngine, name: str, delay: float) -> None:
    """Raise the delay of the downloader's slot *name* to *delay* seconds, which AutoThrottle may have shortened."""
    if slot := engine.downloader.slots.get(name):
        slot.delay = max(slot.delay, delay)


def read_as_browsers(handler: HTTP11DownloadHandler, limit: int) -> None:
    """Read the responses that curl and browsers read, but cut connections with more than *limit* bytes of headers.

    Neither Scrapy nor Twisted has a limit or a public hook before the end of the headers. Twisted refuses header lines
    over 16 kB, an empty first line, ``HTTP/2 200``, tabs and several blanks in the status line, blanks before a colon,
    names of headers that are none, ``Transfer-Encoding: identity``, an empty ``Content-Length``, and blanks and line
    feeds around the sizes of chunks.
    """
    # imported here, since the other functions do without this eighth of a second
    from scrapy.core.downloader.handlers import http11
    from twisted.web._newclient import STATUS
    from twisted.web.http import _ChunkedTransferDecoder

    class Chunks(_ChunkedTransferDecoder):
        def _dataReceived_CHUNK_LENGTH(self) -> bool:
            end = self._buffer.find(b"\n", 0, limit)
            if end >= 0:
                size = self._buffer[:end].partition(b";")[0].strip()
                self._buffer[: end + 1] = size + b"\r\n"
            return super()._dataReceived_CHUNK_LENGTH()

        def _dataReceived_CRLF(self) -> bool:
            self._complete_line_end()
            return super()._dataReceived_CRLF()

        def _dataReceived_TRAILER(self) -> bool:
            self._complete_line_end()
            return super()._dataReceived_TRAILER()

        def _complete_line_end(self) -> None:
            if self._buffer.startswith(b"\n"):
                self._buffer[:0] = b"\r"

    class Parser(http11._LenientHTTPClientParser):
        MAX_LENGTH = limit
        _transferDecoders = {b"chunked": Chunks}  # noqa: RUF012  Twisted's own

        def lineReceived(self, line: bytes) -> None:
            if self.state != STATUS or line.strip():
                super().lineReceived(line)

        def statusReceived(self, status: bytes) -> None:
            if line := _STATUS_LINE.fullmatch(status):
                # what comes by HTTP/1.1 is HTTP/1.1, whatever it is called
                version = b"HTTP/1.0" if line[1] == b"HTTP/1.0" else b"HTTP/1.1"
                status = b" ".join((version, line[2], line[3].strip()))
            super().statusReceived(status)  # type: ignore[no-untyped-call]

        def headerReceived(self, name: bytes, value: bytes) -> None:
            name = name.strip()
            if _HEADER_NAME.fullmatch(name) and (name.lower(), value.strip().lower()) not in _SAY_NOTHING:
                super().headerReceived(name, value)  # type: ignore[no-untyped-call]

    class Protocol(http11._LenientHTTP11ClientProtocol):
        _headers = 0
        _counted: object = None

        def request(self, request: Any) -> Any:
            response = super().request(request)
            assert self._parser
            self._parser.__class__ = Parser
            return response

        def dataReceived(self, data: bytes) -> None:
            parser = self._parser
            if parser is not self._counted:
                # another response on the same connection; the last one may have come in one piece
                self._counted, self._headers = parser, 0
            if parser is None or not parser.line_mode:
                self._headers = 0
            else:
                self._headers += len(data)
                if self._headers > limit:
                    assert self.transport
                    self.transport.abortConnection()
                    return
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    class Factory(http11._LenientHTTP11ClientFactory):
        def buildProtocol(self, addr: IAddress | None) -> Protocol:
            return Protocol(self._quiescentCallback)  # type: ignore[no-untyped-call]

    handler._pool._factory = Factory


def split_cookie_domains(split: Callable[[str], Domain]) -> None:
    """Find the public suffix of a cookie's domain with *split*; Scrapy's own would fetch the list in a crawl."""
    cookies._split_domain = split  # type: ignore[assignment]  # its `domain` is all that is read
