"""What a spider gives: documents, and the links of a page or the requests for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy import Request

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage


@dataclass(slots=True)
class Document:
    """A page in one of the languages; a line of ``documents.jsonl.gz``."""

    url: str
    language: str
    """The language of the crawl that the page counts as, ISO 639-3."""
    shares: list[tuple[str, int]]
    """Up to three languages found in the text with their percentages."""
    reliable: bool
    title: str
    text: str
    fetched_at: str
    """UTC, ISO 8601."""
    status: int
    depth: int
    referrer: str | None
    score: float | None
    """Priority with which the page was fetched; None for seeds."""
    warc_file: str | None
    warc_offset: int | None
    alternates: list[tuple[str, str]]
    """(language or ``x-default``, URL) of each translation that the page announces by ``hreflang``."""
    switches: list[tuple[str | None, str]]
    """(named language, URL) of each target of the page's language switcher."""


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """The links of a page, for the frontier; ``LinkPriorityMiddleware`` consumes them."""

    page: FetchedPage
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class FoundRequests(FoundLinks):
    """The requests that a spider of another project has yielded for links of a page: these are followed, no others."""

    requests: Mapping[str, Request]
    """By the URL of the link."""


class Rank(NamedTuple):
    """The place in the frontier that the policy gives to a request."""

    priority: float
    parent: str
    """URL of the page that led to it."""
