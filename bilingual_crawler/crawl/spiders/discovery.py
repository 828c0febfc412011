"""The spider that finds bilingual sites."""

from __future__ import annotations

import asyncio
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from bilingual_crawler.crawl.signals import ARCHIVED_DATE, ENTRY, READ, site_judged
from bilingual_crawler.crawl.spiders.arguments import parse_discovery
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.discovery.policies import entry_page
from bilingual_crawler.discovery.search import InspectedSite, fact_of
from bilingual_crawler.discovery.sites import JudgedSite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.crawl.context import DiscoveryContext
    from bilingual_crawler.items import Document, FoundLinks
    from bilingual_crawler.pages.model import PageRecord

SOURCES_FIRST = 10.0  # seconds that the first download waits for the sources, which are read beside the crawl
READ_AT_ONCE = 1000  # candidates that are queued in one go, while no page can be taken in


class DiscoverySpider(BilingualSpider):
    """Judges sites until its budget is spent, and writes them to ``sites.tsv``; its documents are the pages it saw."""

    name = "discovery"
    context: DiscoveryContext
    _looking_back: asyncio.Lock  # DuckDB answers one question at a time
    parse_arguments: ClassVar[Callable[..., DiscoveryContext]] = staticmethod(parse_discovery)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.context.search.judged = spider._judged
        # sitemaps name pages, not sites
        spider.reads_sitemaps = False
        spider._looking_back = asyncio.Lock()
        return spider

    async def start(self) -> AsyncIterator[Any]:
        reading = self._reading
        # a graph of Common Crawl takes hours
        await asyncio.wait([reading], timeout=SOURCES_FIRST)
        for seed in self.context.seeds:
            yield Request(seed.url)
        await reading
        # the sites that an earlier run has found
        await self._look_back()

    @cached_property
    def _reading(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._read_sources())

    async def _read_sources(self) -> None:
        sources = self.context.sources
        candidates = sources.candidates(self.context.policy.pair)
        while read := await run_in_thread(lambda: list(islice(candidates, READ_AT_ONCE))):
            self.visits.guesses.update(entry_page(one.url) for one in read if one.guessed_scheme)
            self.context.search.start(sources.ways(read))
            self.visits.pursue()
        await run_in_thread(sources.open, self.context.output_dir)

    async def parse(  # type: ignore[override]
        self, response: Response, **kwargs: Any
    ) -> AsyncIterator[FoundLinks | Document]:
        page: PageRecord = response.meta[READ]
        archived, is_backlink = response.meta.get(ARCHIVED_DATE) or "", self.context.search.is_backlink(page.url)
        fact = fact_of(page, self.links_of(page), archived, is_backlink=is_backlink)
        self.visits.recall(response.meta[ENTRY], fact)
        for found in super().parse(response, **kwargs):
            yield found
        await self._look_back()

    async def _look_back(self) -> None:
        """Have the pages visited that link to the bilingual sites found, in the order of the verdicts."""
        found = self.context.search.found()
        if not found:
            return
        async with self._looking_back:
            # ends with a reading that was cancelled, too
            await asyncio.wait([self._reading])
            for entry in found:
                ways = await run_in_thread(self.context.sources.ways_back, entry)
                self.visits.guesses.update(way.url for way in ways if way.guessed_scheme)
                self.context.search.go_back(ways)
            self.visits.pursue()

    def _judged(self, name: str, site: InspectedSite) -> None:
        judged = JudgedSite.from_inspected(name, site, self.context.sources.pages.get(name, {}), utc_now())
        self.crawler.signals.send_catch_log(site_judged, site=judged)
