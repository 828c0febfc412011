"""What a source of candidates and a source of backlinks offer (Barbosa et al. 2011, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from bilingual_crawler.languages import LanguagePair


class SourceError(ValueError):
    """A source that cannot be used; the message names the input and the fix."""


class WarcRange(NamedTuple):
    """Where Common Crawl keeps a response: a row of its index."""

    filename: str
    """``crawl-data/…/x.warc.gz``, as the index has it."""
    offset: int
    """Bytes from the start of the file to the record's gzip member."""
    length: int
    """Bytes of the member."""


@dataclass(frozen=True)
class Candidate:
    """A site that may be bilingual."""

    url: str
    """The entry page, canonical."""
    source: str
    """Kind of the source: ``cc-index``, ``tsv``."""
    pages: Mapping[str, int] = field(default_factory=dict)
    """Pages known by main language (ISO 639-3); empty if the source does not know."""
    prior: float = 0.5
    """Between 0 and 1: how likely the site is bilingual before any download."""
    archived: WarcRange | None = None
    """Where the entry page can be read in place of the site."""
    guessed_scheme: bool = False
    """The source names none: https is tried first, then http."""


@dataclass(frozen=True)
class Backlink:
    """A page that links to a host, or the home page of a host that does."""

    url: str
    """Canonical."""
    weight: float
    """Between 0 and 1: how much the links of that page are worth, compared with those of the other backlinks."""


class CandidateSource(Protocol):
    """Knows sites that may be bilingual."""

    @property
    def left_out(self) -> Counter[str]:
        """What was read but is no candidate, by reason."""

    def candidates(self, pair: LanguagePair) -> Iterator[Candidate]:
        """Yield each site once, the most likely first if the source knows how likely sites are; SourceError if the
        input is damaged.
        """


class BacklinkSource(Protocol):
    """Knows who links to a host."""

    @property
    def left_out(self) -> Counter[str]:
        """What was read but is no backlink, by reason."""

    def backlinks(self, host: str) -> Sequence[Backlink]:
        """Who links to the host (with or without ``www.`` and port), heaviest first; empty if the host is unknown."""
