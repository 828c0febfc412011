"""The HTML report of a crawl: one file that loads nothing and runs no script."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from bilingual_crawler.discovery.sites import read_bilingual
from bilingual_crawler.languages import language_name
from bilingual_crawler.records import SITES
from bilingual_crawler.reporting.charts import step_chart
from bilingual_crawler.reporting.hints import why_no_pair
from bilingual_crawler.reporting.markup import write_page
from bilingual_crawler.reporting.results import read_results, write_summary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bilingual_crawler.reporting.results import Results

MAX_SITES = 200
"""Bilingual sites that a report of a discovery shows, the first ones."""

# The summary of a crawl that was killed early, or of an older version, may lack keys.
_SUMMARY = {
    **dict.fromkeys(("fetched", "html", "candidates", "harvest_rate"), 0),
    **{name: {} for name in ("documents", "dropped", "unpaired", "refused", "traps", "failures")},
    **{name: {} for name in ("languages", "pdf", "document_links")},
    **dict.fromkeys(("policy", "finish_reason"), "unknown"),
    "seeds": [],
}


def write_report(output_dir: Path) -> Path:
    """Write ``report.html`` into a crawl's output folder and return its path.

    ``summary.json`` has the same numbers then. Raises ``ResultsError`` when the folder has no readable one.
    """
    results = read_results(output_dir)
    summary: dict[str, Any] = _SUMMARY | dict(results.summary)
    path = output_dir / "report.html"
    write_page(
        path,
        "report.html",
        results=results,
        summary={"tried": summary["fetched"]} | summary,
        languages=list(dict.fromkeys(summary["pair"].replace(",", "-").split("-"))),
        by_pair=_by_pair(summary),
        page_languages={language_name(language): count for language, count in summary["languages"].items()},
        times=_times(summary),
        curve=_curve(results),
        bilingual_sites=list(islice(read_bilingual(output_dir / SITES), MAX_SITES)),
        sites=_sites(summary["sites"]),
        hosts=_hosts(results, tuple(summary["documents"])),
    )
    write_summary(output_dir, results.summary)
    return path


def _curve(results: Results) -> dict[str, object]:
    """The harvest curve with the page of half the pairs, or the reason why there is none."""
    fetched, pairs = results.curve[-1]
    if not pairs:
        return {"missing": " ".join(why_no_pair(results.summary))}
    title = f"{pairs:,} pairs after {fetched:,} pages"
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
        [site, row["fetched"], f"{row['share']:.1%}", row["pairs"], f"{row['yield']:.3f}", row["state"]]
        for site, row in sites.items()
    ]


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
    return f"{started:%Y-%m-%d %H:%M %Z}, {timedelta(seconds=round((finished - started).total_seconds()))} h"
