"""Download handler: Scrapy's for HTTP/1.1, with a limit of headers, and a way to cut off all transfers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)

from bilingual_crawler.crawl.refused import StillWanted
from bilingual_crawler.crawl.signals import stop_now

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress

MAX_HEADERS = 256 << 10
"""Bytes between request and body. Scrapy limits the body only, so headers may go on until the time-out."""


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
    """Cuts the connection if a response has more than 256 kB of headers; the download then counts as failed.

    At ``stop_now`` all connections are cut; their URLs stay queued. Neither Scrapy nor Twisted has a limit or a public
    hook before the end of the headers, so this module, and no other, derives from their private protocol and factory.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool._factory = _Factory
        self._transfers: set[asyncio.Task[Response]] = set()
        crawler.signals.connect(self._cut, signal=stop_now)

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
