"""Extension: one line per URL that was asked for, in ``crawl.tsv``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from scrapy import signals

from bilingual_crawler.reporting.records import CRAWL, TsvLog
from bilingual_crawler.signals import Fetch, output_failed, url_fetched

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager

    from bilingual_crawler.spiders.bilingual import BilingualSpider


class CrawlLogExtension:
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
        self._log = TsvLog.of(cast("BilingualSpider", spider).output_dir / CRAWL, Fetch)

    def url_fetched(self, fetch: Fetch) -> None:
        try:
            self._log.write_record(fetch)
        except OSError as error:
            self._signals.send_catch_log(output_failed, error=error)

    def spider_closed(self, spider: Spider) -> None:
        self._log.close()
