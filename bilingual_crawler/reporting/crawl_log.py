"""Extension: one line in ``crawl.tsv`` for each address that was tried, and the counts of these lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.signals import Fetch, output_failed, url_fetched
from bilingual_crawler.records import CRAWL, TsvLog
from bilingual_crawler.reporting.ledger import Ledger

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class CrawlLogExtension:
    ledger: Ledger
    """Counts of the lines of all runs."""

    def __init__(self, crawler: Crawler) -> None:
        self._signals = crawler.signals
        self._context = CrawlContext.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.url_fetched, signal=url_fetched)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        path = self._context.output_dir / CRAWL
        self._log = TsvLog.of(path, Fetch)
        self.ledger = Ledger(self._context.pairs)
        self.ledger.read(path)

    def url_fetched(self, fetch: Fetch) -> None:
        try:
            self._log.write_record(fetch)
        except OSError as error:
            self._signals.send_catch_log(output_failed, error=error)
        else:
            self.ledger.note(fetch.time, str(fetch.status), fetch.url, fetch.language, fetch.outcome)

    def spider_closed(self) -> None:
        self._log.close()
