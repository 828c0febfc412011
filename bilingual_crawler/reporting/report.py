"""``report.html``, and the reason why a crawl found no pair."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

from bilingual_crawler.bitext.cleaning import REASONS as DROPPED
from bilingual_crawler.bitext.overview import BitextOverview
from bilingual_crawler.discovery.sites import read_bilingual
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.reporting.ledger import NOTHING
from bilingual_crawler.reporting.markup import harvest_chart, write_page
from bilingual_crawler.reporting.results import Results, read_results, write_summary
from bilingual_crawler.storage.records import SITES

MAX_SITES = 200  # bilingual sites that a report of a discovery shows, the first ones
_SITE = dict.fromkeys(("entry", "likelihood", "languages", "evidence", "found_on", "way"), "")
"""Cells that a table of sites may lack, as a crawl of its sites allows."""


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
        found = islice(summary.get("languages", {}).items(), 3)
        most = ", ".join(f"{language_name(code)} {count}" for code, count in found)
        why = f"none of {summary['html']} HTML pages is in {missing} (most: {most})"
        return f", because {why}.{_remedy(summary, missing)}"
    held = " and ".join(f"{documents[code]} {language_name(code)}" for code in languages)
    return f": {held} documents, but no two that are translations of each other.{_early(summary)}"


def _remedy(summary: Mapping[str, Any], missing: str) -> str:
    outside = summary.get("out_of_scope", 0)
    if outside and summary["html"] <= summary.get("seed_count", 0):
        return (
            f" Only seeds were read, because their links lead out of the scope ({outside} links): "
            "give a wider scope, or a seed on the site that they lead to."
        )
    negotiated = scripts = ""
    if summary.get("dropped", {}).get("not-negotiated"):
        cookies = " with the cookies of its switcher" if summary.get("variants", {}).get("switches") else ""
        negotiated = f" Asked for {missing}{cookies}, the site answered in another language."
        scripts = "" if summary.get("rendered") else " If scripts choose the language, -a render=always asks them."
    return negotiated + (_early(summary) or f" Give a seed in {missing}, a wider scope, or another pair.") + scripts


def contradictions(counts: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """Names of the languages that pages declare, and that their text is in, with the number of the pages."""
    for codes, count in counts.items():
        declared, found = map(language_name, codes.split(" "))
        yield declared, found, count


def _early(summary: Mapping[str, Any]) -> str:
    match summary.get("finish_reason"):
        case "finished":
            return ""
        case "until":
            return " The crawl left the site, as it seems to have no pair: -a until=1 fetches all of it."
        case "shutdown" | "no_answer" | "write_error" | "frontier_lost" | "unfinished":
            return " The crawl was stopped before its end."
    return " The crawl ended early; a larger budget may help."


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
        by_pair=[
            [" and ".join(map(language_name, name.split("-"))), *map(counts.get, ("candidates", "pairs", "left_over"))]
            for name, counts in summary["by_pair"].items()
            if len(summary["by_pair"]) > 1
        ],
        page_languages={language_name(language): count for language, count in summary["languages"].items()},
        contradicted={
            f"{declared} declared, {found} read": count
            for declared, found, count in contradictions(summary["contradicted"])
        },
        times=_times(summary),
        curve=_curve(results),
        bilingual_sites=[_SITE | row for row in islice(read_bilingual(output_dir / SITES), MAX_SITES)],
        sites=_sites(summary["sites"]),
        bitexts=list(map(_bitext, results.bitexts)),
        hosts=_hosts(results, tuple(summary["documents"])),
    )
    write_summary(output_dir, results.summary)
    return path


def _curve(results: Results) -> dict[str, object]:
    """The harvest curve with the page of half the pairs, or the reason for its absence."""
    fetched, pairs = results.curve[-1]
    if not pairs:
        return {"missing": " ".join(why_no_pair(results.summary))}
    half = next(fetched for fetched, found in results.curve if found * 2 >= pairs)
    return {"half": half, "fetched": fetched, "chart": harvest_chart(results.curve)}


def _sites(sites: Mapping[str, Mapping[str, Any]]) -> list[list[str | int]]:
    """A row for each site; those with the most pages come first."""
    return [
        [
            *(site, row["fetched"], f"{row['share']:.1%}", row["pairs"], f"{row['yield']:.3f}", row["state"]),
            f"{row['estimate']['share']:.0%}" if row["estimate"] else "–",
        ]
        for site, row in sites.items()
    ]


def _bitext(bitext: BitextOverview) -> tuple[object, ...]:
    """A bitext, its dropped pairs by what the reason means, its scores from the lowest in use, its sites."""
    parts = len(bitext.quality)
    scores = [(f"{n / parts:.1f} to {(n + 1) / parts:.1f}", count) for n, count in enumerate(bitext.quality)]
    return (
        bitext,
        {DROPPED.get(reason, reason): count for reason, count in bitext.counts.dropped.items()},
        list(dropwhile(lambda row: not row[1], scores)) or scores,
        [[site, one.documents, one.sentences, one.words_a, one.words_b] for site, one in bitext.sites.items()],
    )


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
