"""A link from one site to another, as discovery sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from urllib.parse import unquote, urlsplit

from bilingual_crawler.discovery.words import words
from bilingual_crawler.urls.canonical import registered_domain

CONTEXTS = ("path", "host", "anchor", "around")
"""Where the words of a link stand: its URL without the host, the host, the anchor text, the text around it."""


class Way(StrEnum):
    """Which way a hop goes along the link."""

    FORTH = "forth"
    """To the site that the link leads to."""
    BACK = "back"
    """Against the link, to the page that has it: a bilingual site is its target."""
    INSIDE = "inside"
    """To another page of the same site, for the links to other sites that it may have."""


@dataclass(frozen=True)
class Hop:
    """A way from a page to another that may be, or may lead to, a bilingual site."""

    way: Way
    url: str
    """The page that the link leads to, or for :attr:`Way.BACK` the page that has it."""
    parent: str = ""
    """The page from which it was found; empty for seeds and candidates."""
    anchor: str = ""
    around: str = ""
    """Text of the block in which the link stands."""
    language: str = "un"
    """Language of that text, ISO 639-3."""
    prior: float = 0.0
    """What the source of a candidate, or of a backlink, says of it, 0 to 1."""

    @cached_property
    def site(self) -> str:
        """The registered domain to which it leads, the unit of discovery."""
        return site_of(self.url)

    @property
    def origin(self) -> str:
        """How it was found, in a word."""
        return str(self.way) if self.parent else "candidate"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, each with its context, once each: the same word in two contexts is two features."""
        parts = urlsplit(self.url)
        texts = (unquote(f"{parts.path} {parts.query}"), parts.hostname or "", self.anchor, self.around)
        found = {
            f"{context}:{word}"
            for context, text in zip(CONTEXTS, texts, strict=True)
            for word in words(text, "un" if context == "host" else self.language)
        }
        return tuple(sorted(found))


def site_of(url: str) -> str:
    """The site of *url*: its registered domain."""
    return registered_domain(urlsplit(url).hostname or "")


def entry_page(url: str) -> str:
    """The page from which the site of *url* is judged: the root of its host.

    >>> entry_page("https://www.example.org/en/rooms?x=1")
    'https://www.example.org/'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
