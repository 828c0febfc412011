"""The URL stage, in ibis expressions: tables of pages under common column names (crawls, Common Crawl's index),
pairs of pages by their URLs, counts of domains, the plan of pages to read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from zlib import crc32

import ibis
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

from bilingual_crawler.discovery.policies import entry_page
from bilingual_crawler.discovery.sites import BILINGUAL, JudgedSite, write_counts
from bilingual_crawler.mining.stored import AskedPairs, MiningError
from bilingual_crawler.pairing.urls import SCORES
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.storage.records import DOCUMENTS, NO_RECORD, read_json_lines
from bilingual_crawler.storage.warc import NoRecord, check_place
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import ibis.expr.types as ir

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.mining.duck import Engine, Fields

_ROWS = 10_000
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("url", "domain", "language", "digest", "warc_file")),
        *((name, pa.int64()) for name in ("warc_offset", "warc_length", "size")),
        ("announced", pa.list_(pa.string())),
    ]
)


def table_of_crawl(folder: Path, work: Path) -> Path:
    """Write the documents of the crawl in *folder*, without record lengths, as a Parquet file into *work*."""
    table = work / f"crawl-{hashlib.sha1(str(folder.resolve()).encode()).hexdigest()}.parquet"
    left_out = LeftOut()
    documents = read_json_lines(folder / DOCUMENTS, left_out)
    with pq.ParquetWriter(table, _SCHEMA) as writer:
        while some := list(islice(documents, _ROWS)):
            rows = []
            for document in some:
                try:
                    rows.append(_row(document, folder))
                except (NoRecord, KeyError, TypeError, ValueError, AttributeError):
                    left_out.add(NO_RECORD, f"{folder / DOCUMENTS}, {document['url']}")
            writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return table


def _row(document: Mapping[str, Any], folder: Path) -> dict[str, object]:
    file, offset, language = document["warc_file"], document["warc_offset"], document["language"]
    if not (isinstance(language, str) and (file is None or (isinstance(file, str) and isinstance(offset, int)))):
        raise TypeError
    if file is not None:
        check_place(file, offset, 1)
    text = document["text"]
    return {
        "url": document["url"],
        "domain": registered_domain(document["url"]),
        "language": language,
        "digest": hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "warc_file": str(folder.resolve() / file) if file else None,
        "warc_offset": offset,
        "warc_length": None,
        "size": len(text),
        "announced": [str(url) for _, url in document.get("alternates") or ()],
    }


REQUIRED = {
    "url": ("url",),
    "languages": ("content_languages", "languages", "language"),
    "file": ("warc_filename", "warc_file"),
    "offset": ("warc_record_offset", "warc_offset"),
    "length": ("warc_record_length", "warc_length"),
}
"""Common column names to names in tables, Common Crawl's first."""
OPTIONAL = {
    "domain": ("url_host_private_domain", "domain"),
    "digest": ("content_digest", "digest"),
    "size": ("size", "warc_record_length", "warc_length"),
    "announced": ("announced",),
}
_TYPES = {"offset": "int64", "length": "int64", "size": "int64", "announced": "array<string>"}
_HTML = ("text/html", "application/xhtml+xml")
_HOST = r"^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#:]+)"


def read_tables(engine: Engine, crawls: Sequence[Path], files: Sequence[str], work: Path) -> ir.Table:
    """Read the pages of crawls and of Parquet *files*, which have the columns of one index, such as Common Crawl's.

    Columns: url, domain (registered), language (main one, ISO 639-3), digest, file, offset, length, size (decides among
    duplicates) and, if a table has it, announced (URLs of translations). Only HTML with status 200. Raises MiningError.
    """
    read = [(engine.read([str(table_of_crawl(folder, work))]), str(folder)) for folder in crawls]
    if files:
        read.append((engine.read(files), files[0]))
    announced = any("announced" in table.columns for table, where in read)
    tables = [_named(table, where, announced) for table, where in read]
    return ibis.union(*tables) if len(tables) > 1 else tables[0]


def _with_columns(batch: pa.RecordBatch, fields: Fields, columns: Sequence[Sequence[object]]) -> pa.RecordBatch:
    for field, column in zip(fields, columns, strict=True):
        batch = batch.append_column(pa.field(*field), pa.array(column, field[1]))
    return batch


DOMAINS = (("domain", pa.string()),)


def add_domains(hosts: pa.RecordBatch) -> pa.RecordBatch:
    return _with_columns(hosts, DOMAINS, [[registered_domain(host) for host in hosts["host"].to_pylist()]])


