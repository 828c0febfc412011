"""``crawl.tsv``, and the counts of a crawl over all its runs: for live line, summary and report."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.signals import Fetch, output_failed
from bilingual_crawler.reporting.counts import COUNTS, PairCounts
from bilingual_crawler.storage.records import CRAWL, TsvLog, read_tsv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pairing.model import Outcome

PAIR_COUNTS = [count for count in COUNTS if count.name in PairCounts.__struct_fields__]


class CrawlTally:
    """Counts the addresses in ``crawl.tsv`` by outcome: tried >= fetched >= HTML >= documents.

    An address counts once, by its first line: an address in flight when a process died has a second one. HTML pages and
    documents are counted by language, other addresses by the reason why there is no document.
    """

    def __init__(self, pairs: LanguagePairs) -> None:
        self._pairs = pairs
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
        return self._pairs.side(language) or language

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
