"""The jobs of a helper process: read a page, a PDF, a sitemap, a robots.txt or a tdmrep.json."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from msgspec.structs import replace

from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.decode import check_legible, decode_body
from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.html import outline_of, page_of, walk_through
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.links import in_formats
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.pages.origin import TdmRule, rules_in
from bilingual_crawler.pages.outline import outline_of_text
from bilingual_crawler.pages.robots import rules_for, sitemaps_in, text_of
from bilingual_crawler.pages.sandbox.jobs import Job, Limits
from bilingual_crawler.pages.sequences import sample_of
from bilingual_crawler.pages.sitemap import parse_sitemap
from bilingual_crawler.urls.canonical import bare
from bilingual_crawler.urls.marks import marked_language

MAX_HTML = 10 << 20  # bytes that are read of a page


def limits_of(body: bytes) -> Limits:
    """The limits for reading *body*: many times the need of ordinary HTML (.07 s and 40 MB per megabyte)."""
    megabytes = len(body) / 1e6
    return Limits(1 + megabytes / 2, 200 + 60 * megabytes)


@dataclass(frozen=True)
class PageJob(Job[PageRecord]):
    """Parse the HTML in *body*, fetched from *url*, and identify the language of its text, take its outline."""

    returns: ClassVar[Any] = PageRecord
    body: bytes
    content_type: str
    url: str
    link_headers: tuple[str, ...] = ()
    formats: frozenset[str] = ONLY_HTML  # formats of the documents whose links are followed
    detection: Detection = BY_DEFAULT
    announced: str | None = None  # the language that links say the page is in
    content_language: str = ""  # the header of this name

    @property
    def limits(self) -> Limits:
        return limits_of(self.body[:MAX_HTML])

    def prepare(self) -> None:
        self.detection.load()

    def run(self) -> PageRecord:
        """Raises ContentError as :func:`~bilingual_crawler.pages.decode.check_legible`."""
        return self._read()[1]

    def _read(self) -> tuple[str, PageRecord]:
        """Return the HTML, and what was read of it."""
        languages = (self.announced, from_bcp47(self.content_language), *self.detection.languages)
        html = decode_body(self.body[:MAX_HTML], self.content_type, languages)
        walk = walk_through(html)
        page = page_of(walk, self.url, self.link_headers, self.formats)
        check_legible(html, page.text)
        read = identified(page, walk.own_lines, self.detection, self.announced, self.content_language)
        return html, replace(read, outline=outline_of(walk, page.url), sample=sample_of(page.text))


def identified(
    page: PageRecord, lines: Sequence[str], detection: Detection, announced: str | None, content_language: str = ""
) -> PageRecord:
    """*page* with its language by its *lines* and all that declares it: itself, header, links, and its address."""
    # the language that the crawl has asked for is no declaration of the page
    marked = marked_language(bare(page.url), detection.languages) if detection.languages else None
    found = detection.identify_page(lines, (*page.declared, from_bcp47(content_language), announced, marked))
    return replace(
        page, language=found.language, shares=found.shares, reliable=found.reliable, declared_language=found.declared
    )


def pdf_limits(body: bytes) -> Limits:
    """The limits for reading the PDF *body*: many times the need of ordinary ones."""
    megabytes = len(body) / 1e6
    return Limits(10 + megabytes, 200 + 10 * megabytes)


def load_pdf_reader() -> None:
    """Load it now instead of with the first PDF."""
    import bilingual_crawler.pages.pdf  # noqa: F401  it needs an extra


@dataclass(frozen=True)
class PdfJob(Job[PageRecord]):
    """Read the PDF in *body*, fetched from *url*, as :class:`PageJob` reads HTML; it has no links."""

    returns: ClassVar[Any] = PageRecord
    body: bytes
    url: str
    detection: Detection = BY_DEFAULT
    announced: str | None = None

    @property
    def limits(self) -> Limits:
        return pdf_limits(self.body)

    def prepare(self) -> None:
        self.detection.load()
        load_pdf_reader()

    def run(self) -> PageRecord:
        """As :func:`~bilingual_crawler.pages.pdf.read_pdf`, which raises ContentError."""
        from bilingual_crawler.pages.pdf import read_pdf

        page = read_pdf(self.url, self.body)
        lines = page.text.split("\n")
        read = identified(page, lines, self.detection, self.announced)
        return replace(read, outline=outline_of_text(page.title, lines), sample=sample_of(page.text))


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The pages that a sitemap lists, and the sitemaps that it names."""

    links: list[Link]
    nested: list[str]
    documents: dict[str, int]  # as of a `PageRecord`
    announced: dict[str, list[Link]] = field(default_factory=dict)  # URL of a page -> its versions in other languages


@dataclass(frozen=True)
class SitemapJob(Job[Sitemap]):
    """Read the sitemap in *body*, fetched from *url*."""

    returns: ClassVar[Any] = Sitemap
    limits = Limits(30, 500)
    body: bytes
    url: str
    formats: frozenset[str] = ONLY_HTML

    def run(self) -> Sitemap:
        found, nested, announced = parse_sitemap(self.body, self.url)
        links, documents = in_formats(found, self.formats)
        return Sitemap(links, nested, documents, announced)


@dataclass(frozen=True, slots=True)
class Robots:
    """The part of a robots.txt that concerns one crawler."""

    rules: str  # its groups of rules, as a robots.txt
    sitemaps: list[str]  # canonical URLs, each once


@dataclass(frozen=True)
class RobotsJob(Job[Robots]):
    """Read the robots.txt in *body*, fetched from *url*, for the crawler *agent*."""

    returns: ClassVar[Any] = Robots
    limits = Limits(2, 200)
    body: bytes
    url: str
    agent: str

    def run(self) -> Robots:
        text = text_of(self.body)
        return Robots(rules_for(text, self.agent), sitemaps_in(text, self.url))


@dataclass(frozen=True)
class TdmJob(Job[list[TdmRule]]):
    """Read the tdmrep.json in *body*, fetched from *url*."""

    returns: ClassVar[Any] = list[TdmRule]
    limits = Limits(2, 200)
    body: bytes
    url: str

    def run(self) -> list[TdmRule]:
        return rules_in(self.body, self.url)
