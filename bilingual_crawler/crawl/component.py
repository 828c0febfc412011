"""The base of extensions, middlewares and pipelines: what all of them have, and handlers by the names of signals."""

from typing import Any, Self

import scrapy.signals
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.signals import engine_of
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.options import Options

SIGNALS = {name: one for name, one in (vars(scrapy.signals) | vars(signals)).items() if type(one) is object}


class CrawlComponent:
    """A part of a crawl. A method with the name of a signal is its handler, such as ``spider_opened``."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._options = Options.of(crawler.settings)
        if not self._is_wanted():
            raise NotConfigured
        self._context = CrawlContext.from_crawler(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        component, connect = cls(crawler), crawler.signals.connect
        for name in sorted(SIGNALS.keys() & set(dir(cls)) - {"spider_closed"}):
            connect(getattr(component, name), SIGNALS[name])
        if closed := getattr(component, "spider_closed", None):
            # Scrapy also closes a spider that it could not open
            connect(lambda: connect(closed, scrapy.signals.spider_closed), scrapy.signals.spider_opened, weak=False)
        return component

    def _is_wanted(self) -> bool:
        return True

    @property
    def _visits(self) -> Visits:
        return Visits.from_crawler(self._crawler)

    async def _download(self, url: str, beside: Request, **meta: Any) -> Response:
        """The answer at *url*, which waits with the request *beside* for the turn of their politeness slot."""
        if "download_slot" in beside.meta:
            meta["download_slot"] = beside.meta["download_slot"]
        meta["dont_redirect"] = True
        return await engine_of(self._crawler).download_async(Request(url, meta=meta, callback=NO_CALLBACK))
