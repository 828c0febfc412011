"""The protocols of sources of candidates and backlinks, and their values; hosts as Common Crawl writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bilingual_crawler.storage.files import DAMAGE, open_packed
from bilingual_crawler.urls.hosts import host_of, normal_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.storage.files import LeftOut


def bare_host(url_or_host: str) -> str | None:
    """The host without port and ``www.``, in IDNA form; None if it is no valid host name."""
    host = normal_host(host_of(url_or_host.strip()))
    if host is None:
        return None
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def reverse(host: str) -> str:
    """``www.example.mt`` gives ``mt.example.www``, and the other way round."""
    return ".".join(reversed(host.split(".")))


class SourceError(ValueError):
    """A source that cannot be used; the message names the input and the fix."""


class WarcRange(NamedTuple):
    """Where Common Crawl keeps a response: a row of its index."""

    filename: str
    """``crawl-data/…/x.warc.gz``, as the index has it."""
    offset: int
    """Bytes from the start of the file to the record's gzip member."""
    length: int


@dataclass(frozen=True)
class Lead:
    """What a source knows: a site that may be bilingual (a candidate), or a page that links to one (a backlink)."""

    url: str
    """The entry page of the candidate; the page that links, or the home page of its host. Canonical."""
    weight: float = 0.5
    """0 to 1: how likely the candidate is bilingual, or how much the links of the page are worth among backlinks."""
    guessed_scheme: bool = False
    """The source names no scheme: https is tried first, then http."""
    pages: Mapping[str, int] = field(default_factory=dict)
    """Pages of the candidate known by main language (ISO 639-3); empty if the source does not know."""
    archived: WarcRange | None = None
    """Where the entry page can be read in place of the site."""


class CandidateSource(Protocol):
    """Knows sites that may be bilingual."""

    left_out: LeftOut
    """Rows that are no candidates, by reason."""

    def candidates(self, pair: LanguagePair) -> Iterator[Lead]:
        """Yield each site once, the likeliest first if the source knows; SourceError if the input is damaged."""


class BacklinkSource(Protocol):
    """Knows who links to a host."""

    left_out: LeftOut
    """Rows that are no backlinks, by reason."""

    def backlinks(self, host: str) -> Sequence[Lead]:
        """Who links to the host (with or without ``www.`` and port), heaviest first; empty if the host is unknown."""


MAX_BYTES = 64 << 20
"""A list of all files of a crawl has less than 30 MB."""


def read_list(path: Path) -> list[str]:
    """The paths in a list: addresses, or files beside it or in the folders that the line names.

    SourceError if the list or one of its files is missing or damaged.
    """
    try:
        with open_packed(path) as file:
            content = file.read(MAX_BYTES + 1)
        lines = content.decode().split()
    except (*DAMAGE, UnicodeError) as error:
        raise SourceError(f"{path}: cannot read this list of paths ({error}); download it again") from error
    if len(content) > MAX_BYTES:
        raise SourceError(f"{path}: longer than {MAX_BYTES >> 20} MB, so it is no list of paths; name the files")
    if not lines:
        raise SourceError(f"{path}: no path in it")
    return [line if "://" in line else _beside(path, line) for line in lines]


def _beside(listing: Path, line: str) -> str:
    parts = PurePosixPath(line).parts
    for start in range(len(parts)):
        found = listing.parent.joinpath(*parts[start:])
        if found.is_file():
            return str(found)
    raise SourceError(
        f"{listing}: {line} is not in its folder; download it, or write s3://commoncrawl/ or"
        " https://data.commoncrawl.org/ before each path"
    )
