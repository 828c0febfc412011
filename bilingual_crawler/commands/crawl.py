"""``scrapy crawl``, with arguments checked before anything starts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.spiders.arguments import CrawlArguments

if TYPE_CHECKING:
    import argparse

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's command; wrong arguments of our spiders end in one line, a crawl that fetched nothing in exit code 1."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args != ["bilingual"]:
            super().run(args, opts)
            return
        assert self.crawler_process
        assert self.settings
        try:
            CrawlArguments.parse(self.settings, **opts.spargs)
        except UsageError as error:
            if self.settings["LOG_FILE"]:
                # a Scrapyd job has no terminal
                logger.error(error)
            raise
        crawler = self._create_crawler("bilingual")
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        assert crawler.stats
        fetched = crawler.stats.get_value("bilingual/fetched")
        # of several workers one may find nothing left to do
        spared = self.settings["BILINGUAL_FRONTIER"] and not crawler.stats.get_value("downloader/request_count")
        if self.crawler_process.bootstrap_failed or not (fetched or spared):
            self.exitcode = 1
