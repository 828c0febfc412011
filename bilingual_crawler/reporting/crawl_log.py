"""Extension: one line per URL that was asked for, in ``crawl.tsv``, and the counts of these lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from scrapy import signals

from bilingual_crawler.crawl.signals import Fetch, output_failed, url_fetched
from bilingual_crawler.records import CRAWL, TsvLog
from bilingual_crawler.reporting.ledger import Ledger

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager

    from bilingual_crawler.spiders.bilingual import BilingualSpider


class CrawlLogExtension:
    ledger: Ledger
    """Counts the lines of all runs that are in the file."""
    _signals: SignalManager

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        extension._signals = crawler.signals
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.url_fetched, signal=url_fetched)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        bilingual = cast("BilingualSpider", spider)
        self._log = TsvLog.of(bilingual.output_dir / CRAWL, Fetch)
        self.ledger = Ledger(bilingual.pair)
        self.ledger.read(bilingual.output_dir / CRAWL)

    def url_fetched(self, fetch: Fetch) -> None:
        try:
            self._log.write_record(fetch)
        except OSError as error:
            self._signals.send_catch_log(output_failed, error=error)
        else:
            self.ledger.note(fetch.time, str(fetch.status), fetch.url, fetch.language, fetch.outcome)

    def spider_closed(self, spider: Spider) -> None:
        self._log.close()
