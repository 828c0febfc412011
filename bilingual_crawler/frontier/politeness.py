"""Crawl-delay of robots.txt, kept by Scrapy's downloader slots."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

POLITENESS = ("domain", "host", "address")
"""What shares one delay and one limit of requests in flight."""
MAX_CRAWL_DELAY = 300.0
"""Seconds; a longer one is cut to this, as Heritrix does."""


class CrawlDelays:
    """Gives a politeness slot the delay that a robots.txt asks of us, and keeps AutoThrottle from shortening it.

    Stats: ``bilingual/robots/crawl_delay`` (hosts that ask for one).
    """

    def __init__(self, crawler: Crawler, slot_of: Callable[[str], str]) -> None:
        self._crawler = crawler
        self._slot_of = slot_of
        self._delays: dict[str, float] = {}
        settings = crawler.settings
        self._user_agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        crawler.signals.connect(self.robots_parsed, signal=signals.robots_parsed)

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        asked = robotparser.crawl_delay(self._user_agent)
        if not asked:
            return
        assert self._crawler.stats
        self._crawler.stats.inc_value("bilingual/robots/crawl_delay")
        slot = self._slot_of(request.url)
        delay = min(asked, MAX_CRAWL_DELAY)
        logger.info(f"{slot}: robots.txt asks for {asked:g} s between requests, waiting {delay:g} s")
        self._wait(slot, delay)
        self._wait(request.meta.get("download_slot", slot), delay)

    def share_server(self, slot: str, server: str) -> None:
        """Requests of *slot* wait with those of all slots on *server* from now on."""
        if slot in self._delays:
            self._wait(server, self._delays[slot])

    def _wait(self, slot: str, seconds: float) -> None:
        delay = max(seconds, self._delays.get(slot, 0.0))
        self._delays[slot] = delay
        assert self._crawler.engine
        downloader = self._crawler.engine.downloader
        downloader.per_slot_settings[slot] = {"concurrency": 1, "delay": delay, "jitter": 0}
        if slot in downloader.slots:
            downloader.slots[slot].delay = delay

    def meta(self, slot: str) -> dict[str, Any]:
        """What a request of *slot* needs in its meta."""
        return {"autothrottle_dont_adjust_delay": True} if slot in self._delays else {}
