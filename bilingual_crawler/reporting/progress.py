"""Extension: a live line, on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from bilingual_crawler.crawl.signals import phase_changed
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.reporting.crawl_log import CrawlLogExtension
from bilingual_crawler.reporting.sites import SitesExtension

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from bilingual_crawler.reporting.ledger import Ledger

SECONDS = 0.5
"""Seconds between updates of the line."""


class ProgressExtension:
    """Shows pages, documents and pairs of all runs, queued URLs, and pages per second of this run, in one line.

    When the crawl does not fetch any more, the line shows the current phase.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._status = Status("starting", console=Console(stderr=True))
        self._phase = ""
        self._showing = create_looping_call(self._show)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not sys.stderr.isatty():
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.phase_changed, signal=phase_changed)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._began = time.monotonic()
        self._fetched_before = self._ledger.fetched
        self._status.start()
        self._showing.start(SECONDS, now=False)

    def spider_closed(self) -> None:
        self._showing.stop()
        self._status.stop()

    def phase_changed(self, phase: str) -> None:
        self._phase = phase
        self._show()

    @property
    def _ledger(self) -> Ledger:
        log = self._crawler.get_extension(CrawlLogExtension)
        assert log
        return log.ledger

    def _show(self) -> None:
        assert self._crawler.stats
        ledger = self._ledger
        doing = f"{self._phase}: " if self._phase else ""
        found = self._crawler.get_extension(SitesExtension)
        sites = f"{found.funnel.bilingual} of {found.funnel.judged} sites bilingual, " if found else ""
        counts = (
            f"{doing}{sites}{ledger.fetched} pages, {ledger.documents.total()} documents, "
            f"{self._crawler.stats.get_value('bilingual/pairs/found', 0)} pairs, "
            f"{Visits.of(self._crawler).left} queued"
        )
        rate = (ledger.fetched - self._fetched_before) / (time.monotonic() - self._began)
        self._status.update(counts if self._phase else f"{counts}, {rate:.1f} pages/s")
