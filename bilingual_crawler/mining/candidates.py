"""Keys of URLs, and the pairs of pages by key and by announcement, as ibis expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import ibis
import pyarrow as pa
from ibis import _

from bilingual_crawler.pairing.urls import SCORES
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import ibis.expr.types as ir

    from bilingual_crawler.languages.pairs import LanguagePairs

KEYS = (("key", pa.string()), ("marked", pa.string()), ("of_domain", pa.int64()), ("of_directory", pa.int64()))
DOMAINS = (("domain", pa.string()),)


def add_keys(pages: pa.RecordBatch, languages: Collection[str] | None) -> pa.RecordBatch:
    """Add the columns to pair *pages* by; only marks of *languages* count, None for all.

    ``key``: the URL without language marks. ``marked``: the language that it names, ISO 639-3, or null. ``of_domain``,
    ``of_directory``: checksums of the domain, and of the domain with the directory of the key; a large domain is cut by
    the latter.
    """
    urls, domains = pages["url"].to_pylist(), pages["domain"].to_pylist()
    wanted = None if languages is None else frozenset(languages)
    # both of one URL at a time, because both need its marks, which are cached
    found = [(strip_language(url, wanted), marked_language(url, wanted)) for url in urls]
    keys, marked = zip(*found, strict=True) if found else ((), ())
    of_domain = [crc32(domain.encode()) for domain in domains]
    directories = (key.partition("?")[0].rpartition("/")[0] for key in keys)
    of_directory = [crc32(path.encode(), domain) for path, domain in zip(directories, of_domain, strict=True)]
    columns = (keys, marked, of_domain, of_directory)
    return _with(pages, KEYS, columns)


def add_domains(hosts: pa.RecordBatch) -> pa.RecordBatch:
    """Add the registered domain of each ``host``."""
    return _with(hosts, DOMAINS, ([registered_domain(host) for host in hosts["host"].to_pylist()],))


def _with(
    batch: pa.RecordBatch, fields: tuple[tuple[str, pa.DataType], ...], columns: tuple[Sequence[object], ...]
) -> pa.RecordBatch:
    added = [pa.array(column, kind) for (_, kind), column in zip(fields, columns, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *added], schema=pa.schema([*batch.schema, *(pa.field(*field) for field in fields)])
    )


MAX_RATIO = 3
"""Maximum size ratio of a pair of URLs; a page that is not translated has little more than its frame."""
_BARE = r"^[A-Za-z]+://(?:www[.])?"
_PLACE = ("url", "file", "offset", "length", "digest")
_COLUMNS = ("pair", "domain", *(f"{name}_{side}" for side in "ab" for name in _PLACE))


def sides_of(pairs: LanguagePairs, languages: Iterable[str]) -> dict[str, str]:
    """Map *languages* to the language of *pairs* that each counts as; others are missing."""
    return {language: side for language in sorted(languages) if (side := pairs.side(language))}


def in_languages(pages: ir.Table, pairs: LanguagePairs, languages: Iterable[str]) -> ir.Table:
    """Keep the *pages* in a language of *pairs*, among *languages*; ``language`` becomes the language of *pairs*."""
    sides = sides_of(pairs, languages)
    return pages.filter(_.language.isin(list(sides))).mutate(language=_.language.substitute(sides))


def longest(pages: ir.Table) -> ir.Table:
    """Keep the longest of the *pages* whose URLs differ in scheme or ``www.`` only; adds the column ``bare``.

    Of records of one URL and length the first stays, by file name and offset.
    """
    bare = pages.mutate(bare=_.url.re_replace(_BARE, ""))
    order = (ibis.desc("size", nulls_first=False), ibis.desc("url"), "file", "offset")
    return _first(bare, ("bare",), order)


def bilingual(pages: ir.Table, asked: ir.Table) -> ir.Table:
    """Keep the *pages* of domains with both languages of a pair. *asked*: the pairs, with the columns a, b and pair."""
    there = pages.select("domain", "language").distinct()
    wanted = there.rename(a="language").inner_join(asked, "a")
    both = wanted.semi_join(there.select("domain", b="language"), ("domain", "b")).select("domain")
    return pages.semi_join(both, "domain")


def url_pairs(pages: ir.Table, asked: ir.Table, pairs: LanguagePairs, languages: Iterable[str]) -> ir.Table:
    """Pair *pages* with keys one-to-one: by announcement, and by URLs that are equal but for the language.

    URLs with the mark of another language are not paired by URL. Of the pages of a domain with one language and key the
    first takes part: one with a mark, then the shorter URL. Where announcements disagree, a pair stays if it is the
    best of both of its pages.
    """
    sides = sides_of(pairs, languages)
    agree = pages.filter(_.marked.isnull() | (_.marked.substitute(sides) == _.language))
    order = (_.marked.isnull(), _.url.length(), _.url)
    one = _first(agree, ("domain", "key", "language"), order).select(*_PLACE, "size", "domain", "key", "language")
    a = one.rename(a="language", **_beside("a")).inner_join(asked, "a")
    by_key = a.inner_join(one.rename(b="language", **_beside("b")), ("domain", "key", "b")).select(
        *_COLUMNS, "size_a", "size_b", score=_score("url"), method=ibis.literal("url")
    )
    far = ibis.greatest(_.size_a, _.size_b) > MAX_RATIO * ibis.least(_.size_a, _.size_b)
    by_key = by_key.filter(~far.fill_null(False)).drop("size_a", "size_b")
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
    """Return new names for the columns of one page of a pair."""
    return {f"{name}_{side}": name for name in (*_PLACE, "size")}


def _best(found: ir.Table) -> ir.Table:
    """Keep the pairs that are the best of both of their pages."""
    for side, other in ("ab", "ba"):
        order = (ibis.desc("score"), ibis.asc(f"url_{other}"))
        rank = ibis.row_number().over(group_by=("pair", f"url_{side}"), order_by=order)
        found = found.mutate(**{f"rank_{side}": rank})
    return found.filter((_.rank_a == 0) & (_.rank_b == 0)).drop("rank_a", "rank_b")


def _first(table: ir.Table, by: tuple[str, ...], order: tuple[ir.Value, ...]) -> ir.Table:
    rank = ibis.row_number().over(group_by=by, order_by=order)
    return table.mutate(rank=rank).filter(_.rank == 0).drop("rank")
