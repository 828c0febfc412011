"""Extension: the end-of-run summary, on one screen and as ``summary.json`` and ``report.html``."""

from __future__ import annotations

import json
import logging
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.table import Table
from scrapy import signals

from bilingual_crawler.languages import language_name
from bilingual_crawler.reporting.hints import why_no_pair
from bilingual_crawler.reporting.html import write_report
from bilingual_crawler.reporting.records import CRAWL, SUMMARY, read_tsv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from bilingual_crawler.spiders.bilingual import BilingualSpider

logger = logging.getLogger(__name__)


class SummaryExtension:
    """Counts over the whole crawl, read from its output files, so that they hold after a resume as well."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_closed(self, spider: Spider, reason: str) -> None:
        bilingual = cast("BilingualSpider", spider)
        assert self._crawler.stats
        summary = summarise(bilingual, reason, self._crawler.stats.get_stats())
        path = bilingual.output_dir / SUMMARY
        path.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_report(bilingual.output_dir)
        self._crawler.stats.set_value("bilingual/fetched", summary["fetched"])
        _print(summary)


def summarise(spider: BilingualSpider, reason: str, stats: Mapping[str, Any]) -> dict[str, Any]:
    """The funnel of a crawl: fetched, HTML, in the pair, candidate, paired, and why the rest fell out."""
    outcomes: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    documents = Counter({spider.pair.a: 0, spider.pair.b: 0})
    first = last = datetime.now(UTC).isoformat()
    fetched = html = 0
    seen: set[str] = set()
    for row in read_tsv(spider.output_dir / CRAWL):
        first, last = min(first, row["time"]), row["time"]
        if row["url"] in seen:
            continue
        seen.add(row["url"])
        outcome, language = row["outcome"], row["language"]
        outcomes[outcome] += 1
        fetched += row["status"] != "0" and outcome != "redirect"
        if language:
            html += 1
            languages[language] += 1
        if outcome == "document":
            documents[spider.pair.side(language) or language] += 1
    pairs = stats.get("bilingual/pairs/found", 0)
    return {
        "pair": str(spider.pair),
        "policy": spider.policy.name,
        "seeds": [seed.url for seed in spider.seeds],
        "started_at": first,
        "finished_at": last,
        "finish_reason": reason,
        "fetched": fetched,
        "html": html,
        "documents": dict(documents),
        "candidates": stats.get("bilingual/pairs/candidates", 0),
        "pairs": pairs,
        "harvest_rate": round(2 * pairs / fetched, 4) if fetched else 0.0,
        "dropped": {name: count for name, count in outcomes.most_common() if name != "document"},
        "unpaired": _under(stats, "bilingual/unpaired/"),
        "refused": _under(stats, "bilingual/refused/"),
        "traps": _under(stats, "bilingual/traps/"),
        "failures": _under(stats, "bilingual/backoff/"),
        "languages": dict(languages.most_common()),
        "output_dir": str(spider.output_dir),
    }


def _under(stats: Mapping[str, Any], prefix: str) -> dict[str, int]:
    return {key.removeprefix(prefix): value for key, value in stats.items() if key.startswith(prefix)}


def _print(summary: Mapping[str, Any]) -> None:
    kept = summary["documents"]
    per_language = ", ".join(f"{count} {language_name(code)}" for code, count in kept.items())
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(str(summary["fetched"]), "pages fetched" + _reasons(summary["dropped"], "not kept"))
    table.add_row(str(summary["html"]), "HTML pages" + _reasons(summary["languages"], "languages"))
    table.add_row(str(sum(kept.values())), f"documents in the pair: {per_language}")
    table.add_row(str(summary["candidates"]), "candidate pairs" + _reasons(summary["refused"], "refused"))
    table.add_row(str(summary["pairs"]), "pairs" + _reasons(summary["unpaired"], "documents left over"))
    table.add_row(f"{summary['harvest_rate']:.0%}", "harvest rate: documents in pairs per page fetched")
    if summary["traps"]:
        table.add_row(str(sum(summary["traps"].values())), "links and pages left" + _reasons(summary["traps"], "traps"))
    if summary["failures"]:
        table.add_row(
            str(sum(summary["failures"].values())), "failures" + _reasons(summary["failures"], "waited after")
        )
    console = Console(stderr=True)
    console.print(f"\n[bold]{summary['pair']}[/bold], policy {summary['policy']}, {summary['finish_reason']}")
    console.print(table)
    if not summary["pairs"]:
        console.print(why_no_pair(summary), soft_wrap=True, markup=False, highlight=False)
    console.print(f"Outputs: {summary['output_dir']}", soft_wrap=True, markup=False)


def _reasons(counts: Mapping[str, int], title: str) -> str:
    if not counts:
        return ""
    shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:6])
    return f" ({title}: {shown}{', …' if len(counts) > 6 else ''})"
