"""What one parse of a page yields: its text, and its links with the evidence the page gives about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LinkSource(StrEnum):
    """Where in the response a link was found."""

    A = "a"
    AREA = "area"
    ALTERNATE = "alternate"
    """``<link rel=alternate hreflang>``"""
    HEADER = "header"
    """HTTP ``Link`` header"""
    OPTION = "option"
    """``<option value=URL>`` of a list of languages"""
    FRAME = "frame"
    """``<frame src>`` of a frameset"""
    REFRESH = "refresh"
    SITEMAP = "sitemap"


class LinkPosition(StrEnum):
    """The part of the page that holds a link."""

    BODY = "body"
    NAVIGATION = "navigation"
    SWITCHER = "switcher"
    """A language switcher: a group of links named after languages."""
    HEAD = "head"
    """Not on the visible page: head, HTTP header, sitemap."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link and what its page says about it; languages are ISO 639-3."""

    url: str
    """Canonical absolute URL."""
    text: str = ""
    """Anchor text, blanks collapsed, at most 200 characters."""
    source: LinkSource = LinkSource.A
    position: LinkPosition = LinkPosition.BODY
    hreflang: str | None = None
    """``hreflang`` as ISO 639-3, or ``x-default``."""
    lang: str | None = None
    """``lang`` attribute on the link or an element inside it, as ISO 639-3."""
    alternate: bool = False
    """``rel=alternate``"""
    nofollow: bool = False
    label: str | None = None
    """The language that a switch names by its text, title, code or flag, as ISO 639-3."""


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed HTML page."""

    url: str
    title: str
    text: str
    """Visible text, one line per block."""
    links: tuple[Link, ...]
    links_left: int = 0
    """Links that the page has besides, too many to be followed."""
    language: str | None = None
    """``lang`` of the root element, as ISO 639-3."""
    nofollow: bool = False
    """``<meta name=robots content=nofollow>``"""
    noindex: bool = False
