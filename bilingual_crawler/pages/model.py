"""The result of parsing a page: its text, and its links with the evidence that the page gives about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from bilingual_crawler.pages.opt_outs import NOTHING, OptOuts
from bilingual_crawler.pages.origin import UNKNOWN, Origin

MAX_TITLE = 500
"""Characters of a title that are kept."""
MAX_TEXT = 2_000_000
"""Characters of text that are kept of a page."""
MAX_LINES = 50_000
"""Lines of text that are kept of a page."""


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
    FORM = "form"
    """Choice of a language in a ``<form method=get>``"""
    SCRIPT = "script"
    """``onclick`` with an address as it is: ``location.href='/es/'``"""
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
    """Outside the visible page: head, HTTP header, sitemap."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with the evidence of its page; languages are ISO 639-3."""

    url: str
    """Canonical absolute URL."""
    text: str = ""
    """Anchor text, blanks collapsed, at most 200 characters."""
    source: LinkSource = LinkSource.A
    position: LinkPosition = LinkPosition.BODY
    hreflang: str | None = None
    """``hreflang`` as ISO 639-3, with its script if it names one (``zho_Hant``), or ``x-default``."""
    lang: str | None = None
    """``lang`` attribute on the link or an element inside it, as ISO 639-3."""
    alternate: bool = False
    """``rel=alternate``"""
    nofollow: bool = False
    label: str | None = None
    """The language that a link of a switcher names by its text, title, code or flag, as ISO 639-3."""
    around: str = ""
    """Text of the block that holds the link, at most 400 characters; only for links to other sites."""

    @property
    def announces(self) -> bool:
        """Whether it announces a version of the page in another language."""
        return self.alternate and self.hreflang is not None

    @property
    def claims(self) -> bool:
        """Whether it says that it leads to a version of the page in another language."""
        return self.announces or self.position is LinkPosition.SWITCHER


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed HTML page, or the text of another document."""

    url: str
    title: str
    """At most 500 characters."""
    text: str
    """Own text (see :mod:`~bilingual_crawler.pages.frame`), one line per block; at most 50,000 lines and 2,000,000
    characters."""
    links: tuple[Link, ...]
    links_left: int = 0
    """Number of further links, which are beyond the limits."""
    declared: tuple[str, ...] = ()
    """The language of the page by each of its declarations, the most direct first, as ISO 639-3."""
    canonical: str | None = None
    """The address that ``rel=canonical`` gives the page, often its own; None if it gives none."""
    nofollow: bool = False
    """``nofollow`` in ``<meta name=robots>`` or ``X-Robots-Tag``"""
    noindex: bool = False
    documents: dict[str, int] = field(default_factory=dict)
    """Number of links to documents that are not HTML, by the ending of their names; they may be among *links*."""
    is_cut: bool = False
    """Whether the document has more pages than are read of one."""
    origin: Origin = UNKNOWN
    """What it declares about where it comes from, without its opt-outs."""
    opt_outs: OptOuts = NOTHING
    """Those of the page, and in a crawl those of its headers and its site."""
