"""``report.html``, and the reason why a crawl found no pair."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from bilingual_crawler import noun
from bilingual_crawler.bitext.cleaning import REASONS as DROPPED
from bilingual_crawler.discovery.sites import read_bilingual
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.reporting.counts import NOTHING
from bilingual_crawler.reporting.markup import step_chart, write_page
from bilingual_crawler.reporting.results import read_results, write_summary
from bilingual_crawler.storage.records import SITES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bilingual_crawler.bitext.overview import BitextOverview
    from bilingual_crawler.reporting.results import Results


def why_no_pair(summary: Mapping[str, Any]) -> Iterator[str]:
    """For each two languages without a pair in the *summary* of a crawl: the reason, and what may help."""
    by_pair: Mapping[str, Mapping[str, Any]] = summary.get("by_pair") or {summary["pair"]: summary}
    if not summary.get("html", 0):
        reasons = ", ".join(f"{name} {count}" for name, count in summary.get("dropped", {}).items())
        yield f"No pair was found, because no HTML page was fetched{f' ({reasons})' if reasons else ''}."
        return
    for name, counts in by_pair.items():
        if not counts.get("pairs"):
            found = "No pair was found" if len(by_pair) == 1 else f"No {name} pair was found"
            yield found + _reason(summary, name.split("-"))


def _reason(summary: Mapping[str, Any], languages: list[str]) -> str:
    documents = summary.get("documents", {})
    if missing := " or ".join(language_name(code) for code in languages if not documents.get(code)):
        most = ", ".join(
            f"{language_name(code)} {count}" for code, count in list(summary.get("languages", {}).items())[:3]
        )
        return (
            f", because none of {summary['html']} HTML pages is in {missing} (most: {most}).{_remedy(summary, missing)}"
        )
    held = " and ".join(f"{documents[code]} {language_name(code)}" for code in languages)
    return f": {held} documents, but no two that are translations of each other.{_early(summary)}"


def _remedy(summary: Mapping[str, Any], missing: str) -> str:
    """Suggest how to find pages in the language *missing*."""
    outside = summary.get("out_of_scope", 0)
    if outside and summary["html"] <= summary.get("seed_count", 0):
        return (
            f" Only seeds were read, because their links lead out of the scope ({outside} links): "
            "give a wider scope, or a seed on the site that they lead to."
        )
    negotiated = _negotiated(summary, missing)
    scripts = " If scripts choose the language, -a render=always asks them." if negotiated else ""
    return (
        negotiated
        + (_early(summary) or f" Give a seed in {missing}, a wider scope, or another pair.")
        + (scripts if not summary.get("rendered") else "")
    )


def _negotiated(summary: Mapping[str, Any], missing: str) -> str:
    """What the sites did when they were asked for the language *missing* at the addresses that are known."""
    variants: Mapping[str, int] = summary.get("variants", {})
    if not summary.get("dropped", {}).get("not-negotiated"):
        return ""
    sent = "Asked for {} with the cookies of its switcher" if variants.get("switches") else "Asked for {}"
    return f" {sent.format(missing)}, the site answered in another language."


def contradictions(counts: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Return the counts of pages by the language that they declare and the one of their text, both ISO 639-3."""
    return {(names.split(" ")[0], names.split(" ")[1]): count for names, count in counts.items()}


def _early(summary: Mapping[str, Any]) -> str:
    match summary.get("finish_reason"):
        case "finished":
            return ""
        case "until":
            return " The crawl left the site, as it seems to have no pair: -a until=1 fetches all of it."
        case "shutdown" | "no_answer" | "write_error" | "frontier_lost" | "unfinished":
            return " The crawl was stopped before its end."
    return " The crawl ended early; a larger budget may help."


MAX_SITES = 200
"""Bilingual sites that a report of a discovery shows, the first ones."""

# Cells that a table of sites may lack, as a crawl of its sites allows.
_SITE = dict.fromkeys(("entry", "likelihood", "languages", "evidence", "found_on", "way"), "")


