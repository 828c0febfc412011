"""Candidates and backlinks from lists that anyone can write: tab-separated, UTF-8, packed with gzip or not."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.sites import read_pages
from bilingual_crawler.discovery.sources.base import Backlink, Candidate, SourceError, bare_host
from bilingual_crawler.storage.files import DAMAGE, LeftOut, lines_within, open_packed
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.languages.codes import LanguagePair

MAX_LINE = 1 << 16
"""Bytes of the longest line that is read."""
MAX_BACKLINKS = 2_000_000
"""Maximum backlinks, 200 bytes of memory each."""
_MARK = "\ufeff"


class _BadRow(Exception):
    """The reason why a row is left out."""


class TsvCandidates:
    """One site a line. A header names the columns: ``url``, and perhaps ``prior`` (0 to 1) and ``pages``
    (``mlt:12 eng:40``, pages by language). Without a header the first column is the URL or host, the rest is not read.
    SourceError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.left_out = LeftOut()
        check_list(path)

    def candidates(self, pair: LanguagePair) -> Iterator[Candidate]:
        """Yield the sites in the order of the file, each once."""
        seen = set()
        for number, row in _rows(self._path, ("url",), self.left_out):
            try:
                candidate = _candidate(row)
            except _BadRow as reason:
                self.left_out.add(str(reason), f"{self._path}, line {number}")
                continue
            if candidate.url in seen:
                self.left_out["repeated"] += 1
                continue
            seen.add(candidate.url)
            yield candidate


class TsvBacklinks:
    """One link between sites a line: the linked ``host``, the ``url`` of the page that links or its host, and perhaps
    ``weight`` (0 to 1), in this order or as a header names them. They are held in memory. SourceError if the file
    cannot be read or has more than 2,000,000 links.
    """

    def __init__(self, path: Path) -> None:
        self.left_out = LeftOut()
        self._found: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._guessed: set[str] = set()
        count = 0
        check_list(path)
        for number, row in _rows(path, ("host", "url", "weight"), self.left_out):
            host, url = bare_host(row.get("host", "")), _page(row.get("url", ""))
            if host is None or url is None:
                self.left_out.add("no host or URL", f"{path}, line {number}")
                continue
            try:
                weight = _share(row.get("weight", ""), 1.0)
            except _BadRow as reason:
                self.left_out.add(str(reason), f"{path}, line {number}")
                continue
            count += 1
            if count > MAX_BACKLINKS:
                raise SourceError(f"{path}: more than {MAX_BACKLINKS:,} backlinks; give fewer, or cc-graph:DIR")
            if "://" not in row["url"]:
                self._guessed.add(url)
            pages = self._found[host]
            pages[url] = max(weight, pages.get(url, 0.0))

    def backlinks(self, host: str) -> Sequence[Backlink]:
        """Who links to the host, heaviest first."""
        found = self._found.get(bare_host(host) or "", {})
        links = (Backlink(url, weight, url in self._guessed) for url, weight in found.items())
        return sorted(links, key=lambda link: (-link.weight, link.url))


def check_list(path: Path) -> None:
    """SourceError if there is no such file."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; give a list with one URL or host a line")


def _rows(path: Path, columns: Sequence[str], left_out: LeftOut) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Line number and fields by column. If the first line names the first column, or a site, it is a header."""
    header_may_come = True
    try:
        with open_packed(path) as file:
            for number, line in enumerate(lines_within(file, MAX_LINE), 1):
                if line is None:
                    left_out.add("line too long", f"{path}, line {number}")
                    continue
                try:
                    text = line.decode().removeprefix(_MARK).rstrip("\r\n")
                except UnicodeDecodeError:
                    left_out.add("not UTF-8", f"{path}, line {number}")
                    continue
                if not text.strip() or text.startswith("#"):
                    continue
                fields = [field.strip() for field in text.split("\t")]
                if header_may_come and (header := _header(fields, columns[0])):
                    columns = header
                else:
                    yield number, dict(zip(columns, fields, strict=False))
                header_may_come = False
    except DAMAGE as error:
        raise SourceError(f"{path}: cannot be read to its end ({error}); download or pack it again") from error


def _header(fields: Sequence[str], first: str) -> Sequence[str]:
    """The columns that the first line of a file names, with *first* among them; empty if it is no header."""
    names = [field.lower() for field in fields]
    if first not in names and names[0] == "site":
        # as in the sites.tsv of a discovery
        names[0] = first
    return names if first in names else ()


def _candidate(row: Mapping[str, str]) -> Candidate:
    text = row.get("url", "")
    url = _page(text)
    if url is None:
        raise _BadRow("no host or URL")
    try:
        pages = read_pages(row.get("pages", ""))
    except ValueError as error:
        raise _BadRow(str(error)) from None
    return Candidate(url, "tsv", pages, _share(row.get("prior", ""), 0.5), guessed_scheme="://" not in text)


def _page(text: str) -> str | None:
    """The canonical URL of a page, or of the home page of a host (with or without port)."""
    return canonicalise(text if "://" in text else f"https://{text}") if text else None


def _share(text: str, default: float) -> float:
    try:
        share = float(text) if text else default
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise _BadRow("not between 0 and 1")
    return share
