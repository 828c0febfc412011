"""Downloader middleware: a stopped crawl puts its waiting requests back and ends soon."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.scrapy_internals import fail_waiting, is_closing
from bilingual_crawler.crawl.signals import ENTRY, REST, StillWanted, engine_of, phase_changed, stop_now
from bilingual_crawler.frontier.backoff import Rest

logger = logging.getLogger(__name__)

T = TypeVar("T")

CHECK_SECONDS = 0.1
HURRY_SECONDS = 10.0  # seconds in which a crawl must end at once
GRACE = 5.0  # seconds after the end of the time budget that a download may still take


class StopMiddleware(CrawlComponent):
    """Puts waiting requests back into the frontier when the crawl stops, which else waits for every delay.

    Running transfers are finished within ``DOWNLOAD_TIMEOUT``, or five seconds after the time budget
    ``CLOSESPIDER_TIMEOUT``. At a second Ctrl-C the crawl ends at once. Stats: ``bilingual/stop/put_back``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        budget = crawler.settings.getfloat("CLOSESPIDER_TIMEOUT")
        self._deadline = time.monotonic() + budget + GRACE if budget else None
        self._checking = create_looping_call(self._check)
        self._hurrying = False
        self._left: int | None = None  # transfers in the last message; None while the crawl goes on

    def spider_opened(self) -> None:
        # the reactor must not be imported before Scrapy has chosen it
        from twisted.internet import reactor

        self._checking.start(CHECK_SECONDS, now=False)
        reactor.addSystemEventTrigger("before", "shutdown", self._reactor_stops)  # type: ignore[arg-type]

    def spider_closed(self, reason: str) -> None:
        if self._checking.running:
            self._checking.stop()
        if reason == "shutdown" and self._left is None:
            self._tell(0)

    def process_request(self, request: Request) -> Request | None:
        if ENTRY in request.meta and is_stopping(self._crawler):
            return put_back(self._crawler, request)
        if self._deadline is not None:
            left = max(self._deadline - time.monotonic(), 1.0)
            request.meta["download_timeout"] = min(request.meta.get("download_timeout", self._timeout), left)
        return None

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        is_wanted = isinstance(exception, StillWanted) and ENTRY in request.meta
        return put_back(self._crawler, request) if is_wanted else None

    def _check(self) -> None:
        if self._crawler.engine and is_stopping(self._crawler):
            if not self._hurrying:
                self._hurrying = True
                self._visits.frontier.hurry()
            engine = engine_of(self._crawler)
            left = fail_waiting(engine, lambda: StillWanted("the crawl is stopping"))
            if left or not engine.running:
                self._tell(left)

    def _tell(self, left: int) -> None:
        resumes = self._visits.is_durable
        if self._left is None:
            after = "The crawl can be resumed" if resumes else "Without JOBDIR the next crawl starts again"
            what = f"running transfers ({left}) are finished first, in {self._timeout:.0f} s at most"
            logger.info(f"Stopping: {what}; Ctrl-C again cuts them off. {after}")
        if left != self._left and (left or self._left is None):
            phase = f"stopping, transfers left: {left}" + ", the crawl can be resumed" * resumes
            self._crawler.signals.send_catch_log(phase_changed, phase=phase)
        self._left = left

    def _reactor_stops(self) -> Deferred[None] | None:
        """At a second signal while the crawl is open, the reactor waits for the end of the crawl and no longer."""
        if not self._checking.running:
            return None
        self._check()
        self._crawler.signals.send_catch_log(phase_changed, phase="stopping at once")
        self._crawler.signals.send_catch_log(stop_now)
        return deferred_from_coro(self._closed())

    async def _closed(self) -> None:
        deadline = time.monotonic() + HURRY_SECONDS
        while engine_of(self._crawler).spider is not None and time.monotonic() < deadline:
            await asyncio.sleep(0.05)


def is_stopping(crawler: Crawler) -> bool:
    return is_closing(engine_of(crawler))


def end_crawl(crawler: Crawler, reason: str, message: str) -> None:
    """Log the error *message*, and close the crawl for *reason*, unless it is stopping."""
    if crawler.engine and not is_closing(crawler.engine):
        logger.error(message)
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


async def unless_stopping(crawler: Crawler, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work*; raises StillWanted if the crawl stops before."""
    working = asyncio.create_task(work)
    while not working.done():
        if is_stopping(crawler) and not working.cancelling():
            working.cancel()
        await asyncio.wait((working,), timeout=CHECK_SECONDS)
    if working.cancelled():
        raise StillWanted("the crawl is stopping")
    return working.result()


def put_back(crawler: Crawler, request: Request) -> Request:
    """*request* on its way back to the frontier, as if it had not been sent."""
    assert crawler.stats
    crawler.stats.inc_value("bilingual/stop/put_back")
    return again(request, Rest(0.0, failed=False))


def again(request: Request, rest: Rest) -> Request:
    """*request* on its way back to the frontier, with a *rest* of its slot."""
    returning = request.copy()
    returning.meta[REST] = rest
    return returning
