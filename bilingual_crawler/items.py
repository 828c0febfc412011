"""The values that rooms hand to each other: pages, documents, pairs, links found."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple

from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.pages.origin import UNKNOWN, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from scrapy import Request

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.pages.outline import Outline


class Claim(NamedTuple):
    """What a page says of a URL: that it is its version in another language."""

    url: str
    language: str | None
    """ISO 639-3, with the script that ``hreflang`` names, or ``x-default``; None if the switcher does not name it."""
    announced: bool
    """By ``hreflang``."""
    switcher: bool
    """By its language switcher."""


def claims_in(links: Iterable[Link]) -> list[Claim]:
    """Return what *links* of a page claim, in their order."""
    return [
        Claim(link.url, link.hreflang or link.label, link.announces, link.position is LinkPosition.SWITCHER)
        for link in links
        if link.claims
    ]


MAX_LINKS = 500
"""Links of a document that are kept to be compared with those of its partner, the first ones."""
ENOUGH_NEW_TEXT = 0.2
"""Share of new text from which a page counts whole."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A downloaded page as a policy sees it."""

    url: str
    language: str
    """Language of the content, ISO 639-3 or ``un``."""
    side: str | None
    """The language of the crawl it counts as, if any."""
    seed: bool = False
    depth: int = 0
    """Links from a seed."""
    length: int = 0
    """Characters of visible text."""
    claims: tuple[Link, ...] = ()
    """The links that claim to lead to its versions in other languages; also those that are not to be followed."""
    noindex: bool = False
    """It opts out of an index, or of text mining if that is respected: the crawl learns from it, but it is no
    document."""
    outline: Outline | None = None
    """What it may have in common with its translation; None if it was not looked at."""
    canonical: str | None = None
    """The address that ``rel=canonical`` gives it; None if it gives none."""
    new_text: float = 1.0
    """Share of its text that its folder has not shown before, 0 to 1."""

    @property
    def novelty(self) -> float:
        """How far the page counts, 0 to 1: whole from :data:`ENOUGH_NEW_TEXT` on, below in proportion."""
        return min(1.0, self.new_text / ENOUGH_NEW_TEXT)

    def seen_by(self, pair: LanguagePair) -> FetchedPage:
        """The page as a crawl of only this *pair* sees it: in neither language if its own is not in the pair."""
        return self if self.side in (None, pair.a, pair.b) else replace(self, side=None)

    def claims_for(self, pair: LanguagePair, links: Iterable[Link] | None = None) -> list[Claim]:
        """Return the claims about the other language of *pair*, also of switchers that name no language.

        *links* are the links that claim, :attr:`claims` by default. Empty if the page is in neither language.
        """
        if self.side is None:
            return []
        claims = claims_in(self.claims if links is None else links)
        return [claim for claim in claims if claim.language is None or pair.is_other(claim.language, self.side)]


@dataclass(slots=True)
class Document:
    """A page in one of the languages; a line of ``documents.jsonl.gz``."""

    url: str
    language: str
    """The language of the crawl that the page counts as, ISO 639-3, with its script if the pair names one."""
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
    origin: Origin = UNKNOWN
    """What the page declares about where it comes from."""

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
    reason: str
    """A key of :data:`~bilingual_crawler.pairing.model.REASONS`."""
    nearest: str
    """The document in the other language that it resembles most, of those it was compared with; empty if none."""
    score: float
    """Of the two; 0 if there is none."""
    pair: str
    """The languages, as ``eng-mlt``."""


class Partners:
    """Documents in pairs, by URL. ``len()`` is the number of pairs, ``in`` tells whether a document is in one."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._of) // 2

    def __contains__(self, url: str) -> bool:
        return url in self._of

    def partner_of(self, url: str) -> str | None:
        """Return the partner of the document at *url*; None if it is unpaired."""
        return self._of.get(url)

    def join(self, url: str, partner: str) -> list[tuple[str, str]]:
        """Make both partners; return the pairs that this breaks."""
        parted = [(one, former) for one in (url, partner) if (former := self.part(one)) is not None]
        self._of[url], self._of[partner] = partner, url
        return parted

    def part(self, url: str) -> str | None:
        """Break the pair of the document at *url*; return its former partner, None if it was unpaired."""
        former = self._of.pop(url, None)
        if former is not None:
            del self._of[former]
        return former


class Proposal(NamedTuple):
    """A document that a policy takes for the translation of another."""

    url: str
    method: str
    """Name of the evidence."""
    probability: float


class Wanted(NamedTuple):
    """A URL that a policy wants to be fetched."""

    url: str
    priority: float
    parent: str = ""
    """The page that led to it; empty for seeds."""


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
    """The priority of a request, and where it comes from."""

    priority: float
    parent: str
    """URL of the page that led to it."""
