"""The schema of the counts of a crawl, by which summary, report, status, metrics and the sums of workers are made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Table = dict[str, int]


class PairCounts(msgspec.Struct):
    """Counts of a pair of languages."""

    candidates: int = 0
    refused: Table = {}
    pairs: int = 0
    left_over: int = 0
    unpaired: Table = {}


@dataclass(frozen=True, slots=True)
class Count:
    """A number in ``summary.json``, or a table of numbers."""

    name: str
    kind: Any = int
    is_sum: bool = True
    """Whether the count of several workers is the sum of theirs."""
    stat: str = ""
    """Scrapy's stat, which is added up over all runs; that of a table ends with a slash."""
    words: tuple[str, ...] = ()
    """Of a table with a stat, on the screen: one, several, and what follows."""

    def sum(self, values: Iterable[Any]) -> Any:
        """The sum of the counts of runs or workers; None counts nothing."""
        given = [value for value in values if value]
        return _sum(given) if given else self.kind()


def _sum(values: list[Any]) -> Any:
    """The sum of numbers, or of tables by key."""
    if not isinstance(values[0], dict):
        return sum(values)
    keys = dict.fromkeys(key for table in values for key in table)
    return {key: _sum([table[key] for table in values if key in table]) for key in keys}


_KNOWN = ("page or sitemap", "pages and sitemaps", " known from an earlier crawl")
_DOCUMENTS = ("link to a document that is", "links to documents that are", " not HTML")
COUNTS = (
    *map(Count, ("tried", "fetched", "html")),
    *(Count(name, Table) for name in ("languages", "contradicted", "documents", "dropped")),
    *(Count(name, kind) for name, kind in get_type_hints(PairCounts).items()),
    Count("harvest_rate", float, is_sum=False),
    Count("by_pair", dict[str, PairCounts]),
    *(Count(name, Table, is_sum=False) for name in ("bitext", "bitext_dropped")),
    *(Count(name, is_sum=False) for name in ("site_candidates", "sites_judged", "sites_bilingual")),
    *(Count("sites_refused", Table, is_sum=False), Count("entry_pages_archived", is_sum=False)),
    Count("document_links", Table, stat="bilingual/links/documents/", words=_DOCUMENTS),
    Count("pdf", Table, stat="bilingual/pdf/", words=("PDF", "PDFs", " read")),
    Count("known", Table, stat="bilingual/known/", words=_KNOWN),
    Count("variants", Table, stat="bilingual/variants/"),
    Count("rendered", stat="bilingual/render/pages"),
    Count("opt_outs", Table, stat="bilingual/opt_outs/", words=("opt-out", "opt-outs", " of pages")),
    Count("traps", Table, stat="bilingual/traps/", words=("link or page", "links and pages", " left out as traps")),
    Count("failures", Table, stat="bilingual/backoff/", words=("request", "requests", " failed")),
    Count("errors", Table, stat="bilingual/errors/", words=("time", "times", " a component failed: see the log")),
    Count("out_of_scope", stat="bilingual/links/out_of_scope"),
    Count("bytes"),
    Count("queued", is_sum=False),
    Count("estimate", dict[str, float], is_sum=False),
)
"""All counts, in the order of a summary."""
COUNTERS = {
    "tried": ("tried", "Addresses that were tried", ""),
    "fetched": ("fetched", "Pages that were fetched", ""),
    "bytes": ("downloaded_bytes", "Bytes downloaded", ""),
    "documents": ("documents", "Documents", "language"),
    "dropped": ("dropped", "Addresses that gave no document", "reason"),
    "failures": ("failures", "Requests that failed", "reason"),
    "traps": ("traps", "Links and pages left out as traps", "kind"),
}
"""The counts that Prometheus is shown as counters: name, description, and the label of a table."""
NOTHING: Mapping[str, Any] = {count.name: count.kind() for count in COUNTS}
"""The counts that an older crawl, or one that was killed early, lacks."""
Summary = msgspec.defstruct(
    "Summary",
    [
        *((count.name, count.kind, count.kind()) for count in COUNTS),
        *(("seeds", list[str], []), ("settings", dict[str, Any], {}), ("sites", dict[str, dict[str, Any]], {})),
    ],
)
"""The types of what reports and resumed crawls read of a ``summary.json``."""


def under(stats: Mapping[str, Any], prefix: str) -> dict[str, int]:
    """The *stats* whose names begin with *prefix*, by the rest of their names."""
    return {key.removeprefix(prefix): value for key, value in stats.items() if key.startswith(prefix)}


def of_all_runs(before: Mapping[str, Any], stats: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that are in no other output: those of the summary *before*, and of this run by Scrapy's *stats*."""
    sums: dict[str, Any] = {}
    for count in COUNTS:
        if count.stat.endswith("/"):
            table = count.sum((before.get(count.name), under(stats, count.stat)))
            sums[count.name] = dict(Counter(table).most_common())
        elif count.stat:
            sums[count.name] = before.get(count.name, 0) + stats.get(count.stat, 0)
    return sums


def sums_of_workers(summaries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of the counts in the *summaries* of workers.

    What several workers have counted, as the tries of one URL after a death, counts several times. There is no estimate
    of the pairs that remain: those of workers cannot be added.
    """
    given = list(summaries)
    return {count.name: count.sum(one.get(count.name) for one in given) for count in COUNTS if count.is_sum}
