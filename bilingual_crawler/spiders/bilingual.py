"""The spider that crawls sites for documents in two languages."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request, Spider
from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, IgnoreRequest, StopDownload
from scrapy.spidermiddlewares.httperror import HttpError

from bilingual_crawler.frontier.entry import Entry, Kind, State
from bilingual_crawler.frontier.scheduler import ENTRY, FrontierScheduler
from bilingual_crawler.items import Document, FoundLinks
from bilingual_crawler.middlewares.language import LANGUAGE, PAGE, SITEMAP, NotHtml
from bilingual_crawler.middlewares.refused import Refused
from bilingual_crawler.options import Options
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.policies.base import FetchedPage
from bilingual_crawler.signals import Fetch, sitemaps_named, url_fetched
from bilingual_crawler.spiders.arguments import CrawlArguments
from bilingual_crawler.spiders.output import make_output_dir
from bilingual_crawler.traps.traps import Traps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from bilingual_crawler.pages.jobs import Sitemap
    from bilingual_crawler.pages.language import Identification
    from bilingual_crawler.pages.model import Page

logger = logging.getLogger(__name__)


class BilingualSpider(Spider):
    """Crawls the sites of its seeds and yields the documents in the two languages of ``pair``.

    Arguments: ``pair``, ``seeds``, ``policy``, ``scope``, ``max_pages``, ``max_pages_per_site``,
    ``render``; see
    :class:`~bilingual_crawler.spiders.arguments.CrawlArguments`.
    """

    name = "bilingual"
    traps: Traps
    _obeys_meta: bool
    _reads_sitemaps: bool

    def __init__(self, arguments: CrawlArguments) -> None:
        super().__init__()
        self.pair = arguments.pair
        self.seeds = arguments.seeds
        self.policy = arguments.policy
        self.scope = arguments.scope
        self.max_pages = arguments.max_pages
        self.max_pages_per_site = arguments.max_pages_per_site
        self.render = arguments.render
        self.output_dir = arguments.output_dir
        self.https_guesses = {seed.url for seed in self.seeds if seed.guessed_scheme}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        options = Options.of(crawler.settings)
        arguments = CrawlArguments.parse(crawler.settings, **kwargs)
        arguments.job.keep(crawler.settings)
        make_output_dir(crawler.settings, arguments.output_dir)
        spider = cls(arguments)
        spider.traps = Traps(stale_pages=options.stale_pages, barren_pages=options.barren_pages)
        spider._obeys_meta = options.meta_robots_obey
        spider._reads_sitemaps = str(Kind.SITEMAP) in options.link_sources
        spider._set_crawler(crawler)
        crawler.signals.connect(spider.sitemaps_named, signal=sitemaps_named)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        options = Options.of(settings)
        contact = f" (+{options.contact})" if options.contact else ""
        settings.set("USER_AGENT", options.user_agent + contact, "spider")
        if options.replay:
            handler = "bilingual_crawler.archive.replay.ReplayDownloadHandler"
            settings.set("DOWNLOAD_HANDLERS", {"http": handler, "https": handler}, "spider")
            settings.set("BILINGUAL_META_ROBOTS_OBEY", False, "spider")
            settings.set("ROBOTSTXT_OBEY", False, "spider")
            settings.set("DOWNLOAD_DELAY", 0, "spider")
            settings.set("AUTOTHROTTLE_ENABLED", False, "spider")

    async def start(self) -> AsyncIterator[Any]:
        for seed in self.seeds:
            yield Request(seed.url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[FoundLinks | Document]:
        entry: Entry = response.meta[ENTRY]
        page: Page = response.meta[PAGE]
        identified: Identification = response.meta[LANGUAGE]
        side = self.pair.side(identified.language)
        links = () if page.nofollow and self._obeys_meta else page.links
        kept = side is not None and not (page.noindex and self._obeys_meta)
        outcome = "document" if kept else "noindex" if side else "other-language"
        self.record(entry, status=response.status, outcome=outcome, language=identified.language)
        fetched = FetchedPage(entry.url, identified.language, side, not entry.parent, entry.depth, len(page.text))
        yield FoundLinks(fetched, links)
        if kept:
            assert side is not None
            yield self._document(response, entry, page, identified, side)

    def parse_sitemap(self, response: Response) -> Iterator[FoundLinks]:
        entry: Entry = response.meta[ENTRY]
        sitemap: Sitemap = response.meta[SITEMAP]
        self.record(entry, status=response.status, outcome="sitemap")
        self._push_sitemaps(sitemap.nested, entry)
        yield FoundLinks(FetchedPage(entry.url, "un", None), sitemap.links)

    def handle_failure(self, failure: Failure) -> None:
        """Close the books on a URL that gave no page."""
        entry: Entry = failure.request.meta[ENTRY]  # type: ignore[attr-defined]
        status, outcome = _reason(failure)
        self.record(entry, status=status, outcome=outcome)
        assert self.crawler.stats
        self.crawler.stats.inc_value(f"bilingual/dropped/{outcome}")
        if outcome == "host-not-found":
            logger.warning(f"{entry.url}: host not found, skipped", extra={"spider": self})
        if status == 0 and entry.url in self.https_guesses:
            http = "http" + entry.url.removeprefix("https")
            self._scheduler.push([Entry(http, entry.slot, entry.priority)])
        self._scheduler.gone(entry)
        refused = isinstance(failure.value, Refused) and not failure.value.status
        self._scheduler.frontier.finish(entry, State.REFUSED if refused else State.DONE)

    def sitemaps_named(self, urls: Sequence[str]) -> None:
        """Queue the sitemaps that a robots.txt names."""
        if self._reads_sitemaps:
            self._push_sitemaps(urls, None)

    def record(self, entry: Entry, *, status: int, outcome: str, language: str = "", location: str = "") -> None:
        """Tell everybody what came of fetching *entry*."""
        fetch = Fetch(_now(), status, entry.url, language, entry.priority, entry.parent, entry.depth, outcome, location)
        self.crawler.signals.send_catch_log(url_fetched, fetch=fetch)

    @property
    def _scheduler(self) -> FrontierScheduler:
        assert self.crawler.engine
        return cast("FrontierScheduler", self.crawler.engine.scheduler)

    def _push_sitemaps(self, urls: Sequence[str], parent: Entry | None) -> None:
        depth = parent.depth + 1 if parent else 1
        canonical = [url for url in urls if self.scope.admits(url)]
        found = [
            Entry(url, self._scheduler.slot(url), 0.0, parent.url if parent else "", depth, Kind.SITEMAP)
            for url in canonical
        ]
        entries = [entry for entry in found if self.traps.wants_sitemap(entry)]
        if len(entries) < len(found):
            assert self.crawler.stats
            self.crawler.stats.inc_value("bilingual/traps/sitemaps", len(found) - len(entries))
        self._scheduler.push(entries)

    def _document(
        self, response: Response, entry: Entry, page: Page, identified: Identification, side: str
    ) -> Document:
        warc_file, warc_offset = response.meta.get("bilingual_warc", (None, None))[:2]
        alternates = [(link.hreflang, link.url) for link in page.links if link.alternate and link.hreflang]
        return Document(
            url=entry.url,
            language=side,
            shares=list(identified.shares),
            reliable=identified.reliable,
            title=page.title,
            text=page.text,
            fetched_at=_now(),
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _reason(failure: Failure) -> tuple[int, str]:
    """HTTP status (0 without an answer) and outcome of a failed fetch."""
    error = failure.value
    if isinstance(error, HttpError):
        return error.response.status, f"http-{error.response.status}"
    if isinstance(error, StopDownload):
        return error.response.status if error.response else 200, "not-html"
    if isinstance(error, NotHtml):
        return 200, "not-html"
    if isinstance(error, Refused):
        return error.status, error.outcome
    if isinstance(error, DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in str(error):
        return 0, "too-large"
    if isinstance(error, IgnoreRequest):
        return 0, "ignored"
    if isinstance(error, CannotResolveHostError):
        return 0, "host-not-found"
    return 0, f"error-{type(error).__name__}"
