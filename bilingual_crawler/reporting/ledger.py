"""``crawl.tsv``, and the counts of a crawl over all its runs.

They have one schema, by which live line, summary, report, status, metrics and the sums of workers are made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_type_hints

import msgspec
from scrapy.crawler import Crawler

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.signals import Fetch, output_failed
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.model import Outcome
from bilingual_crawler.storage.records import CRAWL, TsvLog, read_tsv

Table = dict[str, int]
_KNOWN = ("page or sitemap", "pages and sitemaps", " known from an earlier crawl")
_DOCUMENTS = ("link to a document that is", "links to documents that are", " not HTML")
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
PAIR_COUNTS = [count for count in COUNTS if count.name in PairCounts.__struct_fields__]
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


class CrawlTally:
    """Counts the addresses in ``crawl.tsv`` by outcome: tried >= fetched >= HTML >= documents.

    An address counts once, by its first line: an address in flight when a process died has a second one. HTML pages and
    documents are counted by language, other addresses by the reason why there is no document.
    """

    def __init__(self, pairs: LanguagePairs) -> None:
        self.pairs = pairs
        self._seen: set[int] = set()
        """Hashes of addresses, as a crawl may have millions."""
        self.tried = self.fetched = self.html = 0
        self.documents: Counter[str] = Counter(dict.fromkeys(pairs.languages, 0))
        self.dropped: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()
        self.contradicted: Counter[str] = Counter()
        """Pages whose text is in another language than the one that they declare, by both."""
        self.first = self.last = ""
        """Times of the first and the last line."""

    def note(self, row: Mapping[str, Any]) -> bool:
        """Count a line by its columns; returns False for an address that is counted already."""
        self.last = row.get("time", "")
        self.first = self.first or self.last
        key = hash(row["url"])
        if key in self._seen:
            return False
        self._seen.add(key)
        self.tried += 1
        self.fetched += is_fetched(row)
        if language := row["language"]:
            self.html += 1
            self.languages[language] += 1
        if declared := row.get("declared"):
            self.contradicted[f"{declared} {self.side(language)}"] += 1
        if row["outcome"] == "document":
            self.documents[self.side(language)] += 1
        else:
            self.dropped[row["outcome"]] += 1
        return True

    def side(self, language: str) -> str:
        """The language of the pairs that *language* counts as."""
        return self.pairs.side(language) or language

    def counts(self) -> dict[str, Any]:
        times = {"started_at": self.first, "finished_at": self.last} if self.first else {}
        return times | {
            "tried": self.tried,
            "fetched": self.fetched,
            "html": self.html,
            "languages": dict(self.languages.most_common()),
            "contradicted": dict(self.contradicted.most_common()),
            "documents": dict(self.documents),
            "dropped": dict(self.dropped.most_common()),
        }

    def pair_counts(self, outcomes: Mapping[str, Outcome], paired: int) -> dict[str, Any]:
        """The counts of pairs in a summary, by pair of languages and for all; *paired* documents are in a pair."""
        by_pair = {
            name: {
                "candidates": outcome.pairs + sum(outcome.refused.values()),
                "refused": dict(outcome.refused),
                "pairs": outcome.pairs,
                "left_over": max(0, sum(self.documents[code] for code in name.split("-")) - 2 * outcome.pairs),
                "unpaired": dict(outcome.unpaired),
            }
            for name, outcome in outcomes.items()
        }
        return {
            **{count.name: count.sum(one[count.name] for one in by_pair.values()) for count in PAIR_COUNTS},
            "harvest_rate": round(paired / self.fetched, 4) if self.fetched else 0.0,
            "by_pair": by_pair,
        }


def is_fetched(row: Mapping[str, Any]) -> bool:
    """Whether a line of ``crawl.tsv`` has an answer other than a redirect; the status is 0 without an answer."""
    return str(row["status"]) != "0" and not row["outcome"].startswith("redirect")


def tally_of(crawler: Crawler) -> CrawlTally:
    """The counts of *crawler*, once its spider is open."""
    log = crawler.get_extension(CrawlLogExtension)
    assert log
    return log.tally


class CrawlLogExtension(CrawlComponent):
    """Writes ``crawl.tsv``, one line per fetched URL, and counts its lines of all runs."""

    tally: CrawlTally

    def spider_opened(self) -> None:
        path = self._context.output_dir / CRAWL
        self._log = TsvLog(path, Fetch)
        self.tally = CrawlTally(self._context.pairs)
        for row in read_tsv(path):
            self.tally.note(row)

    def url_fetched(self, fetch: Fetch) -> None:
        try:
            self._log.write_record(fetch)
        except OSError as error:
            self._crawler.signals.send_catch_log(output_failed, error=error)
        else:
            self.tally.note(asdict(fetch))

    def spider_closed(self) -> None:
        self._log.close()
