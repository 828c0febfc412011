"""The jobs of a helper process: read a page, a sitemap or a robots.txt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import page_of, walk_through
from bilingual_crawler.pages.language import Identification, identify, load_detectors
from bilingual_crawler.pages.model import Link, Page  # noqa: TC001  msgspec reads the types of results
from bilingual_crawler.pages.outline import Outline, outline_of
from bilingual_crawler.pages.robots import rules_for, sitemaps_in
from bilingual_crawler.pages.sitemap import parse_sitemap
from bilingual_crawler.sandbox import Job, Limits

if TYPE_CHECKING:
    from typing import Any

MAX_HTML = 10 << 20
"""Bytes that are read of a page."""


def limits_of(body: bytes) -> Limits:
    """The limits for reading *body*: many times the need of ordinary HTML (.07 s and 40 MB per megabyte)."""
    megabytes = len(body) / 1e6
    return Limits(1 + megabytes / 2, 200 + 60 * megabytes)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page, the language of its text, and what it may have in common with its translation."""

    page: Page
    identification: Identification
    outline: Outline


@dataclass(frozen=True)
class PageJob(Job[ReadPage]):
    """Parse the HTML in *body*, fetched from *url*, and identify the language of its text, take its outline."""

    returns: ClassVar[Any] = ReadPage
    body: bytes
    content_type: str
    url: str
    link_headers: tuple[str, ...] = ()

    @property
    def limits(self) -> Limits:
        return limits_of(self.body[:MAX_HTML])

    def prepare(self) -> None:
        load_detectors()

    def run(self) -> ReadPage:
        walk = walk_through(decode_body(self.body[:MAX_HTML], self.content_type))
        page = page_of(walk, self.url, self.link_headers)
        return ReadPage(page, identify(page.text), outline_of(walk, page.url))


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The pages that a sitemap lists, and the sitemaps that it names."""

    links: list[Link]
    nested: list[str]


@dataclass(frozen=True)
class SitemapJob(Job[Sitemap]):
    """Read the sitemap in *body*, fetched from *url*."""

    returns: ClassVar[Any] = Sitemap
    body: bytes
    url: str

    @property
    def limits(self) -> Limits:
        return Limits(15, 500)

    def run(self) -> Sitemap:
        return Sitemap(*parse_sitemap(self.body, self.url))


@dataclass(frozen=True, slots=True)
class Robots:
    """The part of a robots.txt that concerns one crawler."""

    rules: str
    """Its groups of rules, as a robots.txt."""
    sitemaps: list[str]
    """Canonical URLs, each once."""


@dataclass(frozen=True)
class RobotsJob(Job[Robots]):
    """Read the robots.txt in *body* for the crawler *agent*."""

    returns: ClassVar[Any] = Robots
    body: bytes
    agent: str

    @property
    def limits(self) -> Limits:
        return Limits(2, 200)

    def run(self) -> Robots:
        text = self.body.decode("utf-8", "replace")
        return Robots(rules_for(text, self.agent), sitemaps_in(text))
