"""Download handler: Scrapy's for HTTP/1.1, with an end to the headers of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.interfaces import IAddress

MAX_HEADERS = 256 << 10
"""Bytes between request and body; Scrapy has a limit for the body only, and headers may go on until the time-out."""


class _Protocol(_LenientHTTP11ClientProtocol):
    _headers = 0

    def dataReceived(self, data: bytes) -> None:
        parser = self._parser
        if parser is None or not parser.line_mode:
            self._headers = 0
        else:
            self._headers += len(data)
            if self._headers > MAX_HEADERS:
                assert self.transport
                self.transport.abortConnection()
                return
        super().dataReceived(data)  # type: ignore[no-untyped-call]


class _Factory(_LenientHTTP11ClientFactory):
    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return _Protocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class LimitedDownloadHandler(HTTP11DownloadHandler):
    """Cuts the connection when a response has more than 256 kB of headers, which then counts as a failed download."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool._factory = _Factory
