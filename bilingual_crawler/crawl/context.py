"""What a crawl was asked to do, and where it writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.downloadermiddlewares import cookies
from scrapy.exceptions import UsageError

from bilingual_crawler.crawl.turns import Turns
from bilingual_crawler.urls.hosts import split_domain

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from bilingual_crawler.discovery.search import SiteSearch
    from bilingual_crawler.discovery.ways import Sources
    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.frontier.job import Job
    from bilingual_crawler.frontier.scope import Scope
    from bilingual_crawler.language_pairs import LanguagePairs
    from bilingual_crawler.pages.language import Detection
    from bilingual_crawler.policies.base import Policy
    from bilingual_crawler.traps.traps import Traps

# Scrapy's own would fetch the list of public suffixes in the middle of a crawl, past all guards
cookies._split_domain = split_domain


@dataclass(frozen=True, slots=True)
class Seed:
    url: str
    guessed_scheme: bool
    """The user gave no scheme: https is tried once, then http; if http leads to https or fails, https again."""

    @property
    def as_given(self) -> str:
        return self.url.removeprefix("https://") if self.guessed_scheme else self.url

    def addresses(self) -> tuple[str, ...]:
        """Where it is looked for."""
        return (self.url, with_http(self.url)) if self.guessed_scheme else (self.url,)


def with_http(url: str) -> str:
    """The address of *url*, which has https, without encryption."""
    return "http" + url.removeprefix("https")


def with_https(url: str) -> str:
    """*url* if it has https, else its address with encryption."""
    return "https" + url.removeprefix("https").removeprefix("http")


@dataclass(frozen=True)
class CrawlContext:
    """The checked arguments of a crawl, and what its components share."""

    pairs: LanguagePairs
    seeds: tuple[Seed, ...]
    policy: Policy
    scope: Scope
    max_pages: int
    """Budget of pages; 0 is no limit."""
    max_pages_per_site: int
    """Budget of pages of each politeness slot; 0 is no limit."""
    budget: SiteBudget | None
    """Whose best URL comes next; None if that is the best URL of all sites."""
    render: str
    """When pages go through a browser: one of :data:`~bilingual_crawler.options.RENDER_MODES`."""
    detection: Detection
    """How the languages of texts are told."""
    formats: frozenset[str]
    """Of the documents that are read: some of :data:`~bilingual_crawler.pages.formats.FORMATS`."""
    output_dir: Path
    job: Job
    traps: Traps

    def share(self, crawler: Crawler) -> None:
        """Let the components of *crawler* find it; our spiders and the add-on do so before there are components."""
        _SHARED[crawler] = self

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlContext:
        """That of *crawler*; raises UsageError if there is none, as in a project that uses a component alone."""
        try:
            return _SHARED[crawler]
        except KeyError:
            raise UsageError(
                "a component of bilingual_crawler is used without its add-on: set ADDONS = "
                '{"bilingual_crawler.addon.BilingualAddon": 500}, which brings the components, and BILINGUAL_PAIR',
                print_help=False,
            ) from None

    @property
    def undetectable(self) -> tuple[str, ...]:
        """The languages of the crawl that no detector knows."""
        return tuple(lang for lang in self.pairs.languages if lang in self.detection.undetectable)

    @cached_property
    def turns(self) -> Turns:
        """Long work of all components in the event loop."""
        return Turns()


_SHARED: WeakKeyDictionary[Crawler, CrawlContext] = WeakKeyDictionary()


@dataclass(frozen=True)
class DiscoveryContext(CrawlContext):
    """That of a discovery."""

    search: SiteSearch
    sources: Sources
    then: str
    """``crawl`` if the sites found are to be crawled, else empty."""