def with_domains(engine: Engine, pages: ir.Table) -> ir.Table:
    """Fill missing domains of *pages* with the registered domain of the host."""
    host = ibis.ifelse(_.domain.isnull(), _.url.re_extract(_HOST, 1), ibis.null("string"))
    hosted = pages.mutate(host=host)
    hosts = hosted.filter(_.host.notnull()).select("host").distinct()
    found = engine.add(hosts, add_domains, DOMAINS, "hosts").rename(found="domain")
    return hosted.left_join(found, "host").mutate(domain=ibis.coalesce(_.domain, _.found)).select(*pages.columns)


def _named(table: ir.Table, where: str, announced: bool) -> ir.Table:
    columns = set(table.columns)
    found = {ours: next(filter(columns.__contains__, theirs), None) for ours, theirs in (REQUIRED | OPTIONAL).items()}
    if missing := next((theirs[0] for ours, theirs in REQUIRED.items() if found[ours] is None), None):
        raise MiningError(f"{where}: no column {missing}; give a table that has it, or call it so")
    pages = table
    if "fetch_status" in columns:
        pages = pages.filter(_.fetch_status == 200)
    if "content_mime_detected" in columns:
        pages = pages.filter(_.content_mime_detected.isin(_HTML))
    kept = {ours: ibis.null() if theirs is None else pages[theirs] for ours, theirs in found.items()}
    values = {ours: column.cast(_TYPES.get(ours, "string")) for ours, column in kept.items()}
    language = values.pop("languages").split(",")[0]
    if not announced:
        del values["announced"]
    known = _.url.notnull() & _.language.notnull() & (_.language != "")
    return pages.select(**values, language=language).filter(known)


KEYS = (("key", pa.string()), ("marked", pa.string()), ("of_domain", pa.int64()), ("of_directory", pa.int64()))


def add_keys(pages: pa.RecordBatch, languages: Collection[str] | None) -> pa.RecordBatch:
    """Add the columns to pair *pages* by; only marks of *languages* count, None for all.

    ``key``: the URL without language marks. ``marked``: the language that it names, ISO 639-3, or null. ``of_domain``,
    ``of_directory``: checksums of the domain, and with the directory of the key, by which a large domain is cut.
    """
    urls, domains = pages["url"].to_pylist(), pages["domain"].to_pylist()
    wanted = None if languages is None else frozenset(languages)
    # both of one URL at a time, because both need its marks, which are cached
    found = [(strip_language(url, wanted), marked_language(url, wanted)) for url in urls]
    of_domain = [crc32(domain.encode()) for domain in domains]
    directories = (key.partition("?")[0].rpartition("/")[0] for key, _ in found)
    of_directory = [crc32(path.encode(), domain) for path, domain in zip(directories, of_domain, strict=True)]
    columns = [key for key, _ in found], [marked for _, marked in found], of_domain, of_directory
    return _with_columns(pages, KEYS, columns)


MAX_RATIO = 3  # maximum size ratio of a pair of URLs; a page that is not translated has little more than its frame
_BARE = r"^[A-Za-z]+://(?:www[.])?"
_PLACE = ("url", "file", "offset", "length", "digest")
_COLUMNS = ("pair", "domain", *(f"{name}_{side}" for side in "ab" for name in _PLACE))


def longest(pages: ir.Table) -> ir.Table:
    """Keep the longest, else the first, of *pages* that differ by scheme or ``www.``; adds the column ``bare``."""
    order = (ibis.desc("size", nulls_first=False), ibis.desc("url"), "file", "offset")
    return _first(pages.mutate(bare=_.url.re_replace(_BARE, "")), ("bare",), order)


def bilingual(pages: ir.Table, asked: ir.Table) -> ir.Table:
    """Keep the *pages* of domains with both languages of a pair. *asked*: the pairs, with the columns a, b and pair."""
    there = pages.select("domain", "language").distinct()
    wanted = there.rename(a="language").inner_join(asked, "a")
    both = wanted.semi_join(there.select("domain", b="language"), ("domain", "b")).select("domain")
    return pages.semi_join(both, "domain")


