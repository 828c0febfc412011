"""Reads a crawl's output folder back into what a report shows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bilingual_crawler.reporting.records import CRAWL, DOCUMENTS, PAIRS, SUMMARY, read_json_lines, read_tsv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


NOT_DOWNLOADED = frozenset({"robots", "ignored", "redirect"})
"""Outcomes in ``crawl.tsv`` that are not counted as a download."""


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
    summary = _read_summary(directory / SUMMARY)
    rows = list(read_tsv(directory / PAIRS))
    hosts: dict[str, HostCounts] = {}
    curve = _read_fetches(directory / CRAWL, rows, hosts)
    paired = {row[side] for row in rows for side in ("url_a", "url_b")}
    for url in paired:
        hosts.setdefault(_host(url), HostCounts()).paired += 1
    shown = rows[:max_pairs]
    titles = _read_documents(directory / DOCUMENTS, shown, hosts)
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


def _read_fetches(path: Path, pairs: list[dict[str, str]], hosts: dict[str, HostCounts]) -> tuple[tuple[int, int], ...]:
    partners: dict[str, list[str]] = {}
    for pair in pairs:
        partners.setdefault(pair["url_a"], []).append(pair["url_b"])
        partners.setdefault(pair["url_b"], []).append(pair["url_a"])
    curve = [(0, 0)]
    downloaded: set[str] = set()
    found = 0
    for fetch in read_tsv(path):
        url = fetch["url"]
        if fetch["outcome"] in NOT_DOWNLOADED or url in downloaded:
            continue
        downloaded.add(url)
        counts = hosts.setdefault(_host(url), HostCounts())
        counts.fetched += 1
        counts.failed += not fetch["status"].startswith("2")
        found += sum(partner in downloaded for partner in partners.get(url, ()))
        if found > curve[-1][1]:
            curve.append((len(downloaded), found))
    if len(downloaded) > curve[-1][0]:
        curve.append((len(downloaded), found))
    return tuple(curve)


def _read_documents(path: Path, pairs: list[dict[str, str]], hosts: dict[str, HostCounts]) -> dict[str, str]:
    wanted = {pair[side] for pair in pairs for side in ("url_a", "url_b")}
    titles: dict[str, str] = {}
    for document in read_json_lines(path):
        url = document["url"]
        hosts.setdefault(_host(url), HostCounts()).kept[document["language"]] += 1
        if url in wanted:
            titles[url] = document.get("title") or ""
    return titles


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