def write_report(output_dir: Path) -> Path:
    """Write ``report.html`` into a crawl's output folder and return its path.

    ``summary.json`` has the same numbers then. Raises ``ResultsError`` when the folder has no readable one.
    """
    results = read_results(output_dir)
    unknown = {"policy": "unknown", "finish_reason": "unknown", "seeds": [], "tried": results.summary.get("fetched", 0)}
    summary: dict[str, Any] = {**NOTHING, **unknown, **results.summary}
    path = output_dir / "report.html"
    write_page(
        path,
        "report.html",
        results=results,
        summary=summary,
        languages=list(dict.fromkeys(summary["pair"].replace(",", "-").split("-"))),
        by_pair=_by_pair(summary),
        page_languages={language_name(language): count for language, count in summary["languages"].items()},
        contradicted={
            f"{language_name(declared)} declared, {language_name(found)} read": count
            for (declared, found), count in contradictions(summary["contradicted"]).items()
        },
        times=_times(summary),
        curve=_curve(results),
        bilingual_sites=[_SITE | row for row in islice(read_bilingual(output_dir / SITES), MAX_SITES)],
        sites=_sites(summary["sites"]),
        bitexts=[(one, _dropped(one), _histogram(one), _bitext_sites(one)) for one in results.bitexts],
        hosts=_hosts(results, tuple(summary["documents"])),
    )
    write_summary(output_dir, results.summary)
    return path


def _curve(results: Results) -> dict[str, object]:
    """The harvest curve with the page of half the pairs, or the reason for its absence."""
    fetched, pairs = results.curve[-1]
    if not pairs:
        return {"missing": " ".join(why_no_pair(results.summary))}
    title = f"{pairs:,} {noun(pairs, 'pair')} after {fetched:,} {noun(fetched, 'page')}"
    return {
        "half": next(fetched for fetched, found in results.curve if found * 2 >= pairs),
        "fetched": fetched,
        "chart": step_chart(results.curve, x_label="pages fetched", y_label="pairs", title=title),
    }


def _by_pair(summary: Mapping[str, Any]) -> list[list[str | int]]:
    """A row for each pair of languages, if there are several."""
    by_pair = summary.get("by_pair", {})
    return [
        [
            " and ".join(map(language_name, name.split("-"))),
            *(counts[key] for key in ("candidates", "pairs", "left_over")),
        ]
        for name, counts in by_pair.items()
        if len(by_pair) > 1
    ]


def _sites(sites: Mapping[str, Mapping[str, Any]]) -> list[list[str | int]]:
    """A row for each site; those with the most pages come first."""
    return [
        [
            *(site, row["fetched"], f"{row['share']:.1%}", row["pairs"], f"{row['yield']:.3f}", row["state"]),
            f"{row['estimate']['share']:.0%}" if row["estimate"] else "–",
        ]
        for site, row in sites.items()
    ]


def _dropped(bitext: BitextOverview) -> dict[str, int]:
    """Dropped sentence pairs by what the reason means."""
    return {DROPPED.get(reason, reason): count for reason, count in bitext.counts.dropped.items()}


def _histogram(bitext: BitextOverview) -> list[tuple[str, int]]:
    """A row for each part of the quality scores, from the lowest that has a sentence pair."""
    parts = len(bitext.quality)
    rows = [(f"{n / parts:.1f} to {(n + 1) / parts:.1f}", count) for n, count in enumerate(bitext.quality)]
    return list(dropwhile(lambda row: not row[1], rows)) or rows


def _bitext_sites(bitext: BitextOverview) -> list[list[str | int]]:
    return [[site, one.documents, one.sentences, one.words_a, one.words_b] for site, one in bitext.sites.items()]


def _hosts(results: Results, languages: tuple[str, ...]) -> list[list[str | int]]:
    """A row for each host; hosts with the most documents in pairs come first."""
    hosts = sorted(results.hosts.items(), key=lambda item: (-item[1].paired, -item[1].fetched, item[0]))
    return [
        [host, counts.fetched, counts.failed, *(counts.kept[language] for language in languages), counts.paired]
        for host, counts in hosts
    ]


def _times(summary: Mapping[str, Any]) -> str:
    try:
        started = datetime.fromisoformat(summary["started_at"])
        finished = datetime.fromisoformat(summary["finished_at"])
    except (KeyError, TypeError, ValueError):
        return "times unknown"
    return f"{started:%Y-%m-%d %H:%M %Z}, {timedelta(seconds=round((finished - started).total_seconds()))}"