def url_pairs(pages: ir.Table, asked: ir.Table, sides: Mapping[str, str]) -> ir.Table:
    """Pair *pages* with keys one-to-one: by announcement, and by URLs that are equal but for the language.

    *sides*: languages, and the language of the pairs that each counts as. URLs with the mark of another language are
    not paired by URL. Of the pages of a domain with one language and key the first takes part: one with a mark, then
    the shorter URL. Of announced pairs the best of both pages stay.
    """
    agree = pages.filter(_.marked.isnull() | (_.marked.substitute(sides) == _.language))
    order = (_.marked.isnull(), _.url.length(), _.url)
    one = _first(agree, ("domain", "key", "language"), order).select(*_PLACE, "size", "domain", "key", "language")
    a = one.rename(a="language", **_beside("a")).inner_join(asked, "a")
    both = a.inner_join(one.rename(b="language", **_beside("b")), ("domain", "key", "b"))
    far = ibis.greatest(_.size_a, _.size_b) > MAX_RATIO * ibis.least(_.size_a, _.size_b)
    near = both.filter(~far.fill_null(False))
    by_key = near.select(*_COLUMNS, score=_score("url"), method=ibis.literal("url"))
    # pairs by key are one-to-one already
    return _best(by_key.union(announced_pairs(pages, asked))) if "announced" in pages.columns else by_key


def announced_pairs(pages: ir.Table, asked: ir.Table) -> ir.Table:
    """Return the pairs of *pages* of which one or both announce the other; a page may be in several."""
    targets = pages.select("bare", "language", target=_.announced.unnest())
    targets = targets.mutate(target=_.target.re_replace(_BARE, "").re_replace("#.*$", ""))
    links = targets.inner_join(pages.select(target="bare", other="language"), "target").distinct()
    forth = links.rename(a="language", b="other", bare_a="bare", bare_b="target")
    back = links.rename(b="language", a="other", bare_b="bare", bare_a="target")
    announcing = [table.inner_join(asked, ("a", "b")).select("pair", "bare_a", "bare_b") for table in (forth, back)]
    counted = ibis.union(*announcing).group_by("pair", "bare_a", "bare_b").agg(said=_.count())
    places = pages.select("bare", "domain", *_PLACE, "size")
    found = counted.inner_join(places.rename(bare_a="bare", **_beside("a")), "bare_a")
    found = found.inner_join(places.drop("domain").rename(bare_b="bare", **_beside("b")), "bare_b")
    score = ibis.ifelse(_.said == 2, _score("hreflang+"), _score("hreflang"))
    return found.select(*_COLUMNS, score=score, method=ibis.literal("hreflang"))


def _score(method: str) -> ir.Value:
    # DuckDB would make a decimal of a number
    return ibis.literal(str(SCORES[method])).cast("float64")


def _beside(side: str) -> dict[str, str]:
    return {f"{name}_{side}": name for name in (*_PLACE, "size")}


def _best(found: ir.Table) -> ir.Table:
    for side, other in ("ab", "ba"):
        order = (ibis.desc("score"), ibis.asc(f"url_{other}"))
        rank = ibis.row_number().over(group_by=("pair", f"url_{side}"), order_by=order)
        found = found.mutate(**{f"rank_{side}": rank})
    return found.filter((_.rank_a == 0) & (_.rank_b == 0)).drop("rank_a", "rank_b")


def _first(table: ir.Table, by: tuple[str, ...], order: tuple[ir.Value, ...]) -> ir.Table:
    rank = ibis.row_number().over(group_by=by, order_by=order)
    return table.mutate(rank=rank).filter(_.rank == 0).drop("rank")


LARGE = 20_000
"""Pages from which a domain is split by directories of its keys, which keeps 99.6 % of gold pairs together."""
COLUMNS = ("url", "domain", "language", "file", "offset", "length", "digest", "unit", "bucket")


WRONG = 0.01
"""Approximate share of pages whose language CLD2 gets wrong; a large site has pages in every language by mistake."""


def count_domains(pages: ir.Table, found: ir.Table, asked: ir.Table) -> ir.Table:
    """Count the pages and pairs of each domain and language pair, with one pair of URLs, or null."""
    counts = pages.group_by("domain", "language").agg(pages=_.count())
    a = counts.rename(a="language", pages_a="pages").inner_join(asked, "a")
    both = a.inner_join(counts.rename(b="language", pages_b="pages"), ("domain", "b"))
    example = {"url_a": _.url_a.min(), "url_b": _.url_b.argmin(_.url_a)}
    pairs = found.group_by("domain", "pair").agg(url_pairs=_.count(), **example)
    columns = ("domain", "pair", "a", "b", "pages_a", "pages_b", *example)
    return both.left_join(pairs, ("domain", "pair")).select(*columns, url_pairs=_.url_pairs.fill_null(0))


class Host(msgspec.Struct):
    """A domain with both languages of a pair, or of several."""

    domain: str
    pages: dict[str, int]
    url_pairs: int = 0
    likelihood: float = 0.0
    """P(the domain has pairs), the maximum over its language pairs."""
    pair: tuple[str, str] | None = None


