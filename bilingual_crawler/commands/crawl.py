"""``scrapy crawl``, with arguments checked before anything starts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, cast

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.frontier.store import StoreError
from bilingual_crawler.options import Options
from bilingual_crawler.spiders.arguments import CrawlArguments
from bilingual_crawler.spiders.seeds import any_page, named, without_page

if TYPE_CHECKING:
    import argparse

    from bilingual_crawler.spiders.bilingual import BilingualSpider

logger = logging.getLogger(__name__)


class Command(CrawlCommand):
    """Scrapy's command; wrong arguments of our spiders end in one line, a crawl without any page in exit code 1."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args != ["bilingual"]:
            super().run(args, opts)
            return
        assert self.settings
        try:
            CrawlArguments.parse(self.settings, **opts.spargs)
            self._crawl(opts)
        except (UsageError, StoreError) as error:
            if self.settings["LOG_FILE"]:
                # a Scrapyd job has no terminal
                logger.error(error)
            raise UsageError(str(error), print_help=False) from error

    def _crawl(self, opts: argparse.Namespace) -> None:
        assert self.crawler_process
        assert self.settings
        crawler = self._create_crawler("bilingual")
        crawling = self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        if isinstance(crawling, asyncio.Task) and crawling.done() and not crawling.cancelled():
            # raises what kept the crawl from starting
            crawling.result()
        assert crawler.stats
        spider = cast("BilingualSpider", crawler.spider)
        fruitless = without_page(spider.seeds, spider.output_dir)
        if fruitless:
            logger.warning(f"{len(fruitless)} of {len(spider.seeds)} seeds gave no page: {named(fruitless)}")
        # of several workers one may find nothing left to do
        spared = Options.of(self.settings).frontier and not crawler.stats.get_value("downloader/request_count")
        if self.crawler_process.bootstrap_failed or not (spared or any_page(spider.output_dir)):
            self.exitcode = 1
