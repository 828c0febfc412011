"""The spider that crawls sites for documents in two languages or more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request, Spider
from scrapy.exceptions import UsageError

from bilingual_crawler.crawl.meta import ENTRY, LANGUAGE, OUTLINE, PAGE, SITEMAP, WARC_LOCATION
from bilingual_crawler.crawl.output_folder import make_output_dir
from bilingual_crawler.crawl.signals import sitemaps_named
from bilingual_crawler.crawl.visits import Visits, utc_now
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.frontier.job import JobError
from bilingual_crawler.items import Document, FoundLinks
from bilingual_crawler.languages import language_name
from bilingual_crawler.options import Options
from bilingual_crawler.pages.language import REMEDY
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.policies.base import FetchedPage
from bilingual_crawler.spiders.arguments import parse_arguments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from bilingual_crawler.crawl.context import CrawlContext
    from bilingual_crawler.pages.detectors.base import Identification
    from bilingual_crawler.pages.jobs import Sitemap
    from bilingual_crawler.pages.model import Link, Page


class BilingualSpider(Spider):
    """Crawls the sites of its seeds and yields the documents in the languages of ``pair``.

    Arguments: ``pair``, ``languages``, ``seeds``, ``policy``, ``scope``, ``max_pages``, ``max_pages_per_site``,
    ``render``; see :func:`~bilingual_crawler.spiders.arguments.parse_arguments`.
    """

    name = "bilingual"
    parse_arguments: ClassVar[Callable[..., CrawlContext]] = staticmethod(parse_arguments)
    _obeys_meta: bool
    _reads_sitemaps: bool

    def __init__(self, context: CrawlContext) -> None:
        super().__init__()
        self.context = context

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        options = Options.of(crawler.settings)
        context = cls.parse_arguments(crawler.settings, **kwargs)
        try:
            context.job.keep(crawler.settings)
        except JobError as error:
            raise UsageError(str(error), print_help=False) from error
        make_output_dir(crawler.settings, context.output_dir)
        spider = cls(context)
        if context.undetectable:
            names = " or ".join(map(language_name, context.undetectable))
            spider.logger.warning(
                f"{context.detection} does not know {names}: a page counts as {names} only if it, or a link to it, "
                f"declares this. {REMEDY}"
            )
        spider._obeys_meta = options.meta_robots_obey
        spider._reads_sitemaps = str(Kind.SITEMAP) in options.link_sources
        spider._set_crawler(crawler)
        crawler.signals.connect(spider.sitemaps_named, signal=sitemaps_named)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        options = Options.of(settings)
        settings.set("USER_AGENT", options.full_user_agent, "spider")
        if options.replay:
            handler = "bilingual_crawler.handlers.replay.ReplayDownloadHandler"
            settings.set("DOWNLOAD_HANDLERS", {"http": handler, "https": handler}, "spider")
            settings.set("BILINGUAL_META_ROBOTS_OBEY", False, "spider")
            settings.set("ROBOTSTXT_OBEY", False, "spider")
            settings.set("DOWNLOAD_DELAY", 0, "spider")
            settings.set("AUTOTHROTTLE_ENABLED", False, "spider")

    async def start(self) -> AsyncIterator[Any]:
        for seed in self.context.seeds:
            yield Request(seed.url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[FoundLinks | Document]:
        entry: Entry = response.meta[ENTRY]
        page: Page = response.meta[PAGE]
        identified: Identification = response.meta[LANGUAGE]
        side = self.context.pairs.side(identified.language)
        links = self.links_of(page)
        self._count_documents(page.documents)
        noindex = page.noindex and self._obeys_meta
        kept = side is not None and not noindex
        outcome = "document" if kept else "noindex" if side else "other-language"
        self.visits.log(entry, status=response.status, outcome=outcome, language=identified.language)
        claims = tuple(link for link in page.links if link.claims)
        fetched = FetchedPage(
            entry.url,
            identified.language,
            side,
            not entry.parent,
            entry.depth,
            len(page.text),
            claims,
            noindex,
            response.meta[OUTLINE],
        )
        yield FoundLinks(fetched, links)
        if kept:
            assert side is not None
            yield self._document(response, entry, page, identified, side)

    def links_of(self, page: Page) -> Sequence[Link]:
        """The links of *page* that may be followed."""
        return () if page.nofollow and self._obeys_meta else page.links

    def parse_sitemap(self, response: Response) -> Iterator[FoundLinks]:
        entry: Entry = response.meta[ENTRY]
        sitemap: Sitemap = response.meta[SITEMAP]
        self.visits.log(entry, status=response.status, outcome="sitemap")
        self._count_documents(sitemap.documents)
        self._push_sitemaps(sitemap.nested, entry)
        yield FoundLinks(FetchedPage(entry.url, "un", None), sitemap.links)

    def _count_documents(self, linked: Mapping[str, int]) -> None:
        """Count links to documents that are not HTML; stats ``bilingual/links/documents/<ending>``."""
        assert self.crawler.stats
        for ending, count in linked.items():
            self.crawler.stats.inc_value(f"bilingual/links/documents/{ending}", count)

    def sitemaps_named(self, urls: Sequence[str]) -> None:
        """Queue the sitemaps that a robots.txt names."""
        if self._reads_sitemaps:
            self._push_sitemaps(urls, None)

    @property
    def visits(self) -> Visits:
        return Visits.of(self.crawler)

    def _push_sitemaps(self, urls: Sequence[str], parent: Entry | None) -> None:
        depth = parent.depth + 1 if parent else 1
        found = [
            Entry(url, self.visits.slot(url), 0.0, parent.url if parent else "", depth, Kind.SITEMAP)
            for url in urls
            if self.context.scope.admits(url)
        ]
        entries = [entry for entry in found if self.context.traps.wants_sitemap(entry)]
        if len(entries) < len(found):
            assert self.crawler.stats
            self.crawler.stats.inc_value("bilingual/traps/sitemaps", len(found) - len(entries))
        self.visits.push(entries)

    def _document(
        self, response: Response, entry: Entry, page: Page, identified: Identification, side: str
    ) -> Document:
        warc_file, warc_offset = response.meta.get(WARC_LOCATION, (None, None))[:2]
        alternates = [(link.hreflang, link.url) for link in page.links if link.hreflang and link.announces]
        return Document(
            url=entry.url,
            language=side,
            shares=list(identified.shares),
            reliable=identified.reliable,
            title=page.title,
            text=page.text,
            fetched_at=utc_now(),
            status=response.status,
            depth=entry.depth,
            referrer=entry.parent or None,
            score=entry.priority if entry.parent else None,
            warc_file=warc_file,
            warc_offset=warc_offset,
            alternates=alternates,
            switches=[
                (link.hreflang or link.label, link.url) for link in page.links if link.position is LinkPosition.SWITCHER
            ],
        )
