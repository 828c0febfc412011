"""The URL stage: tables of pages to pairs of URLs, counts of domains, and the plan of what is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

from bilingual_crawler.mining.candidates import bilingual, in_languages, longest, sides_of, url_pairs
from bilingual_crawler.mining.hosts import count_domains, worth_reading
from bilingual_crawler.mining.keys import KEYS, add_keys
from bilingual_crawler.mining.plan import plan
from bilingual_crawler.mining.tables import read_tables, with_domains

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import ibis.expr.types as ir

    from bilingual_crawler.language_pairs import LanguagePairs
    from bilingual_crawler.mining.asked import AskedPairs
    from bilingual_crawler.mining.engine import Engine


@dataclass(frozen=True, slots=True)
class UrlStage:
    """What came of the URL stage."""

    pairs: LanguagePairs
    pages: ir.Table
    """Those of domains with both languages, without duplicates, with their keys."""
    found: ir.Table
    """Pairs of URLs."""
    domains: ir.Table
    counts: dict[str, int]
    """rows, in_languages, in_domains (with both languages), duplicates, domains, url_pairs."""

    def plan(self, buckets: int) -> ir.Table:
        """The pages to read."""
        return plan(self.pages, worth_reading(self.domains), buckets)


def mine_urls(engine: Engine, crawls: Sequence[Path], files: Sequence[str], wanted: AskedPairs, work: Path) -> UrlStage:
    """Run the URL stage over crawls and Parquet *files*; MiningError or LanguageError if they are not as they should
    be. Tables on the way lie in *work*.
    """
    rows = read_tables(engine, crawls, files, work)
    by_language = dict(rows.group_by("language").agg(pages=_.count()).to_pyarrow().to_pandas().itertuples(index=False))
    pairs = wanted.among(by_language)
    pq.write_table(_as_table(pairs), work / "asked.parquet")
    asked = engine.read([str(work / "asked.parquet")])
    sides = sides_of(pairs, by_language)
    inside = bilingual(with_domains(engine, in_languages(rows, pairs, by_language)), asked)
    marks = None if wanted.is_open else pairs.equivalents
    pages = engine.add(longest(inside), partial(add_keys, languages=marks), KEYS, "pages")
    found = engine.keep(url_pairs(pages, asked, pairs, {*by_language, *pairs.equivalents}), "found")
    domains = engine.keep(count_domains(pages, found, asked), "domains")
    in_domains = int(inside.count().execute())
    counts = {
        "rows": sum(by_language.values()),
        "in_languages": sum(by_language[language] for language in sides),
        "in_domains": in_domains,
        "duplicates": in_domains - int(pages.count().execute()),
        "domains": int(domains.domain.nunique().execute()),
        "url_pairs": int(found.count().execute()),
    }
    return UrlStage(pairs, pages, found, domains, counts)


def _as_table(pairs: LanguagePairs) -> pa.Table:
    return pa.table({"a": [pair.a for pair in pairs], "b": [pair.b for pair in pairs], "pair": list(map(str, pairs))})
