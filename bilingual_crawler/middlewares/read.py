"""Parse responses in helper processes with limits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.refused import Refused
from bilingual_crawler.sandbox import ContentError, SandboxError, submit

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from bilingual_crawler.sandbox import Job

    Result = TypeVar("Result")

logger = logging.getLogger(__name__)


class Reader:
    """Has helper processes read responses. A response that breaks a limit, or has not what was looked for, is refused,
    counted, and logged once per kind. All sites of which a response has broken a limit share one helper, so that the
    others have one, too.

    Stats: ``bilingual/unreadable/time|memory|crash|damaged|encrypted|no-text``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self._traps = CrawlContext.of(crawler).traps
        self._of_suspects = asyncio.Lock()

    async def read(self, job: Job[Result], url: str) -> Result:
        """The result of *job* for the response from *url*; raises Refused."""
        try:
            async with self._of_suspects if self._traps.was_unreadable(url) else nullcontext():
                return await asyncio.wrap_future(submit(job))
        except ContentError as error:
            self._note(url, error)
            raise Refused(error.kind, str(error), status=200) from error
        except SandboxError as error:
            self._note(url, error)
            self._traps.note_unreadable(url)
            raise Refused(f"unreadable-{error.kind}", str(error), status=200) from error

    def _note(self, url: str, error: ContentError | SandboxError) -> None:
        key = f"bilingual/unreadable/{error.kind}"
        level = logging.DEBUG if self.stats.get_value(key) else logging.WARNING
        self.stats.inc_value(key)
        logger.log(level, f"{url} could not be read: {error}", extra={"spider": self.crawler.spider})
