"""Parse responses in helper processes with limits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.refused import Refused
from bilingual_crawler.sandbox import SandboxError, submit

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from bilingual_crawler.sandbox import Job

    Result = TypeVar("Result")

logger = logging.getLogger(__name__)


class Reader:
    """Has helper processes read responses. A response that breaks a limit is refused, counted, and logged once per
    kind.

    Stats: ``bilingual/unreadable/time|memory|crash``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats

    async def read(self, job: Job[Result], url: str) -> Result:
        """The result of *job* for the response from *url*; raises Refused."""
        try:
            return await asyncio.wrap_future(submit(job))
        except SandboxError as error:
            key = f"bilingual/unreadable/{error.kind}"
            first = not self._stats.get_value(key)
            self._stats.inc_value(key)
            logger.log(
                logging.WARNING if first else logging.DEBUG,
                f"{url} could not be read: {error}",
                extra={"spider": self._crawler.spider},
            )
            CrawlContext.of(self._crawler).traps.note_unreadable(url)
            raise Refused(f"unreadable-{error.kind}", str(error), status=200) from error
