"""Downloader middleware: a crawl that is told to stop does so soon, and loses nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from bilingual_crawler.frontier.backoff import REST, Rest
from bilingual_crawler.frontier.scheduler import ENTRY
from bilingual_crawler.middlewares.refused import StillWanted

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

CHECK_SECONDS = 0.5
GRACE = 5.0
"""Seconds after the end of the time budget that a download may still take."""


class StopMiddleware:
    """Puts back into the frontier what waits for its turn when the crawl stops, whatever the reason.

    Without it a stop waits for every delay of every site (``Crawl-delay`` may be minutes). What is being transferred
    is finished: within ``DOWNLOAD_TIMEOUT``, or at most five seconds after the time budget ``CLOSESPIDER_TIMEOUT``.
    Stats: ``bilingual/stop/put_back``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        budget = crawler.settings.getfloat("CLOSESPIDER_TIMEOUT")
        self._deadline = time.monotonic() + budget + GRACE if budget else None
        self._checking = create_looping_call(self._check)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        self._checking.start(CHECK_SECONDS, now=False)

    def spider_closed(self) -> None:
        if self._checking.running:
            self._checking.stop()

    def process_request(self, request: Request) -> Request | None:
        if ENTRY in request.meta and is_stopping(self._crawler):
            return put_back(request, self._stats)
        if self._deadline is not None:
            left = max(self._deadline - time.monotonic(), 1.0)
            request.meta["download_timeout"] = min(request.meta.get("download_timeout", self._timeout), left)
        return None

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if isinstance(exception, StillWanted) and ENTRY in request.meta:
            return put_back(request, self._stats)
        return None

    def _check(self) -> None:
        engine: Any = self._crawler.engine
        if engine and is_stopping(self._crawler):
            for slot in engine.downloader.slots.values():
                while slot.queue:
                    _, waiting = slot.queue.popleft()
                    waiting.errback(StillWanted("the crawl is stopping"))


def is_stopping(crawler: Crawler) -> bool:
    engine = crawler.engine
    assert engine
    return not engine.running or engine._slot is None or engine._slot.closing is not None


def put_back(request: Request, stats: StatsCollector) -> Request:
    """*request* for the frontier, as if it had not been asked for."""
    stats.inc_value("bilingual/stop/put_back")
    again = request.copy()
    again.meta[REST] = Rest(0.0, failed=False)
    return again
