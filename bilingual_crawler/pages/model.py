"""The record of a page, from its parse to the alignment, and its links with their evidence."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from bilingual_crawler.languages.codes import UNKNOWN, LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.origin import NOTHING, OptOuts, Origin
from bilingual_crawler.pages.origin import UNKNOWN as NO_ORIGIN
from bilingual_crawler.pages.outline import Outline

MAX_TITLE = 500  # characters of a title that are kept
MAX_TEXT = 2_000_000  # characters of text that are kept of a page
MAX_LINES = 50_000  # lines of text that are kept of a page
ENOUGH_NEW_TEXT = 0.2  # share of new text from which a page counts whole


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
    """``onclick`` or ``javascript:`` with an address as it is, ``location.href='/es/'``; ``data-href`` and the like"""
    FRAME = "frame"
    """``<frame src>`` of a frameset"""
    EMBED = "embed"
    """``<iframe>``, ``<object>`` or ``<embed>`` with a page of this site"""
    REFRESH = "refresh"
    """``<meta http-equiv=refresh>``, or the HTTP header"""
    LINK = "link"
    """``<link rel=next>``, and others that lead to pages"""
    SITEMAP = "sitemap"


class LinkPosition(StrEnum):
    """The part of the page that holds a link."""

    BODY = "body"
    NAVIGATION = "navigation"
    SWITCHER = "switcher"
    """A language switcher: a group of links named after languages."""
    HEAD = "head"
    """Outside the visible page: head, HTTP header, sitemap."""


class Link(Struct, frozen=True, omit_defaults=True):
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
        return self.announces or self.is_switch

    @property
    def is_switch(self) -> bool:
        """Whether it is in a language switcher."""
        return self.position is LinkPosition.SWITCHER

    @property
    def claimed(self) -> str | None:
        """The language it claims to lead to, also with its script or ``x-default``; None if it names none."""
        return self.hreflang or self.label


class PageRecord(Struct, frozen=True, omit_defaults=True):
    """What was read of a page, HTML or another document, and how a crawl counts it."""

    url: str
    """Where it was found in the end: redirects followed."""
    language: str = UNKNOWN
    """Language of the text, ISO 639-3 or ``un``."""
    side: str | None = None
    """The language of the crawl it counts as, if any."""
    seed: bool = False
    depth: int = 0
    """Links from a seed."""
    length: int = 0
    """Width of own text, in which a Chinese, Japanese or Korean character counts twice; also :meth:`without_text`."""
    links: tuple[Link, ...] = ()
    objection: str | None = None
    """The opt-out because of which it is no document, such as ``noindex``; None without one that is obeyed."""
    nofollow: bool = False
    """``nofollow`` in ``<meta name=robots>`` or ``X-Robots-Tag``"""
    canonical: str | None = None
    """The address that ``rel=canonical`` gives the page, often its own; None if it gives none."""
    outline: Outline | None = None
    """What it may have in common with its translation; None if it was not looked at."""
    new_text: float = 1.0
    """Share of its text, 0 to 1, that its folder has not shown before."""
    title: str = ""
    """At most 500 characters."""
    text: str = ""
    """Own text, without frame, one line per block; at most 50,000 lines and 2,000,000 characters."""
    links_left: int = 0
    """Number of further links, which are beyond the limits."""
    declared: tuple[str, ...] = ()
    """The language of the page by each of its declarations, the most direct first, as ISO 639-3."""
    declared_language: str | None = None
    """The language that most declarations name, those of its links and its response included, ISO 639-3."""
    shares: tuple[tuple[str, int], ...] = ()
    """At most three languages with their percentage of the text, largest first."""
    reliable: bool = False
    """Whether the text alone decides about the language."""
    documents: dict[str, int] = field(default_factory=dict)
    """Number of links to documents that are not HTML, by the ending of their names; they may be among *links*."""
    is_cut: bool = False
    """Whether the document has more pages than are read of one."""
    origin: Origin = NO_ORIGIN
    """What it declares about where it comes from, without its opt-outs."""
    opt_outs: OptOuts = NOTHING
    """Those of the page, and in a crawl those of its headers and its site."""
    sample: bytes = b""
    """Of its word sequences."""
    profile: bytes = b""
    """What an alignment compares, if a crawl wants it: a packed :class:`~bilingual_crawler.pairing.model.Profile`."""

    @property
    def is_document(self) -> bool:
        """Whether it is in a language of the crawl, and does not opt out."""
        return self.side is not None and self.objection is None

    @property
    def first_declared(self) -> str | None:
        """Its most direct declaration of its language, often ``lang`` of the root element; None without any."""
        return self.declared[0] if self.declared else None

    @property
    def claims(self) -> tuple[Link, ...]:
        """The links that claim to lead to its versions in other languages; also those that are not to be followed."""
        return tuple(link for link in self.links if link.claims)

    @property
    def novelty(self) -> float:
        """How far the page counts, 0 to 1: whole from :data:`ENOUGH_NEW_TEXT` on, below in proportion."""
        return min(1.0, self.new_text / ENOUGH_NEW_TEXT)

    def seen_by(self, pair: LanguagePair) -> PageRecord:
        """The page as a crawl of only this *pair* sees it: in neither language if its own is not in the pair."""
        return self if self.side in (None, pair.a, pair.b) else replace(self, side=None)

    def contradicting(self, pairs: LanguagePair | LanguagePairs) -> str | None:
        """The language of *pairs* that the page declares though its text is in another one; None if there is none."""
        declared = pairs.side(self.declared_language) if self.declared_language else None
        return declared if declared != pairs.side(self.language) else None

    def claims_for(self, pair: LanguagePair) -> list[Link]:
        """Its :attr:`claims` of the other language of *pair*, or of none; empty if the page is in neither language."""
        claims = self.claims if self.side else ()
        return [link for link in claims if link.claimed is None or pair.is_other(link.claimed, self.side)]

    def without_text(self) -> PageRecord:
        """The page as policies see it, in a resume as well: without text, sample and profile."""
        return replace(self, text="", sample=b"", profile=b"")
