"""Extension: budgets in bytes, for the crawl and for each site."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from bilingual_crawler.crawl.component import CrawlComponent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_TOTAL = ""


class ByteBudgetExtension(CrawlComponent):
    """Closes a politeness slot after ``BILINGUAL_MAX_BYTES_PER_SITE`` bytes, the crawl after ``BILINGUAL_MAX_BYTES``.

    Bodies count as they come over the wire, including aborted ones and robots.txt. The counts are kept beside the
    frontier, so a resumed crawl goes on counting, and workers that share a frontier share the budgets. Downloads in
    flight are finished. Stats: ``bilingual/budget/bytes`` (of all runs and workers), ``bilingual/budget/sites_spent``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._uncounted: Counter[str] = Counter()

    def _is_wanted(self) -> bool:
        return bool(self._options.max_bytes_per_site or self._options.max_bytes)

    def bytes_received(self, data: bytes, request: Request) -> None:
        for name in (_TOTAL, self._visits.slot(request.url)):
            self._uncounted[name] += len(data)

    def request_left_downloader(self, request: Request) -> None:
        slot = self._visits.slot(request.url)
        numbers = {f"bytes {name}": self._uncounted.pop(name, 0) for name in (_TOTAL, slot)}
        self._visits.frontier.add(numbers, partial(self._counted, slot))

    def _counted(self, slot: str, sums: Mapping[str, int]) -> None:
        in_all, of_slot = sums[f"bytes {_TOTAL}"], sums[f"bytes {slot}"]
        self._stats.set_value("bilingual/budget/bytes", in_all)
        per_site, budget = self._options.max_bytes_per_site, self._options.max_bytes
        if per_site and of_slot >= per_site and self._visits.frontier.close(slot):
            self._stats.inc_value("bilingual/budget/sites_spent")
            logger.info(f"{slot}: {of_slot} bytes downloaded, its budget is spent")
        engine = self._crawler.engine
        if budget and in_all >= budget and engine and engine.spider:
            deferred_from_coro(engine.close_spider_async(reason="byte_budget"))
