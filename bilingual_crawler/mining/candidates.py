"""The URL stage as ibis expressions (CCAligned 2020, section 3.2): pages to pairs of URLs, without reading a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
from ibis import _

from bilingual_crawler.pairing.url_evidence import SCORES

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from bilingual_crawler.language_pairs import LanguagePairs

_BARE = r"^[A-Za-z]+://(?:www[.])?"
_PLACE = ("url", "file", "offset", "length", "digest")


def in_languages(pages: ir.Table, pairs: LanguagePairs, languages: frozenset[str]) -> ir.Table:
    """The *pages* in a language of *pairs*, of the *languages* that there are; ``language`` is the one they count as."""
    sides = {language: side for language in languages if (side := pairs.side(language))}
    return pages.filter(_.language.isin(list(sides))).mutate(language=_.language.substitute(sides))


def longest(pages: ir.Table) -> ir.Table:
    """Of the *pages* whose URLs differ in scheme or ``www.`` only, the longest, which has the column ``bare``."""
    bare = pages.mutate(bare=_.url.re_replace(_BARE, ""))
    order = (ibis.desc("size", nulls_first=False), ibis.desc("url"))
    return _first(bare, ("bare",), order)


def bilingual(pages: ir.Table, asked: ir.Table) -> ir.Table:
    """The *pages* of domains that have both languages of a pair. *asked*: the pairs, with the columns a, b and pair."""
    there = pages.select("domain", "language").distinct()
    one = there.join(asked, there.language == asked.a).select("domain", "b")
    both = one.semi_join(there, (one.domain == there.domain) & (one.b == there.language))
    return pages.semi_join(both, "domain")


def url_pairs(pages: ir.Table, asked: ir.Table, pairs: LanguagePairs, languages: frozenset[str]) -> ir.Table:
    """One-to-one pairs of *pages* that have keys: announced ones, and those whose URLs are equal but for the language.

    A page whose URL names another language than its own is in none of the latter. Of the pages of a domain in one
    language that have one key, the first takes part: one with a mark, the shorter URL. If announcements disagree with
    that, a pair stays if it is the best of both of its pages.
    """
    sides = {language: side for language in languages if (side := pairs.side(language))}
    agree = pages.filter(_.marked.isnull() | (_.marked.substitute(sides) == _.language))
    order = (_.marked.isnull(), _.url.length(), _.url)
    one = _first(agree, ("domain", "key", "language"), order).select(*_PLACE, "domain", "key", "language")
    by_key = _joined(one, one.view(), asked, ("domain", "key")).mutate(score=SCORES["url"], method=ibis.literal("url"))
    return _best(by_key.union(announced_pairs(pages, asked)))


def announced_pairs(pages: ir.Table, asked: ir.Table) -> ir.Table:
    """Pairs of *pages* of which one announces the other, or both do; a page may be in several."""
    told = pages.select("bare", "language", target=_.announced.unnest()).mutate(
        target=_.target.re_replace(_BARE, "").re_replace("#.*$", "")
    )
    there = pages.select(target="bare", other="language")
    links = told.inner_join(there, "target").filter(_.language != _.other).distinct()
    forth = links.join(asked, (links.language == asked.a) & (links.other == asked.b))
    back = links.join(asked, (links.language == asked.b) & (links.other == asked.a))
    both = forth.select("pair", bare_a="bare", bare_b="target").union(
        back.select("pair", bare_a="target", bare_b="bare")
    )
    counted = both.group_by("pair", "bare_a", "bare_b").agg(said=_.count())
    score = ibis.ifelse(_.said == 2, SCORES["hreflang+"], SCORES["hreflang"])
    places = pages.select("bare", "domain", *_PLACE)
    a, b = (places.rename({f"{name}_{side}": name for name in ("bare", *_PLACE)}) for side in "ab")
    found = counted.inner_join(a, "bare_a").inner_join(b.drop("domain"), "bare_b")
    return found.mutate(score=score, method=ibis.literal("hreflang")).select(*_columns(), "score", "method")


def _columns() -> tuple[str, ...]:
    return ("pair", "domain", *(f"{name}_{side}" for side in "ab" for name in _PLACE))


def _joined(one: ir.Table, other: ir.Table, asked: ir.Table, on: tuple[str, ...]) -> ir.Table:
    """*one* in the first language of a pair beside *other* in the second, where both have the same *on*."""
    a = one.join(asked, one.language == asked.a).select("pair", "b", *on, **{f"{name}_a": one[name] for name in _PLACE})
    b = other.select(*on, b=other.language, **{f"{name}_b": other[name] for name in _PLACE})
    return a.inner_join(b, (*on, "b")).select(*_columns())


def _best(found: ir.Table) -> ir.Table:
    """The pairs that are the best of both of their pages."""
    for side, other in ("ab", "ba"):
        order = (ibis.desc("score"), ibis.asc(f"url_{other}"))
        rank = ibis.row_number().over(group_by=("pair", f"url_{side}"), order_by=order)
        found = found.mutate(**{f"rank_{side}": rank})
    return found.filter((_.rank_a == 0) & (_.rank_b == 0)).drop("rank_a", "rank_b")


def _first(table: ir.Table, by: tuple[str, ...], order: tuple[ir.Value, ...]) -> ir.Table:
    rank = ibis.row_number().over(group_by=by, order_by=order)
    return table.mutate(rank=rank).filter(_.rank == 0).drop("rank")
