"""The values that rooms hand to each other: documents, pairs, links found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from bilingual_crawler.pages.origin import UNKNOWN, Origin

if TYPE_CHECKING:
    from scrapy import Request

    from bilingual_crawler.pages.model import Link, PageRecord

MAX_LINKS = 500  # links of a document that are kept to be compared with those of its partner, the first ones


@dataclass(slots=True)
class Document:
    """A page in one of the languages, with its text; a line of ``documents.jsonl.gz``.

    An alignment knows neither shares nor fetch, links nor score.
    """

    url: str
    language: str
    """The language of the crawl that the page counts as, ISO 639-3, with its script if the pair names one."""
    shares: Sequence[tuple[str, int]] = ()
    """Up to three languages found in the text with their percentages."""
    reliable: bool = False
    title: str = ""
    text: str = ""
    """Own text, one line per block of the page."""
    fetched_at: str = ""
    """UTC, ISO 8601."""
    status: int = 0
    depth: int = 0
    referrer: str | None = None
    score: float | None = None
    """Priority with which the page was fetched; None for seeds."""
    warc_file: str | None = None
    """File and offset (bytes) of the record; None if only the text was kept."""
    warc_offset: int | None = None
    alternates: Sequence[tuple[str, str]] = ()
    """(language or ``x-default``, URL) of each translation that the page announces by ``hreflang``."""
    switches: Sequence[tuple[str | None, str]] = ()
    """(named language, URL) of each target of the page's language switcher."""
    origin: Origin = UNKNOWN
    """What the page declares about where it comes from."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text."""
        return tuple(self.text.split("\n"))

    def as_row(self) -> dict[str, Any]:
        """Return the line of ``documents.jsonl.gz``: the facts of the origin that are known stand beside the others."""
        return {name: getattr(self, name) for name in _COLUMNS} | self.origin.known()


_COLUMNS = tuple(field.name for field in fields(Document) if field.name != "origin")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents taken for translations; *a* is in the first language. A line of ``pairs.tsv``."""

    url_a: str
    url_b: str
    score: float
    method: str
    pair: str
    """The languages, as ``eng-mlt``."""

    def partner(self, url: str) -> str:
        """The URL of the other document than the one at *url*."""
        return self.url_b if url == self.url_a else self.url_a


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A document that is in no pair of its language with another; a line of ``unpaired.tsv``."""

    url: str
    reason: str  # a key of REASONS
    nearest: str
    """The document in the other language that it resembles most, of those it was compared with; empty if none."""
    score: float  # of the two; 0 if there is none
    pair: str  # the languages, as eng-mlt


class Proposal(NamedTuple):
    """A document that a policy takes for the translation of another."""

    url: str
    method: str
    """Name of the evidence."""
    probability: float


class Wanted(NamedTuple):
    """A URL that a policy wants to be fetched, or that a request of another project's spider asks for."""

    url: str
    priority: float
    parent: str = ""  # the page that led to it; empty for seeds


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """The links of a page, for the frontier; ``LinkPriorityMiddleware`` consumes them."""

    page: PageRecord
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class FoundRequests(FoundLinks):
    """The requests that a spider of another project has yielded for links of a page: these are followed, no others."""

    requests: Mapping[str, Request]  # by the URL of the link
