"""The output folder of a crawl, read for report and summary."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bilingual_crawler.bitext.overview import SUFFIX, BitextOverview
from bilingual_crawler.discovery.sites import Funnel
from bilingual_crawler.languages.codes import DEFAULT_EQUIVALENTS, LanguageError
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import MAX_TITLE
from bilingual_crawler.pairing.matching import disjoint
from bilingual_crawler.pairing.model import outcomes, pairs_of_others, unpaired_of_others
from bilingual_crawler.reporting.ledger import CrawlTally, Summary, is_fetched
from bilingual_crawler.settings import BILINGUAL_DETECTORS
from bilingual_crawler.storage import records
from bilingual_crawler.storage.files import DAMAGE, read_within, replacing
from bilingual_crawler.storage.records import CRAWL, PAIRS, SITES, SUMMARY, UNPAIRED, read_tsv
from bilingual_crawler.urls.hosts import registered_domain

MAX_DOUBTFUL = 50  # shown pairs with the lowest scores; the others are the best
MAX_SUMMARY = 16 << 20
MAX_LEFT_OVER = 100
MAX_SITES = 1000
NOT_WRITTEN = "not-written"
"""Why there is no document of a page that is logged as one."""
COLUMNS = {
    CRAWL: ("status", "url", "language", "outcome"),
    PAIRS: ("url_a", "url_b"),
    UNPAIRED: ("url", "reason", "nearest", "score"),
    SITES: ("site", "verdict"),
}
"""Columns that a report reads of each table."""


Row = dict[str, str]
"""The cells of a row by column. A shown row has the titles of its documents, too, which are empty when unknown."""


class ResultsError(ValueError):
    """A folder that is not the output of a crawl; the message names what is missing."""


@dataclass(slots=True)
class HostCounts:
    fetched: int = 0
    failed: int = 0
    """Answers other than 2xx."""
    kept: Counter[str] = field(default_factory=Counter)
    paired: int = 0


@dataclass(slots=True)
class SiteCounts:
    """Fetched pages of a registered domain, and pairs with a document of it."""

    fetched: int = 0
    pairs: int = 0


def most_fetched(sites: Mapping[str, SiteCounts]) -> list[tuple[str, SiteCounts]]:
    return sorted(sites.items(), key=lambda item: (-item[1].fetched, item[0]))


@dataclass(frozen=True, slots=True)
class Results:
    """A crawl's output folder, read once. Long lists are cut to the length that a report shows."""

    summary: Mapping[str, Any]
    """As in ``summary.json``, but counted again from the other files if possible, so it is true after ``kill -9``."""
    curve: tuple[tuple[int, int], ...]
    """(pages fetched, pairs with both pages fetched by then), one point per change, first (0, 0)."""
    hosts: Mapping[str, HostCounts]
    pairs: list[Row]
    """The best pairs, best first."""
    doubtful: list[Row]
    """The other pairs with the lowest scores, lowest first."""
    left_over: list[Row]
    pair_counts: Mapping[str, int]
    paired_pages: int
    bitexts: tuple[BitextOverview, ...]
    files: tuple[tuple[str, int], ...]

    @property
    def pair_count(self) -> int:
        return sum(self.pair_counts.values())


class Course:
    """The course of a crawl by the logs in *directory*, which may be missing, or cut off by a crash.

    *pairs*: the rows of ``pairs.tsv``, if they are read; *written*: hashes of the addresses of the documents, if known,
    as a kill or a full disk leaves pages that are logged without their document.
    """

    def __init__(
        self, directory: Path, languages: LanguagePairs, pairs: list[Row] | None = None, written: set[int] | None = None
    ) -> None:
        self.tally = CrawlTally(languages)
        self.hosts: defaultdict[str, HostCounts] = defaultdict(HostCounts)
        self.sites: defaultdict[str, SiteCounts] = defaultdict(SiteCounts)
        self.curve = [(0, 0)]
        partners: defaultdict[str, list[str]] = defaultdict(list)
        for pair in _read_pairs(directory, languages) if pairs is None else pairs:
            for url, partner in permutations((pair["url_a"], pair["url_b"])):
                partners[url].append(partner)
            for site in {registered_domain(pair["url_a"]), registered_domain(pair["url_b"])}:
                self.sites[site].pairs += 1
        for url in partners:
            self.hosts[_host(url)].paired += 1
        fetched: set[str] = set()
        found = 0
        for row in read_tsv(directory / CRAWL):
            url = row["url"]
            if row["outcome"] == "document" and written is not None and hash(url) not in written:
                row["outcome"] = NOT_WRITTEN
            if not self.tally.note(row) or not is_fetched(row):
                continue
            self.sites[registered_domain(url)].fetched += 1
            counts = self.hosts[_host(url)]
            counts.fetched += 1
            counts.failed += not row["status"].startswith("2")
            if row["outcome"] == "document":
                counts.kept[self.tally.side(row["language"])] += 1
            if url in partners:
                fetched.add(url)
                found += sum(partner in fetched for partner in partners[url])
            if found > self.curve[-1][1]:
                self.curve.append((self.tally.fetched, found))
        if self.tally.fetched > self.curve[-1][0]:
            self.curve.append((self.tally.fetched, found))


