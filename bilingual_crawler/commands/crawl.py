"""``scrapy crawl``, with arguments checked before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand

from bilingual_crawler.spiders.arguments import CrawlArguments

if TYPE_CHECKING:
    import argparse


class Command(CrawlCommand):
    """Scrapy's command; wrong arguments of our spiders end in one line, a crawl that fetched nothing in exit code 1."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args != ["bilingual"]:
            super().run(args, opts)
            return
        assert self.crawler_process
        assert self.settings
        CrawlArguments.parse(self.settings, **opts.spargs)
        crawler = self._create_crawler("bilingual")
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed or not (
            crawler.stats and crawler.stats.get_value("bilingual/fetched")
        ):
            self.exitcode = 1
