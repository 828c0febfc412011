"""The HTML report of a crawl: one file that needs nothing from elsewhere and runs no script."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from bilingual_crawler.languages import UNKNOWN, LanguageError, language_name
from bilingual_crawler.pairing.documents import REASONS
from bilingual_crawler.reporting.charts import step_chart
from bilingual_crawler.reporting.hints import why_no_pair
from bilingual_crawler.reporting.markup import bars, byte_size, escape, file_link, link, note, section, table
from bilingual_crawler.reporting.results import read_results, write_summary
from bilingual_crawler.reporting.style import CSS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.reporting.results import FoundPair, Results

MAX_HOSTS = 100
MAX_ROWS = 15
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_report(output_dir: Path) -> Path:
    """Write ``report.html`` into a crawl's output folder and return its path; ``summary.json`` then has the same numbers.

    Raises ``ResultsError`` when the folder has no readable ``summary.json``.
    """
    results = read_results(output_dir)
    path = output_dir / "report.html"
    path.write_text(render(results), encoding="utf-8", errors="replace")
    write_summary(output_dir, results.summary)
    return path


def render(results: Results) -> str:
    """The report as HTML; every value that came from the web or the command line is escaped."""
    pair = escape(str(results.summary.get("pair", "")))
    parts = (_heading, _tiles, _curve, _funnel, _hosts, _pairs, _left_over, _files)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>Crawl {pair}: {results.pair_count:,} pairs</title><style>{CSS}</style></head>"
        f"<body><main>{''.join(part(results) for part in parts)}</main></body></html>\n"
    )


def _heading(results: Results) -> str:
    summary = results.summary
    names = " and ".join(_name(language) for language in str(summary.get("pair", "")).split("-"))
    seeds = summary.get("seeds", [])
    shown = ", ".join(link(str(seed)) for seed in seeds[:5])
    more = f" and {len(seeds) - 5:,} more" if len(seeds) > 5 else ""
    details = (
        f"policy {summary.get('policy', 'unknown')}",
        _times(summary),
        f"state: {summary.get('finish_reason', 'unknown')}",
    )
    return (
        f'<h1>Parallel documents in {escape(names)}</h1><p class="soft">Crawled from {shown}{more}<br>'
        f"{escape(' · '.join(details))}</p>"
    )


def _tiles(results: Results) -> str:
    summary = results.summary
    tiles = (
        (f"{summary.get('fetched', 0):,}", "pages fetched"),
        *((f"{count:,}", f"kept in {_name(lang)}") for lang, count in summary.get("documents", {}).items()),
        (f"{results.pair_count:,}", "document pairs"),
        (
            f"{summary.get('harvest_rate', 0):.0%}",
            "harvest rate (fetched pages in a pair)",
        ),
    )
    cells = "".join(f'<div class="tile"><b>{value}</b><span>{escape(label)}</span></div>' for value, label in tiles)
    return f'<div class="tiles">{cells}</div>'


def _curve(results: Results) -> str:
    downloads, pairs = results.curve[-1]
    if not pairs:
        return section("Harvest curve", note(why_no_pair(results.summary)))
    half = next(downloads for downloads, found in results.curve if found * 2 >= pairs)
    text = (
        "Pairs with both pages fetched, by number of pages fetched; the dashed line is an even pace. "
        f"Half of the pairs were complete after {half:,} of {downloads:,} pages ({half / downloads:.0%})."
    )
    title = f"{pairs:,} pairs after {downloads:,} pages"
    chart = step_chart(results.curve, x_label="pages fetched", y_label="pairs", title=title)
    return section("Harvest curve", note(text) + chart)


def _funnel(results: Results) -> str:
    summary = results.summary
    kept = summary.get("documents", {})
    fetched = summary.get("fetched", 0)
    tried = summary.get("tried", fetched)
    stages = (
        ("Addresses tried", tried),
        ("Fetched", fetched),
        ("HTML", summary.get("html", 0)),
        (f"In {' or '.join(_name(language) for language in kept)}", sum(kept.values())),
        ("In a pair", results.paired_pages),
    )
    languages = {_name(language): count for language, count in summary.get("languages", {}).items()}
    return section(
        "From download to pair",
        bars(stages, scale=tried)
        + _counts("Why addresses gave no document", summary.get("dropped", {}), of=tried)
        + _counts("Why documents are in no pair", summary.get("unpaired", {}), of=sum(kept.values()))
        + _counts("Why candidate pairs were refused", summary.get("refused", {}), of=summary.get("candidates", 0))
        + _counts("Links and pages left as traps", summary.get("traps", {}))
        + _counts("Requests that failed", summary.get("failures", {}))
        + _counts("Languages of the pages", languages, of=summary.get("html", 0), style="bar"),
    )


def _counts(title: str, counts: Mapping[str, int], *, of: int = 0, style: str = "bar drop") -> str:
    """Bars of *counts*, which are parts *of* a number if there is one."""
    if not counts:
        return ""
    total = sum(counts.values())
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_ROWS]
    readable = [(name.replace("_", " ").replace("-", " "), count) for name, count in rows]
    heading = f"{title}: {total:,} of {of:,}" if of else f"{title}: {total:,}"
    return f"<h3>{escape(heading)}</h3>{bars(readable, scale=of or total, style=style)}"


def _hosts(results: Results) -> str:
    languages = list(results.summary.get("documents", {}))
    hosts = sorted(results.hosts.items(), key=lambda item: (-item[1].paired, -item[1].fetched, item[0]))
    rows: list[list[str | int]] = [
        [host, counts.fetched, counts.failed, *(counts.kept[lang] for lang in languages), counts.paired]
        for host, counts in hosts[:MAX_HOSTS]
    ]
    header = ["Host", "Fetched", "Failed", *(_name(language) for language in languages), "In a pair"]
    more = note(f"{len(hosts) - MAX_HOSTS:,} more hosts.") if len(hosts) > MAX_HOSTS else ""
    return section("Hosts", table(header, rows) + more)


def _pairs(results: Results) -> str:
    all_of_them = f"of {results.pair_count:,} pairs; all are in {file_link('pairs.tsv')}."
    best = _pair_table("Pairs", f"The {len(results.pairs):,} best {all_of_them}", results.pairs, results)
    doubtful = f"The {len(results.doubtful):,} with the lowest scores {all_of_them}"
    return best + _pair_table("Doubtful pairs", doubtful, results.doubtful, results)


def _pair_table(title: str, count: str, pairs: Sequence[FoundPair], results: Results) -> str:
    if not pairs:
        return ""
    first, _, second = str(results.summary.get("pair", "")).partition("-")
    languages = (first, second)
    rows = "".join(_pair_row(pair, languages) for pair in pairs)
    head = "".join(f"<th>{escape(_name(language))}</th>" for language in languages)
    head += '<th class="number">Score</th><th>Method</th>'
    return section(title, f'<p class="note">{count}</p>{_wide_table(head, rows)}')


def _pair_row(pair: FoundPair, languages: tuple[str, str]) -> str:
    sides = zip(languages, ((pair.url_a, pair.title_a), (pair.url_b, pair.title_b)), strict=True)
    documents = "".join(
        f'<td lang="{escape(language)}" dir="auto">{_document(url, title)}</td>' for language, (url, title) in sides
    )
    return f'<tr>{documents}<td class="number">{escape(pair.score)}</td><td>{escape(pair.method)}</td></tr>'


def _left_over(results: Results) -> str:
    if not results.left_over:
        return ""
    rows = "".join(
        f'<tr><td dir="auto">{_document(one.url, one.title)}</td><td>{link(one.nearest) if one.nearest else "–"}</td>'
        f'<td class="number">{escape(one.score) if one.nearest else "–"}</td>'
        f"<td>{escape(REASONS.get(one.reason, one.reason))}</td></tr>"
        for one in results.left_over
    )
    count = sum(results.summary.get("unpaired", {}).values())
    text = (
        f"{len(results.left_over):,} of {count:,} documents in no pair, those that came nearest to one first; "
        f"all are in {file_link('unpaired.tsv')}."
    )
    head = '<th>Document</th><th>Best candidate</th><th class="number">Score</th><th>Why in no pair</th>'
    return section("Left over", f'<p class="note">{text}</p>{_wide_table(head, rows, "pairs left")}')


def _document(url: str, title: str) -> str:
    return f"{link(url, title)}<small>{escape(url)}</small>"


def _wide_table(head: str, rows: str, style: str = "pairs") -> str:
    return (
        f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _files(results: Results) -> str:
    items = "".join(f"<li>{file_link(name)} {byte_size(size)}</li>" for name, size in results.files)
    return section("Files of this crawl", f'<ul class="files">{items}</ul>')


def _name(language: str) -> str:
    if language == UNKNOWN:
        return "unknown language"
    try:
        return language_name(language)
    except LanguageError:
        return language


def _times(summary: Mapping[str, Any]) -> str:
    try:
        started = datetime.fromisoformat(summary["started_at"])
        finished = datetime.fromisoformat(summary["finished_at"])
    except (KeyError, TypeError, ValueError):
        return "times unknown"
    return f"{started:%Y-%m-%d %H:%M %Z}, {timedelta(seconds=round((finished - started).total_seconds()))} h"