def _read_pairs(directory: Path, languages: LanguagePairs) -> list[Row]:
    """The rows of ``pairs.tsv``, best first. Older crawls had one pair, and did not name it.

    Until a crawl has ended, which its ``unpaired.tsv`` shows, a better pair is written below the one that it replaces.
    """
    rows = ({"pair": str(languages), "score": "", "method": ""} | row for row in read_tsv(directory / PAIRS))
    return sorted(rows, key=lambda row: -_score(row)) if (directory / UNPAIRED).exists() else one_to_one(rows)


def read_results(directory: Path, *, max_pairs: int = 200) -> Results:
    """Read ``directory``; all files but ``summary.json`` may be missing, or cut off by a crash. Raises ResultsError."""
    summary = read_summary(directory)
    languages = pairs_of(summary, directory)
    for name, columns in COLUMNS.items():
        row = next(read_tsv(directory / name), None)
        if row is not None and not row.keys() >= set(columns):
            raise ResultsError(f"{directory / name} cannot be read: its first line must name {', '.join(columns)}")
    rows = _read_pairs(directory, languages)
    paired = {row[side] for row in rows for side in ("url_a", "url_b")}
    others = ({"pair": str(languages)} | row for row in read_tsv(directory / UNPAIRED))
    unpaired = sorted(others, key=lambda row: -_score(row))
    best, doubtful = _shown(rows, max_pairs)
    left_over = unpaired[:MAX_LEFT_OVER]
    wanted = {row[name] for row in (*best, *doubtful, *left_over) for name in ("url_a", "url_b", "url") if name in row}
    titles, written = _read_documents(directory / records.DOCUMENTS, wanted)
    course = Course(directory, languages, rows, written)
    for row in (*best, *doubtful, *left_over):
        row |= {f"title{side}": titles.get(row.get(f"url{side}", ""), "") for side in ("", "_a", "_b")}
    return Results(
        summary={
            **summary,
            **_recounted(summary, directory, course.tally, rows, unpaired, len(paired)),
            "sites": _sites(course.sites, summary.get("sites", {}), course.tally.fetched),
        },
        curve=tuple(course.curve),
        hosts=course.hosts,
        pairs=best,
        doubtful=doubtful,
        left_over=left_over,
        pair_counts=Counter(row["pair"] for row in rows),
        paired_pages=len(paired),
        bitexts=tuple(map(_read_overview, sorted((directory / records.BITEXT).glob(f"*.{SUFFIX}")))),
        files=tuple(
            (path.name, path.stat().st_size)
            for path in sorted(directory.iterdir())
            if path.is_file() and path.name != "report.html" and not path.name.startswith(".")
        ),
    )


