"""Reads a crawl's output folder back into what a report shows."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class ResultsError(ValueError):
    """The folder is not the output of a crawl; the message names what is missing."""


@dataclass(frozen=True, slots=True)
class FoundPair:
    """A row of ``pairs.tsv`` with the titles of both documents (empty when unknown)."""

    url_a: str
    url_b: str
    score: str
    method: str
    title_a: str = ""
    title_b: str = ""


@dataclass(slots=True)
class HostCounts:
    """What one host cost and gave."""

    fetched: int = 0
    failed: int = 0
    """Fetches that were not answered with a 2xx."""
    kept: Counter[str] = field(default_factory=Counter)
    """Documents by ISO 639-3 language."""
    paired: int = 0
    """Documents that are in a pair."""


@dataclass(frozen=True, slots=True)
class Results:
    """A crawl's output folder, read once; pairs are cut to the number asked for."""

    directory: Path
    summary: Mapping[str, Any]
    curve: tuple[tuple[int, int], ...]
    """(downloads, pairs with both pages downloaded by then), one point per change, first (0, 0)."""
    hosts: Mapping[str, HostCounts]
    pairs: tuple[FoundPair, ...]
    pair_count: int
    paired_pages: int
    files: tuple[tuple[str, int], ...]
    """Name and size in bytes of the files in the folder."""


def read_results(directory: Path, *, max_pairs: int = 200) -> Results:
    """Read ``directory``; all files but ``summary.json`` may be missing, or cut off by a crash."""
    summary = _read_summary(directory / "summary.json")
    rows = list(_read_table(directory / "pairs.tsv"))
    hosts: dict[str, HostCounts] = {}
    curve = _read_fetches(directory / "crawl.tsv", rows, hosts)
    paired = {row[side] for row in rows for side in ("url_a", "url_b")}
    for url in paired:
        hosts.setdefault(_host(url), HostCounts()).paired += 1
    shown = rows[:max_pairs]
    titles = _read_documents(directory / "documents.jsonl.gz", shown, hosts)
    return Results(
        directory=directory,
        summary=summary,
        curve=curve,
        hosts=hosts,
        pairs=tuple(_found_pair(row, titles) for row in shown),
        pair_count=len(rows),
        paired_pages=len(paired),
        files=tuple(
            (path.name, path.stat().st_size)
            for path in sorted(directory.iterdir())
            if path.is_file() and path.name != "report.html"
        ),
    )


def _read_summary(path: Path) -> Mapping[str, Any]:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultsError(f"{path.parent} is not a crawl's output folder: it has no {path.name}") from None
    except ValueError as error:
        raise ResultsError(f"{path} cannot be read: {error}") from None
    if not isinstance(summary, dict):
        raise ResultsError(f"{path} cannot be read: it is not a JSON object")
    return summary


def _read_table(path: Path) -> Iterator[dict[str, str]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        header = next(lines, "").rstrip("\n").split("\t")
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) == len(header):
                yield dict(zip(header, cells, strict=True))


def _read_fetches(
    path: Path, pairs: list[dict[str, str]], hosts: dict[str, HostCounts]
) -> tuple[tuple[int, int], ...]:
    partners: dict[str, list[str]] = {}
    for pair in pairs:
        partners.setdefault(pair["url_a"], []).append(pair["url_b"])
        partners.setdefault(pair["url_b"], []).append(pair["url_a"])
    curve = [(0, 0)]
    downloaded: set[str] = set()
    downloads = found = 0
    for downloads, fetch in enumerate(_read_table(path), 1):
        url = fetch["url"]
        counts = hosts.setdefault(_host(url), HostCounts())
        counts.fetched += 1
        counts.failed += not fetch["status"].startswith("2")
        if url in partners and url not in downloaded:
            downloaded.add(url)
            found += sum(partner in downloaded for partner in partners[url])
            if found > curve[-1][1]:
                curve.append((downloads, found))
    if downloads > curve[-1][0]:
        curve.append((downloads, found))
    return tuple(curve)


def _read_documents(path: Path, pairs: list[dict[str, str]], hosts: dict[str, HostCounts]) -> dict[str, str]:
    wanted = {pair[side] for pair in pairs for side in ("url_a", "url_b")}
    titles: dict[str, str] = {}
    for document in _documents(path):
        url = document["url"]
        hosts.setdefault(_host(url), HostCounts()).kept[document["language"]] += 1
        if url in wanted:
            titles[url] = document.get("title") or ""
    return titles


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError):
        # A crawl that was killed leaves half a member at the end; what precedes it is whole.
        return


def _found_pair(row: dict[str, str], titles: dict[str, str]) -> FoundPair:
    return FoundPair(
        url_a=row["url_a"],
        url_b=row["url_b"],
        score=row.get("score", ""),
        method=row.get("method", ""),
        title_a=titles.get(row["url_a"], ""),
        title_b=titles.get(row["url_b"], ""),
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url
