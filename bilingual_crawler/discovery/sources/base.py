"""The protocols of sources of candidates and backlinks, and their values; the sources that are lists anyone can write
(tab-separated, UTF-8, packed with gzip or not); hosts as Common Crawl writes them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol, TypeVar

from bilingual_crawler.discovery.sites import read_pages
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.storage.files import DAMAGE, LeftOut, lines_within, open_packed
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import host_of, normal_host


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


MAX_BYTES = 64 << 20  # a list of all files of a crawl has less than 30 MB


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
    remedy = "download it, or write s3://commoncrawl/ or https://data.commoncrawl.org/ before each path"
    raise SourceError(f"{listing}: {line} is not in its folder; {remedy}")


MAX_LINE = 1 << 16
MAX_BACKLINKS = 2_000_000  # maximum backlinks, 200 bytes of memory each
_MARK = "\ufeff"
NO_URL = "no host or URL"
Row = TypeVar("Row")


class TsvCandidates:
    """One site a line. A header names the columns: ``url``, and perhaps ``prior`` (0 to 1) and ``pages``
    (``mlt:12 eng:40``, pages by language). Without a header the first column is the URL or host, the rest is not read.
    SourceError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.left_out = LeftOut()
        check_list(path)

    def candidates(self, pair: LanguagePair) -> Iterator[Lead]:
        seen = set()
        for candidate in _read(self._path, ("url",), _candidate, self.left_out):
            if candidate.url in seen:
                self.left_out["repeated"] += 1
                continue
            seen.add(candidate.url)
            yield candidate


def _candidate(row: Mapping[str, str]) -> Lead:
    return replace(_lead(row, "prior", 0.5), pages=read_pages(row["pages"]))


class TsvBacklinks:
    """One link between sites a line: the linked ``host``, the ``url`` of the page that links or its host, and perhaps
    ``weight`` (0 to 1), in this order or as a header names them. They are held in memory. SourceError if the file
    cannot be read or has more than 2,000,000 links.
    """

    def __init__(self, path: Path) -> None:
        self.left_out = LeftOut()
        self._found: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._guessed: set[str] = set()
        check_list(path)
        links = _read(path, ("host", "url", "weight"), _link, self.left_out)
        for count, (host, link) in enumerate(links, 1):
            if count > MAX_BACKLINKS:
                raise SourceError(f"{path}: more than {MAX_BACKLINKS:,} backlinks; give fewer, or cc-graph:DIR")
            if link.guessed_scheme:
                self._guessed.add(link.url)
            pages = self._found[host]
            pages[link.url] = max(link.weight, pages.get(link.url, 0.0))

    def backlinks(self, host: str) -> Sequence[Lead]:
        found = self._found.get(bare_host(host) or "", {})
        links = (Lead(url, weight, url in self._guessed) for url, weight in found.items())
        return sorted(links, key=lambda link: (-link.weight, link.url))


def _link(row: Mapping[str, str]) -> tuple[str, Lead]:
    host = bare_host(row["host"])
    if host is None:
        raise ValueError(NO_URL)
    return host, _lead(row, "weight", 1.0)


def _lead(row: Mapping[str, str], column: str, default: float) -> Lead:
    """The page, or the home page of the host (with or without port), in a row, and its weight in *column*."""
    text, weight = row["url"], row[column]
    url = canonicalise(text if "://" in text else f"https://{text}") if text else None
    if url is None:
        raise ValueError(NO_URL)
    try:
        share = float(weight) if weight else default
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError("not between 0 and 1")
    return Lead(url, share, "://" not in text)


def check_list(path: Path) -> None:
    if not path.is_file():
        raise SourceError(f"{path}: no such file; give a list with one URL or host a line")


def _read(
    path: Path, columns: Sequence[str], parse: Callable[[Mapping[str, str]], Row], left_out: LeftOut
) -> Iterator[Row]:
    """The rows of *path*, by *columns* or those of its header; rows that *parse* refuses by ValueError are left out."""
    header_may_come = True
    try:
        with open_packed(path) as file:
            for number, line in enumerate(lines_within(file, MAX_LINE), 1):
                try:
                    if line is None:
                        raise ValueError("line too long")
                    text = line.decode().removeprefix(_MARK).rstrip("\r\n")
                    if not text.strip() or text.startswith("#"):
                        continue
                    fields = [field.strip() for field in text.split("\t")]
                    header = _header(fields, columns[0]) if header_may_come else ()
                    header_may_come = False
                    if header:
                        columns = header
                    else:
                        yield parse(defaultdict(str, zip(columns, fields, strict=False)))
                except ValueError as error:
                    reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                    left_out.add(reason, f"{path}, line {number}")
    except DAMAGE as error:
        raise SourceError(f"{path}: cannot be read to its end ({error}); download or pack it again") from error


def _header(fields: Sequence[str], first: str) -> Sequence[str]:
    """The columns that the first line of a file names, with *first* among them; empty if it is no header."""
    names = [field.lower() for field in fields]
    if first not in names and names[0] == "site":
        # as in the sites.tsv of a discovery
        names[0] = first
    return names if first in names else ()
