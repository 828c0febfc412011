"""Extension: a live line on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status
from scrapy import signals
from scrapy.exceptions import NotConfigured

from bilingual_crawler.signals import Fetch, url_fetched

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class ProgressExtension:
    """Pages, documents, pairs, queue and pages per second of the running crawl, in one line."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._stats = crawler.stats
        self._status = Status("starting", console=Console(stderr=True))
        self._pages = self._documents = 0
        self._began = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not sys.stderr.isatty():
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.url_fetched, signal=url_fetched)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._status.start()

    def spider_closed(self) -> None:
        self._status.stop()

    def url_fetched(self, fetch: Fetch) -> None:
        self._pages += 1
        self._documents += fetch.outcome == "document"
        queued = self._stats.get_value("bilingual/frontier/new", 0) - self._pages
        rate = self._pages / (time.monotonic() - self._began)
        self._status.update(
            f"{self._pages} pages, {self._documents} documents, {self._stats.get_value('bilingual/pairs/found', 0)} "
            f"pairs, {max(queued, 0)} queued, {rate:.1f} pages/s"
        )