def by_size(domains: ir.Table) -> ir.Table:
    """Sort *domains*, most pages in the rarer languages first."""
    rarer = ibis.least(_.pages_a, _.pages_b).sum().over(group_by="domain")
    return domains.mutate(rarer=rarer).order_by(ibis.desc("rarer"), "domain", ibis.desc("url_pairs"), "pair")


def hosts_of(folder: Path) -> Iterator[Host]:
    """Yield a host for each domain, in the order of :func:`by_size`, from the table in *folder*."""
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
    """A row of ``sites.tsv``; its last columns make the file a list of candidates for a discovery."""

    url: str
    prior: float

    @classmethod
    def from_host(cls, host: Host) -> MinedSite:
        url_a, url_b = host.pair or ("", "")
        entry = entry_page(url_a or f"https://{host.domain}/")
        pages = write_counts(host.pages)
        verdict, evidence = (BILINGUAL, write_counts({"url": host.url_pairs})) if host.url_pairs else ("unread", "")
        known = host.domain, entry, verdict, host.likelihood, pages, evidence, url_a, url_b
        return cls(*known, 0, "index", "", pages, "", "", url=entry, prior=host.likelihood)


@dataclass(frozen=True, slots=True)
class UrlStage:
    """The tables and counts of the URL stage."""

    pairs: LanguagePairs
    pages: ir.Table
    """Pages of domains with both languages, without duplicates, with keys."""
    found: ir.Table
    domains: ir.Table
    counts: dict[str, int]
    """rows, in_languages, in_domains (with both languages), duplicates, domains, url_pairs."""

    def plan(self, buckets: int, large: int = LARGE) -> ir.Table:
        """Plan the pages to read, one per digest, with ``unit`` and ``bucket``.

        They are of domains with pairs of URLs, or with more pages in the rarer language than errors explain.
        """
        rarer, commoner = ibis.least(_.pages_a, _.pages_b), ibis.greatest(_.pages_a, _.pages_b)
        domains = self.domains.filter((_.url_pairs > 0) | (rarer >= WRONG * commoner))
        wanted = domains.select("domain", language="a").union(domains.select("domain", language="b"))
        read = self.pages.semi_join(wanted, ("domain", "language")).filter(_.file.notnull())
        read = read.mutate(same=ibis.coalesce(_.digest, _.url))
        once = _first(read, ("domain", "language", "same"), (_.url.length(), _.url))
        sized = once.mutate(size=_.count().over(group_by="domain"))
        units = sized.mutate(unit=ibis.ifelse(_.size > large, _.of_directory, _.of_domain))
        return units.mutate(bucket=_.unit % buckets).select(*COLUMNS)


def mine_urls(engine: Engine, crawls: Sequence[Path], files: Sequence[str], wanted: AskedPairs, work: Path) -> UrlStage:
    """Run the URL stage over crawls and Parquet *files*, with tables in *work*; raises MiningError, LanguageError."""
    rows = read_tables(engine, crawls, files, work)
    by_language = dict(rows.group_by("language").agg(pages=_.count()).to_pyarrow().to_pandas().itertuples(index=False))
    pairs = wanted.among(by_language)
    columns = {"a": [pair.a for pair in pairs], "b": [pair.b for pair in pairs], "pair": list(map(str, pairs))}
    pq.write_table(pa.table(columns), work / "asked.parquet")
    asked = engine.read([str(work / "asked.parquet")])
    # languages of the tables, and of marks in URLs, by the language of the pairs that each counts as
    known = sorted({*by_language, *pairs.equivalents})
    sides = {language: side for language in known if (side := pairs.side(language))}
    in_languages = rows.filter(_.language.isin(list(sides))).mutate(language=_.language.substitute(sides))
    inside = bilingual(with_domains(engine, in_languages), asked)
    marks = None if wanted.is_open else pairs.equivalents
    pages = engine.add(longest(inside), partial(add_keys, languages=marks), KEYS, "pages")
    found = engine.keep(url_pairs(pages, asked, sides), "found")
    domains = engine.keep(count_domains(pages, found, asked), "domains")
    in_domains = int(inside.count().execute())
    counts = {
        "rows": sum(by_language.values()),
        "in_languages": sum(by_language.get(language, 0) for language in sides),
        "in_domains": in_domains,
        "duplicates": in_domains - int(pages.count().execute()),
        "domains": int(domains.domain.nunique().execute()),
        "url_pairs": int(found.count().execute()),
    }
    return UrlStage(pairs, pages, found, domains, counts)
