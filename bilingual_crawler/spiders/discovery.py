"""The spider that finds bilingual sites."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from scrapy.exceptions import UsageError
from scrapy.utils.asyncio import run_in_thread

from bilingual_crawler.crawl.meta import ARCHIVED_DATE, ENTRY, LANGUAGE, OUTLINE, PAGE
from bilingual_crawler.crawl.signals import site_judged
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.discovery.detector.base import DetectorPage
from bilingual_crawler.discovery.policy import fact_of
from bilingual_crawler.discovery.sites import JudgedSite
from bilingual_crawler.discovery.sources import SourceError
from bilingual_crawler.spiders.arguments import parse_discovery
from bilingual_crawler.spiders.bilingual import BilingualSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.crawl.context import DiscoveryContext
    from bilingual_crawler.discovery.search import Site
    from bilingual_crawler.items import Document, FoundLinks
    from bilingual_crawler.pages.detectors.base import Identification
    from bilingual_crawler.pages.model import Page


READ_AT_ONCE = 1000
"""Candidates that are queued in one go, while no page can be taken in."""


class DiscoverySpider(BilingualSpider):
    """Judges sites until its budget is spent, and writes them to ``sites.tsv``; its documents are the pages it saw.

    Arguments: see :func:`~bilingual_crawler.spiders.arguments.parse_discovery`.
    """

    name = "discovery"
    context: DiscoveryContext
    parse_arguments: ClassVar[Callable[..., DiscoveryContext]] = staticmethod(parse_discovery)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        context = spider.context
        try:
            context.sources.open(context.output_dir)
        except SourceError as error:
            raise UsageError(f"backlinks: {error}", print_help=False) from error
        context.search.judged = spider._judged
        # sitemaps name pages, not sites
        spider._reads_sitemaps = False
        return spider

    async def start(self) -> AsyncIterator[Any]:
        for seed in self.context.seeds:
            yield Request(seed.url)
        sources = self.context.sources
        candidates = sources.candidates(self.context.policy.pair)
        while read := await run_in_thread(lambda: list(islice(candidates, READ_AT_ONCE))):
            self.context.search.start(sources.ways(read))
            self.visits.pursue()

    def parse(self, response: Response, **kwargs: Any) -> Iterator[FoundLinks | Document]:
        page: Page = response.meta[PAGE]
        identified: Identification = response.meta[LANGUAGE]
        outline = response.meta[OUTLINE]
        links = tuple(self.links_of(page))
        archived = response.meta.get(ARCHIVED_DATE) or ""
        seen = DetectorPage(page.url, identified.language, links, page.text, outline, page.language, archived)
        self.visits.recall(response.meta[ENTRY], fact_of(seen))
        yield from super().parse(response, **kwargs)

    def _judged(self, name: str, site: Site) -> None:
        judged = JudgedSite.of(name, site, self.context.sources.pages.get(name, {}), utc_now())
        self.crawler.signals.send_catch_log(site_judged, site=judged)
