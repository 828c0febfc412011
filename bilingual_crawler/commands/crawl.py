"""``scrapy crawl``, with arguments checked before anything starts."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import textwrap

from scrapy.commands import ScrapyHelpFormatter
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError
from scrapy.utils.project import inside_project

from bilingual_crawler.commands import PROJECT_SETTINGS
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.frontier.store import StoreError
from bilingual_crawler.options import RENDER_MODES, Options
from bilingual_crawler.policies import POLICIES
from bilingual_crawler.spiders.arguments import parse_arguments
from bilingual_crawler.spiders.seeds import any_page, named, without_page

logger = logging.getLogger(__name__)

SPIDER_ARGUMENTS = {
    "pair": "two languages, as codes or English names: eng-mlt, en-mt, English-Maltese",
    "seeds": "addresses separated by commas, or a file with one on each line",
    "policy": f"how links get their priority: {', '.join(POLICIES)} (BILINGUAL_POLICY)",
    "scope": "site: the registered domains of the seeds; host: their hosts; web: everything (site)",
    "max_pages": "budget of pages; 0 is no limit (0)",
    "max_pages_per_site": "budget of pages of each site; 0 is no limit (0)",
    "render": f"when pages go through Chromium: {', '.join(RENDER_MODES)} (BILINGUAL_RENDER)",
}
"""Name and help of each argument, with its default in brackets."""


class Command(CrawlCommand):
    """Scrapy's command. Wrong arguments of our spider end with one line, a crawl without a page with exit code 1."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        assert self.settings
        if not inside_project():
            self.settings.setdict(PROJECT_SETTINGS, priority="command")
        super().add_options(parser)
        if self._has_our_spider():
            parser.usage = "scrapy crawl bilingual -a pair=eng-mlt -a seeds=URL [-a NAME=VALUE …] [options]"
            parser.formatter_class = _LinesAsTheyAre
            parser.add_argument_group("Arguments of the spider", _spider_arguments())

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args != ["bilingual"] or not self._has_our_spider():
            super().run(args, opts)
            return
        assert self.settings
        try:
            parse_arguments(self.settings, **opts.spargs)
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
            # raises the error that kept the crawl from starting
            crawling.result()
        assert crawler.stats
        context = CrawlContext.of(crawler)
        fruitless = without_page(context.seeds, context.output_dir)
        if fruitless:
            logger.warning(f"{len(fruitless)} of {len(context.seeds)} seeds gave no page: {named(fruitless)}")
        # one of several workers may find no URL left to fetch
        spared = Options.of(self.settings).frontier and not crawler.stats.get_value("downloader/request_count")
        if self.crawler_process.bootstrap_failed or not (spared or any_page(context.output_dir)):
            self.exitcode = 1

    def _has_our_spider(self) -> bool:
        """Whether this is our project: the command replaces Scrapy's in all projects of the environment."""
        assert self.settings
        return "bilingual_crawler.spiders" in self.settings.getlist("SPIDER_MODULES")


class _LinesAsTheyAre(argparse.RawDescriptionHelpFormatter, ScrapyHelpFormatter):
    """Scrapy's help, with the line breaks of the text."""


def _spider_arguments() -> str:
    indent = " " * 24
    width = shutil.get_terminal_size().columns - 4
    return "\n".join(
        textwrap.fill(f"{f'-a {name}=':<{len(indent)}}{text}", width, subsequent_indent=indent, break_on_hyphens=False)
        for name, text in SPIDER_ARGUMENTS.items()
    )
