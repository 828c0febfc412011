"""The URL stage: domains with pages in both languages, the pages worth reading, and their buckets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import ibis
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

from bilingual_crawler.discovery.sites import BILINGUAL, JudgedSite, write_counts
from bilingual_crawler.mining.candidates import KEYS, add_keys, bilingual, in_languages, longest, sides_of, url_pairs
from bilingual_crawler.mining.tables import read_tables, with_domains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import ibis.expr.types as ir

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.mining.engine import Engine
    from bilingual_crawler.mining.stored import AskedPairs

LARGE = 20_000
"""Pages from which a domain is cut by directories of its keys, which keeps 99.6 % of gold pairs together."""
COLUMNS = ("url", "domain", "language", "file", "offset", "length", "digest", "unit", "bucket")


def plan(pages: ir.Table, domains: ir.Table, buckets: int, large: int = LARGE) -> ir.Table:
    """The *pages* of *domains* that are read, once for each digest, with their ``unit`` and its ``bucket``."""
    wanted = domains.select("domain", language="a").union(domains.select("domain", language="b"))
    read = pages.semi_join(wanted, ("domain", "language")).filter(_.file.notnull())
    read = read.mutate(same=ibis.coalesce(_.digest, _.url))
    copy = ibis.row_number().over(group_by=("domain", "language", "same"), order_by=(_.url.length(), _.url))
    once = read.mutate(copy=copy).filter(_.copy == 0)
    sized = once.mutate(size=_.count().over(group_by="domain"))
    units = sized.mutate(unit=ibis.ifelse(_.size > large, _.of_directory, _.of_domain))
    return units.mutate(bucket=_.unit % buckets).select(*COLUMNS)


WRONG = 0.01
"""Share of pages whose language CLD2 gets wrong, roughly; a big site has pages in every language by mistake."""


def count_domains(pages: ir.Table, found: ir.Table, asked: ir.Table) -> ir.Table:
    """A row for each domain and pair of languages that it has pages in.

    Columns: domain, pair, a, b, pages_a, pages_b, url_pairs (how many), url_a and url_b (one of them, or null).
    """
    counts = pages.group_by("domain", "language").agg(pages=_.count())
    a = counts.rename(a="language", pages_a="pages").inner_join(asked, "a")
    both = a.inner_join(counts.rename(b="language", pages_b="pages"), ("domain", "b"))
    pairs = found.group_by("domain", "pair").agg(
        url_pairs=_.count(), url_a=_.url_a.min(), url_b=_.url_b.argmin(_.url_a)
    )
    joined = both.left_join(pairs, ("domain", "pair"))
    return joined.select(
        *("domain", "pair", "a", "b", "pages_a", "pages_b", "url_a", "url_b"), url_pairs=_.url_pairs.fill_null(0)
    )


def worth_reading(domains: ir.Table) -> ir.Table:
    """Of *domains*, those with pairs of URLs, or with more pages in the rarer language than errors would make."""
    rarer, commoner = ibis.least(_.pages_a, _.pages_b), ibis.greatest(_.pages_a, _.pages_b)
    return domains.filter((_.url_pairs > 0) | (rarer >= WRONG * commoner))


class Host(msgspec.Struct):
    """A domain with both languages of a pair, or of several."""

    domain: str
    pages: dict[str, int]
    """By language."""
    url_pairs: int = 0
    likelihood: float = 0.0
    """That it has pairs: the greatest of its pairs of languages."""
    pair: tuple[str, str] | None = None
    """Two pages whose URLs make a pair, if there are any."""


def by_size(domains: ir.Table) -> ir.Table:
    """*domains*, those with the most pages in the rarer languages first."""
    rarer = ibis.least(_.pages_a, _.pages_b).sum().over(group_by="domain")
    return domains.mutate(rarer=rarer).order_by(ibis.desc("rarer"), "domain", ibis.desc("url_pairs"), "pair")


def hosts_of(folder: Path) -> Iterator[Host]:
    """One host for each domain, in the order of the table that :func:`by_size` made, written into *folder*."""
    batches = (batch for file in sorted(folder.glob("*.parquet")) for batch in pq.ParquetFile(file).iter_batches())
    rows = (row for batch in batches for row in batch.to_pylist())
    for name, of_domain in groupby(rows, key=itemgetter("domain")):
        host = Host(name, {})
        for row in of_domain:
            pages = {row["a"]: row["pages_a"], row["b"]: row["pages_b"]}
            less = min(pages.values())
            host.pages |= pages
            host.url_pairs += row["url_pairs"]
            host.likelihood = max(host.likelihood, round((less + 0.5) / (less + 1.5 + WRONG * sum(pages.values())), 4))
            host.pair = host.pair or ((row["url_a"], row["url_b"]) if row["url_a"] else None)
        yield host


@dataclass(frozen=True, slots=True)
class MinedSite(JudgedSite):
    """A row of ``sites.tsv``, which is a list of candidates for a discovery as well, by its last columns."""

    url: str
    prior: float

    @classmethod
    def of_host(cls, host: Host) -> MinedSite:
        url_a, url_b = host.pair or ("", "")
        parts = urlsplit(url_a)
        entry = f"{parts.scheme}://{parts.netloc}/" if url_a else f"https://{host.domain}/"
        pages = write_counts(host.pages)
        evidence = write_counts({"url": host.url_pairs}) if host.url_pairs else ""
        verdict = BILINGUAL if host.url_pairs else "unread"
        likely = host.likelihood
        return cls(
            *(host.domain, entry, verdict, likely, pages, evidence, url_a, url_b, 0, "index", "", pages, "", ""),
            url=entry,
            prior=likely,
        )


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