def _shown(rows: list[Row], max_pairs: int) -> tuple[list[Row], list[Row]]:
    """The best and the lowest of *rows*, best first: *max_pairs* together, as many of each language pair."""
    by_pair: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_pair[row["pair"]].append(row)
    best: list[Row] = []
    doubtful: list[Row] = []
    for group in by_pair.values():
        share = max_pairs // len(by_pair)
        last = min(MAX_DOUBTFUL, share // 2) if len(group) > share else 0
        best += group[: share - last]
        doubtful += group[: -last - 1 : -1]
    return best, doubtful


def read_summary(directory: Path) -> Mapping[str, Any]:
    """Read the ``summary.json`` of a crawl; raises ResultsError without one, or if a value has another type."""
    path = directory / SUMMARY
    try:
        summary = json.loads(read_within(path, MAX_SUMMARY))
    except FileNotFoundError:
        raise ResultsError(f"{path.parent} is not a crawl's output folder: it has no {path.name}") from None
    except (ValueError, RecursionError, *DAMAGE) as error:
        raise ResultsError(f"{path} cannot be read: {error}") from None
    if not isinstance(summary, dict):
        raise ResultsError(f"{path} cannot be read: it is not a JSON object")
    try:
        msgspec.convert(summary, Summary)
    except msgspec.ValidationError as error:
        raise ResultsError(f"{path} cannot be read: {error}; correct the value, or remove it") from None
    return summary


def _read_overview(path: Path) -> BitextOverview:
    try:
        return msgspec.json.decode(read_within(path, MAX_SUMMARY), type=BitextOverview)
    except (ValueError, *DAMAGE) as error:
        raise ResultsError(f"{path} cannot be read: {error}; write the bitext again, or remove the file") from None


def check_tables(folder: Path, pairs: LanguagePairs) -> None:
    """Raise ResultsError if a table in *folder*, whose rows of other languages than *pairs* stay, cannot be read."""
    for name, read in ((PAIRS, pairs_of_others), (UNPAIRED, unpaired_of_others)):
        try:
            read(folder / name, pairs)
        except (KeyError, ValueError) as error:
            raise ResultsError(f"{folder / name} cannot be read: {error}; correct it, or remove it") from None


def write_summary(directory: Path, summary: Mapping[str, Any]) -> None:
    """Replace the ``summary.json`` of a crawl atomically. Raises OSError, also if its folder is gone."""
    directory.stat()
    with replacing(directory / SUMMARY) as part:
        part.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")


def one_to_one(rows: Iterable[Row]) -> list[Row]:
    """The rows of a ``pairs.tsv``, best first, without those whose documents are in a better pair of the languages."""
    best = sorted(rows, key=lambda row: -_score(row))
    return disjoint(best, lambda row: {(row["pair"], row["url_a"]), (row["pair"], row["url_b"])})


def pairs_of(summary: Mapping[str, Any], directory: Path) -> LanguagePairs:
    """The pairs of the crawl in *directory*, with the languages that counted as one; raises ResultsError."""
    equivalents = summary.get("settings", {}).get("BILINGUAL_EQUIVALENT_LANGUAGES")
    try:
        return LanguagePairs.parse(
            str(summary.get("pair", "")), DEFAULT_EQUIVALENTS if equivalents is None else equivalents.split(",")
        )
    except LanguageError as error:
        raise ResultsError(f"{directory / SUMMARY} cannot be read: {error}") from None


def detectors_of(summary: Mapping[str, Any]) -> tuple[str, ...]:
    named = summary.get("settings", {}).get("BILINGUAL_DETECTORS")
    return tuple(named.split(",") if named else BILINGUAL_DETECTORS)


def _recounted(
    summary: Mapping[str, Any], directory: Path, tally: CrawlTally, rows: list[Row], unpaired: list[Row], paired: int
) -> dict[str, Any]:
    """Count again from the other files of a crawl; without a file the counts of the summary stay."""
    recounted = tally.counts() if (directory / CRAWL).exists() else {}
    if (directory / SITES).exists():
        recounted |= Funnel(directory / SITES).counts()
    if (directory / PAIRS).exists():
        before = summary.get("by_pair") or {str(tally.pairs): summary}
        there = {row["pair"] for row in rows}
        # scrapy align may have put the pairs of the crawl into the other order of their languages
        asked = (str(one) for one in tally.pairs if str(one) in there or f"{one.b}-{one.a}" not in there)
        names = dict.fromkeys((*asked, *(row["pair"] for row in rows)))
        before = {"-".join(reversed(name.split("-"))): counts for name, counts in before.items()} | dict(before)
        refused = {name: counts.get("refused", {}) for name, counts in before.items()}
        reasons = ((row["pair"], row["reason"]) for row in unpaired)
        found = outcomes(names, (row["pair"] for row in rows), reasons, refused)
        if not (directory / UNPAIRED).exists():
            for name, one in found.items():
                found[name] = replace(one, unpaired=before.get(name, {}).get("unpaired", {}))
        recounted |= tally.pair_counts(found, paired)
    return recounted


def _sites(
    sites: Mapping[str, SiteCounts], before: Mapping[str, Mapping[str, Any]], fetched: int
) -> dict[str, dict[str, Any]]:
    """The sites of a summary, those with the most pages first; their states and estimates are those *before*."""
    return {
        site: {
            "fetched": counts.fetched,
            "share": round(counts.fetched / fetched, 4) if fetched else 0.0,
            "pairs": counts.pairs,
            "yield": round(counts.pairs / counts.fetched, 4) if counts.fetched else 0.0,
            "state": before.get(site, {}).get("state", "unknown"),
            "estimate": before.get(site, {}).get("estimate", {}),
        }
        for site, counts in most_fetched(sites)[:MAX_SITES]
    }


def _read_documents(path: Path, wanted: set[str]) -> tuple[dict[str, str], set[int] | None]:
    """Titles of the documents with the *wanted* URLs; hashes of the (millions of) addresses, None without the file."""
    titles: dict[str, str] = {}
    written: set[int] = set()
    for record in records.read_json_lines(path):
        url = record["url"]
        written.add(hash(url))
        if url in wanted:
            titles[url] = str(record.get("title") or "")[:MAX_TITLE]
    return titles, written if path.exists() else None


def _score(row: Mapping[str, str]) -> float:
    try:
        # a spreadsheet may have saved decimal commas
        return float(row.get("score", "").replace(",", "."))
    except ValueError:
        return 0.0


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url
