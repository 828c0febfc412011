"""Downloader middleware: a URL that was in flight at two deaths of the process is refused."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.meta import ENTRY
from bilingual_crawler.crawl.refused import Refused
from bilingual_crawler.frontier.entry import POISON, SUSPECT

if TYPE_CHECKING:
    from scrapy import Request

    from bilingual_crawler.frontier.entry import Entry

logger = logging.getLogger(__name__)


class PoisonMiddleware:
    """Logs each suspect, so that the log of a process that dies ends with the culprit. Refuses poisonous URLs.

    Stats: ``bilingual/dropped/poison``.
    """

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        if entry.priority == POISON:
            logger.warning(f"{entry.url}: not fetched again, because the crawl died twice while it was in flight")
            raise Refused("poison", "the crawl died twice while it was in flight")
        if entry.priority == SUSPECT:
            logger.info(f"{entry.url}: the crawl died while it was in flight; it is fetched again, alone")
