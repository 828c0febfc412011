"""The spiders: one crawls sites for documents in two languages or more, the other finds bilingual sites."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from msgspec.structs import replace
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import run_in_thread

from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext, Seed, claim_folders
from bilingual_crawler.crawl.description import as_argument, write_description
from bilingual_crawler.crawl.middlewares.language import document_of
from bilingual_crawler.crawl.signals import ARCHIVED_DATE, ENTRY, READ, SITEMAP, add_counts
from bilingual_crawler.crawl.spiders.arguments import parse_arguments, parse_discovery
from bilingual_crawler.crawl.variants import not_linked
from bilingual_crawler.crawl.visits import Visits, utc_now
from bilingual_crawler.discovery.policies import entry_page
from bilingual_crawler.discovery.search import InspectedSite, fact_of
from bilingual_crawler.discovery.sites import JudgedSite
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.items import Document, FoundLinks
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.options import Options, wrong
from bilingual_crawler.pages.jobs import Sitemap
from bilingual_crawler.pages.language import REMEDY
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.urls.canonical import variant
from bilingual_crawler.urls.hosts import host_of, registered_domain, with_http

SITEMAP_PRIORITY = 0.5  # of sitemaps where sites may be left: before pages that hardly bring pairs


class BilingualSpider(Spider):
    """Crawls the sites of its seeds and yields the documents in the languages of ``pair``.

    Arguments: :data:`~bilingual_crawler.crawl.spiders.arguments.ARGUMENTS`. Stats:
    ``bilingual/links/documents/<ending>``, ``bilingual/opt_outs/<name>`` (pages), ``bilingual/traps/sitemaps``.
    """

    name = "bilingual"
    parse_arguments: ClassVar[Callable[..., CrawlContext]] = staticmethod(parse_arguments)
    _options: Options
    reads_sitemaps: bool  # whether sitemaps are links, too

    def __init__(self, context: CrawlContext) -> None:
        super().__init__()
        self.context = context

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        options = Options.of(crawler.settings)
        if options.workers > 1:
            raise wrong("BILINGUAL_WORKERS", options.workers, "only the command crawl starts workers; leave it out")
        # a script may give any values, and None for a default
        given = {name: as_argument(name, value) for name, value in kwargs.items() if value is not None}
        context = cls.parse_arguments(crawler.settings, **given)
        claim_folders(crawler, context)
        write_description(context, cls.name, given, crawler.settings)
        spider = cls(context)
        if names := " or ".join(map(language_name, context.undetectable)):
            what = f"a page counts as {names} only if it, or a link to it, declares this"
            spider.logger.warning(f"{context.detection} does not know {names}: {what}. {REMEDY}")
        spider._options = options
        spider.reads_sitemaps = str(Kind.SITEMAP) in options.link_sources
        spider._set_crawler(crawler)
        context.share(crawler)
        crawler.signals.connect(spider.sitemaps_named, signal=signals.sitemaps_named)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        options = Options.of(settings)
        settings.set("USER_AGENT", options.full_user_agent, "spider")
        if options.replay:
            handler = "bilingual_crawler.crawl.handlers.ReplayDownloadHandler"
            settings.set("DOWNLOAD_HANDLERS", {"http": handler, "https": handler}, "spider")
            settings.set("DOWNLOAD_DELAY", 0, "spider")
            for name in ("BILINGUAL_META_ROBOTS_OBEY", "ROBOTSTXT_OBEY", "AUTOTHROTTLE_ENABLED"):
                settings.set(name, False, "spider")

    async def start(self) -> AsyncIterator[Any]:
        for seed in self.context.seeds:
            yield Request(seed.url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[FoundLinks | Document]:
        self._ask_in_other_languages(response)
        page: PageRecord = response.meta[READ]
        self.visits.variants.note_page(page)
        page = self.context.traps.forms.of_page(self.visits.variants.of_page(page))
        # it counts as if the page did
        if announced := self.visits.announced(page.url):
            page = replace(page, links=(*page.links, *announced))
        add_counts(self.crawler, "bilingual/links/documents/", page.documents)
        add_counts(self.crawler, "bilingual/opt_outs/", dict.fromkeys(page.opt_outs.names, 1))
        self.visits.log_page(response)
        yield FoundLinks(page.without_text(), self.links_of(page))
        if document := document_of(response, page):
            self.crawler.signals.send_catch_log(signals.profile_read, url=page.url, profile=page.profile)
            yield document

    def _ask_in_other_languages(self, response: Response) -> None:
        """Ask for the seed of a site once more in each language of the crawl that its page does not lead to.

        Only if it is in the language that was asked for first: a site that chooses by the header has no other answer.
        """
        entry: Entry = response.meta[ENTRY]
        page: PageRecord = response.meta[READ]
        if not page.seed or entry.is_variant or page.side != self.visits.variants.first:
            return
        seed = self._seed_behind(page.url)
        others = [language for language in self.context.pairs.languages if language != page.side]
        varies = b"accept-language" in b",".join(response.headers.getlist("Vary")).lower()
        for language in others if varies else not_linked(page, others):
            self.visits.push_seed(variant(seed, language))

    def _seed_behind(self, url: str) -> str:
        """The first seed of the host and port of *url*, to which it led, or of its host or site, or else *url*."""
        names = (urlsplit(url).netloc, host_of(url), registered_domain(url))
        seed = next((self._first_seeds[name] for name in names if name in self._first_seeds), None)
        if seed is None:
            return url
        # https was a guess, and http has answered in its place
        return with_http(seed.url) if seed.guessed_scheme and not url.startswith("https:") else seed.url

    @cached_property
    def _first_seeds(self) -> Mapping[str, Seed]:
        """Site, host, or host and port -> the first of its seeds; a name that is several counts as the last of them."""
        by_name = (registered_domain, host_of, lambda url: urlsplit(url).netloc)
        return {name(seed.url): seed for name in by_name for seed in reversed(self.context.seeds)}

    def links_of(self, page: PageRecord) -> Sequence[Link]:
        """The links of *page* that may be followed."""
        return () if page.nofollow and self._options.meta_robots_obey else page.links

    def parse_sitemap(self, response: Response) -> Iterator[FoundLinks | Document]:
        if READ in response.meta:
            yield from self.parse(response)
            return
        entry: Entry = response.meta[ENTRY]
        sitemap: Sitemap = response.meta[SITEMAP]
        self.visits.log(entry, status=response.status, outcome="sitemap")
        add_counts(self.crawler, "bilingual/links/documents/", sitemap.documents)
        self._push_sitemaps(sitemap.nested, entry)
        side = self.context.pairs.side
        found = {url: [link for link in links if side(link.hreflang or "")] for url, links in sitemap.announced.items()}
        self.visits.announce(entry, {url: links for url, links in found.items() if links})
        yield FoundLinks(PageRecord(entry.url), sitemap.links)

    def sitemaps_named(self, urls: Sequence[str]) -> None:
        if self.reads_sitemaps:
            self._push_sitemaps(urls, None)

    @property
    def visits(self) -> Visits:
        return Visits.from_crawler(self.crawler)

    def _push_sitemaps(self, urls: Sequence[str], parent: Entry | None) -> None:
        depth = parent.depth + 1 if parent else 1
        # pages that only a sitemap names are a part of what remains of a site
        priority = 0.0 if self.context.until >= 1 else SITEMAP_PRIORITY
        by = parent.url if parent else ""
        found = filter(self.context.scope.admits, urls)
        entries = [Entry(url, self.visits.slot(url), priority, by, depth, Kind.SITEMAP) for url in found]
        wanted = [entry for entry in entries if self.context.traps.wants_sitemap(entry)]
        if len(wanted) < len(entries):
            add_counts(self.crawler, "bilingual/traps/", {"sitemaps": len(entries) - len(wanted)})
        self.visits.push(wanted)


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
        self.crawler.signals.send_catch_log(signals.site_judged, site=judged)
