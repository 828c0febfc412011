"""Politeness slots: which URLs share delays and limits, the delays that robots.txt asks for, budgets in bytes."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.utils.defer import deferred_from_coro

from bilingual_crawler.crawl.scrapy_internals import keep_slow, slow_down
from bilingual_crawler.crawl.signals import ENTRY, engine_of
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.frontier.frontier import Frontier
    from bilingual_crawler.frontier.local import LocalFrontier
    from bilingual_crawler.options import Options

Value = TypeVar("Value")

logger = logging.getLogger(__name__)

MAX_CRAWL_DELAY = 300.0  # seconds; a longer one is cut to this, as Heritrix does


def slot_by(politeness: str) -> Callable[[str], str]:
    """The politeness slot of a URL: its host with ``BILINGUAL_POLITENESS=host``, else its registered domain.

    With ``address`` the domains that turn out to be on one address share its limits: :class:`CrawlDelays`.
    """

    def slot(url: str) -> str:
        host = urlsplit(url).hostname or ""
        return host if politeness == "host" else registered_domain(host)

    return slot


def by_site(slots: Mapping[str, Value], join: Callable[[Value, Value], Value]) -> dict[str, Value]:
    """The values of politeness *slots* by registered domain; *join* makes one of two."""
    sites: dict[str, Value] = {}
    for slot, value in slots.items():
        site = registered_domain(slot)
        sites[site] = join(value, sites[site]) if site in sites else value
    return sites


def robots_agent(settings: BaseSettings) -> str:
    """The name that the crawler obeys in robots.txt and ``X-Robots-Tag``."""
    return str(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"])


class CrawlDelays:
    """Gives a politeness slot the delay that a robots.txt asks of us, unless the operator's own is longer.

    Requests of such a slot go one at a time, at equal distances. With *frontier* (``BILINGUAL_POLITENESS=address``) the
    slots on one network address share its limits and delays. A site stays with the address of its first answer: those
    with several would go to and fro. Stats: ``bilingual/robots/crawl_delay`` (hosts).
    """

    def __init__(self, crawler: Crawler, slot_of: Callable[[str], str], frontier: LocalFrontier | None) -> None:
        self._crawler = crawler
        self._slot_of = slot_of
        self._frontier = frontier
        self._delays: dict[str, float] = {}
        self._user_agent = robots_agent(crawler.settings)
        crawler.signals.connect(self.robots_parsed, signal=signals.robots_parsed)
        # behind AutoThrottle, which was there before the scheduler was opened
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(self.response_received, signal=signals.response_received)

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        asked = robotparser.crawl_delay(self._user_agent)
        # nan is not greater than anything
        if asked is None or not asked > 0:
            return
        assert self._crawler.stats
        self._crawler.stats.inc_value("bilingual/robots/crawl_delay")
        slot = self._slot_of(request.url)
        delay = self._wait(slot, min(asked, MAX_CRAWL_DELAY))
        self._wait(request.meta.get("download_slot", slot), delay)
        logger.info(f"{slot}: robots.txt asks for {asked:g} s between requests, waiting {delay:g} s")

    def response_downloaded(self, request: Request) -> None:
        """AutoThrottle has chosen the next delay of the slot; it may not be shorter than the site asks."""
        name = request.meta.get("download_slot", "")
        if name in self._delays:
            keep_slow(engine_of(self._crawler), name, self._delays[name])

    def response_received(self, request: Request, response: Response) -> None:
        """Have the slot of *request* wait with all slots on its server from now on."""
        entry: Entry | None = request.meta.get(ENTRY)
        if self._frontier and entry and response.ip_address and self._frontier.server(entry.slot) == entry.slot:
            server = str(response.ip_address)
            self._frontier.share_server(entry.slot, server)
            if entry.slot in self._delays:
                self._wait(server, self._delays[entry.slot])

    def _wait(self, name: str, asked: float) -> float:
        delay = self._delays[name] = slow_down(engine_of(self._crawler), name, asked)
        return delay


_TOTAL = ""


class ByteBudgets:
    """Closes a politeness slot after ``BILINGUAL_MAX_BYTES_PER_SITE`` bytes, the crawl after ``BILINGUAL_MAX_BYTES``.

    Bodies count as they come over the wire, including aborted ones and robots.txt, over all runs and workers. Stats:
    ``bilingual/budget/bytes``, ``bilingual/budget/sites_spent``.
    """

    def __init__(self, crawler: Crawler, slot_of: Callable[[str], str], frontier: Frontier, options: Options) -> None:
        self._crawler = crawler
        self._slot_of = slot_of
        self._frontier = frontier
        self._in_all, self._per_site = options.max_bytes, options.max_bytes_per_site
        self._uncounted: Counter[str] = Counter()
        if self._in_all or self._per_site:
            crawler.signals.connect(self.bytes_received, signal=signals.bytes_received)
            crawler.signals.connect(self.request_left_downloader, signal=signals.request_left_downloader)

    def bytes_received(self, data: bytes, request: Request) -> None:
        for name in (_TOTAL, self._slot_of(request.url)):
            self._uncounted[name] += len(data)

    def request_left_downloader(self, request: Request) -> None:
        slot = self._slot_of(request.url)
        numbers = {f"bytes {name}": self._uncounted.pop(name, 0) for name in (_TOTAL, slot)}
        self._frontier.add(numbers, partial(self._counted, slot))

    def _counted(self, slot: str, sums: Mapping[str, int]) -> None:
        in_all, of_slot = sums[f"bytes {_TOTAL}"], sums[f"bytes {slot}"]
        stats, engine = self._crawler.stats, self._crawler.engine
        assert stats
        stats.set_value("bilingual/budget/bytes", in_all)
        if self._per_site and of_slot >= self._per_site and self._frontier.close(slot):
            stats.inc_value("bilingual/budget/sites_spent")
            logger.info(f"{slot}: {of_slot} bytes downloaded, its budget is spent")
        if self._in_all and in_all >= self._in_all and engine and engine.spider:
            deferred_from_coro(engine.close_spider_async(reason="byte_budget"))
