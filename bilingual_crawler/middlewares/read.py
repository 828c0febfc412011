"""Parse responses in helper processes with limits."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.refused import Refused, StillWanted
from bilingual_crawler.frontier.backoff import own_shortage
from bilingual_crawler.middlewares.backoff import note_shortage
from bilingual_crawler.middlewares.stop import is_stopping
from bilingual_crawler.sandbox import ContentError, SandboxError, submit

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from bilingual_crawler.sandbox import Job

    Result = TypeVar("Result")

logger = logging.getLogger(__name__)

_PAUSE = 1.0
"""Seconds until a helper process is started again."""
REST = 3.0
"""Pause after a response that has broken a limit, in times of what it took."""
MAX_REST = 10.0
"""Seconds of the longest pause."""


class Reader:
    """Has helper processes read responses. A response that breaks a limit, or has not what was looked for, is refused,
    counted, and logged once per kind. All sites of which a response has broken a limit share one helper, which rests
    after each further one, so that the others have helpers and processors. Waits while this machine cannot start a
    helper process.

    Stats: ``bilingual/unreadable/time|memory|crash|damaged|encrypted|no-text``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self._traps = CrawlContext.of(crawler).traps
        self._of_suspects = asyncio.Lock()

    async def read(self, job: Job[Result], url: str) -> Result:
        """The result of *job* for the response from *url*; raises Refused, and StillWanted if the crawl stops first."""
        while True:
            try:
                return await self._read(job, url)
            except OSError as error:
                # a helper process cannot be started
                shortage = own_shortage(error)
                if shortage is None:
                    raise
                note_shortage(self.crawler, shortage)
                if is_stopping(self.crawler):
                    raise StillWanted("the crawl is stopping") from error
            await asyncio.sleep(_PAUSE)

    async def _read(self, job: Job[Result], url: str) -> Result:
        try:
            if self._traps.was_unreadable(url):
                return await self._read_of_suspect(job)
            return await asyncio.wrap_future(submit(job))
        except ContentError as error:
            self._note(url, error)
            raise Refused(error.kind, str(error), status=200) from error
        except SandboxError as error:
            self._note(url, error)
            self._traps.note_unreadable(url)
            raise Refused(f"unreadable-{error.kind}", str(error), status=200) from error

    async def _read_of_suspect(self, job: Job[Result]) -> Result:
        async with self._of_suspects:
            begun = perf_counter()
            try:
                return await asyncio.wrap_future(submit(job))
            except SandboxError:
                await asyncio.sleep(min(MAX_REST, REST * (perf_counter() - begun)))
                raise

    def _note(self, url: str, error: ContentError | SandboxError) -> None:
        key = f"bilingual/unreadable/{error.kind}"
        level = logging.DEBUG if self.stats.get_value(key) else logging.WARNING
        self.stats.inc_value(key)
        logger.log(level, f"{url} could not be read: {error}", extra={"spider": self.crawler.spider})
