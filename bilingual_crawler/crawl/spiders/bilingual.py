"""The spider that crawls sites for documents in two languages or more."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from msgspec.structs import replace
from scrapy import Request, Spider

from bilingual_crawler.crawl.context import CrawlContext, Seed, claim_folders
from bilingual_crawler.crawl.description import write_description
from bilingual_crawler.crawl.middlewares.language import document_of
from bilingual_crawler.crawl.signals import ENTRY, READ, SITEMAP, profile_read, sitemaps_named
from bilingual_crawler.crawl.spiders.arguments import parse_arguments
from bilingual_crawler.crawl.variants import not_linked
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.discovery.sites import is_table
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.items import Document, FoundLinks
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.options import Options, listed, wrong
from bilingual_crawler.pages.language import REMEDY
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.urls.canonical import variant
from bilingual_crawler.urls.hosts import host_of, registered_domain, with_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from bilingual_crawler.pages.jobs import Sitemap


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
        kwargs = _as_on_command_line(kwargs)
        context = cls.parse_arguments(crawler.settings, **kwargs)
        claim_folders(crawler, context)
        write_description(context.output_dir, cls.name, described_arguments(kwargs, context), crawler.settings)
        spider = cls(context)
        if names := " or ".join(map(language_name, context.undetectable)):
            what = f"a page counts as {names} only if it, or a link to it, declares this"
            spider.logger.warning(f"{context.detection} does not know {names}: {what}. {REMEDY}")
        spider._options = options
        spider.reads_sitemaps = str(Kind.SITEMAP) in options.link_sources
        spider._set_crawler(crawler)
        context.share(crawler)
        crawler.signals.connect(spider.sitemaps_named, signal=sitemaps_named)
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
        page = self.visits.variants.of_page(page)
        # it counts as if the page did
        if announced := self.visits.announced(page.url):
            page = replace(page, links=(*page.links, *announced))
        self._count("links/documents", page.documents)
        self._count("opt_outs", dict.fromkeys(page.opt_outs.names, 1))
        self.visits.log_page(response)
        yield FoundLinks(page.without_text(), self.links_of(page))
        if document := document_of(response, page):
            self.crawler.signals.send_catch_log(profile_read, url=page.url, profile=page.profile)
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
        self._count("links/documents", sitemap.documents)
        self._push_sitemaps(sitemap.nested, entry)
        side = self.context.pairs.side
        found = {url: [link for link in links if side(link.hreflang or "")] for url, links in sitemap.announced.items()}
        self.visits.announce(entry, {url: links for url, links in found.items() if links})
        yield FoundLinks(PageRecord(entry.url), sitemap.links)

    def _count(self, stat: str, counts: Mapping[str, int]) -> None:
        assert self.crawler.stats
        for name, count in counts.items():
            self.crawler.stats.inc_value(f"bilingual/{stat}/{name}", count)

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
            self._count("traps", {"sitemaps": len(entries) - len(wanted)})
        self.visits.push(wanted)


def _as_on_command_line(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a script has *given* as text, lists of seeds as lists of text; None is the default."""
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, str | Path):
            arguments[name] = str(value)
        elif value is not None:
            parts = list(map(str, listed(value)))
            # a comma may be part of an address
            arguments[name] = parts if name == "seeds" else ",".join(parts)
    return arguments


def described_arguments(given: Mapping[str, Any], context: CrawlContext) -> dict[str, Any]:
    """The arguments *given*, with the seeds one by one, as a file may change; a ``sites.tsv`` says more, and stays."""
    # Scrapyd adds its own
    arguments = {name: value for name, value in given.items() if not name.startswith("_")}
    if context.seeds and (isinstance(given["seeds"], list) or not is_table(Path(given["seeds"]))):
        arguments["seeds"] = [seed.as_given for seed in context.seeds]
    return arguments
