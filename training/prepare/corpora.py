"""URL pairs out of tables (lists, MaCoCu, ParaCrawl, gold standards, crawls, frozen sites) and of TMX."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, NamedTuple

from lxml import etree

from bilingual_crawler.languages.codes import LanguagePair, from_bcp47
from bilingual_crawler.storage.records import SUMMARY
from bilingual_crawler.urls.hosts import domain_label
from training.common.data import MAX_URL, BadRow, DataError, parse_rows, split_header
from training.prepare.files import unpacked_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from training.prepare.files import Account

GOLD, CORPUS, CRAWL, SITE, LIST = "gold", "corpus", "crawl", "site", "list"
NOT_TRANSLATIONS = "same-story"
"""Prefixes of the evidence of listed pairs that are equivalent but no translations."""
_URL = re.compile(r"https?://\S+")
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class UrlPair(NamedTuple):
    """A row of a list of pairs; languages are ISO 639-3, the label is 1 for translations and 0 for others."""

    url_a: str
    lang_a: str
    url_b: str
    lang_b: str
    source: str
    evidence: str
    label: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read a table: its columns, the number of its first row, and constants for missing columns."""

    header: Sequence[str]
    first: int
    untold: Mapping[str, str]


def is_url(text: str) -> bool:
    """Whether a text is a web address of at most 2000 characters."""
    return len(text) <= MAX_URL and _URL.fullmatch(text) is not None


def layout_of(path: Path, line: bytes, languages: tuple[str, str] | None) -> Layout:
    """The layout of a table by its first line. `languages` are those of its two sides if the table does not name them.
    DataError if the table is unknown or its languages are missing.
    """
    if not line:
        raise DataError(f"{path} is empty")
    fields = split_header(line)
    source, header, first = unpacked_name(path).partition(".")[0], fields, 2
    urls = [is_url(field) for field in fields]
    if urls[:2] == [True, True]:
        evidence = GOLD if unpacked_name(path).endswith(".pairs") else CORPUS
        header, first = ["url_a", "url_b", *(f"column {i}" for i in range(3, len(fields) + 1))], 1
    elif len(fields) == 5 and urls[0] and urls[2]:
        evidence, source = SITE, path.parent.name
        header, first = ["url_a", "lang_a", "url_b", "lang_b", "method"], 1
    elif {"url_a", "lang_a", "url_b", "lang_b"} <= set(fields):
        evidence = LIST
    elif {"url_a", "url_b", "score", "method"} <= set(fields):
        evidence, source = CRAWL, path.parent.name
        if not _is_by_pair(fields):
            languages = _languages_of_crawl(path.parent / SUMMARY) or languages
    elif {"src_url", "trg_url"} <= set(fields):
        evidence = CORPUS
        header = [{"src_url": "url_a", "trg_url": "url_b"}.get(name, name) for name in fields]
    else:
        raise DataError(
            f"{path} is none of the formats that are read: TMX, .lett, a table that begins with two columns of URLs or"
            " has the columns src_url and trg_url, or url_a, lang_a, url_b, lang_b, a crawl's or frozen site's pairs"
        )
    if "lang_a" not in header and not _is_by_pair(header) and languages is None:
        raise DataError(f"{path} does not say the languages of its two columns: add them in order, like --pair eng-isl")
    lang_a, lang_b = languages or ("", "")
    return Layout(header, first, {"lang_a": lang_a, "lang_b": lang_b, "source": source, "evidence": evidence})


def _is_by_pair(header: Sequence[str]) -> bool:
    """Whether each row names its languages as ``eng-mlt``; those of older crawls do not."""
    return "pair" in header and "lang_a" not in header


def _languages_of_crawl(path: Path) -> tuple[str, str] | None:
    if not path.exists():
        return None
    pair = LanguagePair.parse(json.loads(path.read_text(encoding="utf-8"))["pair"])
    return pair.a, pair.b


def read_table(path: Path, stream: IO[bytes], languages: tuple[str, str] | None, account: Account) -> Iterator[UrlPair]:
    """The pairs of a table. `languages` are those of its two sides if the table does not name them."""
    line = stream.readline()
    layout = layout_of(path, line, languages)
    by_pair = ["pair"] if _is_by_pair(layout.header) else []
    named = [name for name in UrlPair._fields if name in layout.header and name[:3] != "url"]
    told = ["url_a", "url_b", *by_pair, *named]
    lines = chain([line], stream) if layout.first == 1 else stream
    for number, values in parse_rows(
        lines, layout.header, told, ("url_a", "url_b"), account.reject, path, layout.first
    ):
        row = dict(layout.untold) | dict(zip(told, values, strict=True))
        if by_pair:
            row["lang_a"], _, row["lang_b"] = row.pop("pair").partition("-")
        row["label"] = row.get("label") or str(int(not row["evidence"].startswith(NOT_TRANSLATIONS)))
        langs = [from_bcp47(row["lang_a"]), from_bcp47(row["lang_b"])]
        if not (is_url(row["url_a"]) and is_url(row["url_b"])):
            account.reject(BadRow(number, "not a URL"))
        elif langs[0] is None or langs[1] is None:
            account.reject(BadRow(number, f"no such language: {row['lang_a']} or {row['lang_b']}"))
        elif row["label"] not in ("0", "1"):
            account.reject(BadRow(number, f"label {row['label']}"))
        else:
            account.read += 1
            yield UrlPair(**row | {"lang_a": langs[0], "lang_b": langs[1]})


def read_tmx(path: Path, stream: IO[bytes], account: Account) -> Iterator[UrlPair]:
    """The addresses of both sides of every unit of a TMX (property ``source-document``), in constant memory.

    A deduplicated corpus names several addresses per side. Two addresses are paired if each is the only one of its site
    on its side; others are ambiguous. Entities are not expanded.
    """
    source = unpacked_name(path).partition(".")[0]
    units = etree.iterparse(
        stream, tag="tu", resolve_entities=False, load_dtd=False, no_network=True, recover=True, remove_comments=True
    )
    for number, (_, unit) in enumerate(units, start=1):
        sides = [_side(variant) for variant in unit.iterchildren("tuv")]
        unit.clear()
        while unit.getprevious() is not None:
            del unit.getparent()[0]
        if reason := _fault(sides):
            account.reject(BadRow(number, reason))
            continue
        account.read += 1
        (lang_a, urls_a), (lang_b, urls_b) = sides
        pairs = _together(urls_a, urls_b)
        account.left_out["several addresses"] += not pairs
        for a, b in pairs:
            yield UrlPair(a, lang_a or "", b, lang_b or "", source, CORPUS, "1")
    for error in units.error_log:
        account.reject(BadRow(error.line, f"as a line of XML: {error.message}"))


def _side(variant: etree._Element) -> tuple[str | None, list[str]]:
    code = variant.get(_LANG) or variant.get("lang") or ""
    props = (prop for prop in variant.iterchildren("prop") if prop.get("type") == "source-document")
    # An unexpanded entity is a child of the property.
    texts = (prop.text or "" for prop in props if not len(prop))
    return from_bcp47(code), [url for text in texts if is_url(url := text.strip())]


def _fault(sides: Sequence[tuple[str | None, list[str]]]) -> str:
    if len(sides) != 2:
        return f"{len(sides)} languages"
    if any(lang is None for lang, _ in sides):
        return "no such language"
    return "" if all(urls for _, urls in sides) else "no address"


def _together(urls_a: list[str], urls_b: list[str]) -> list[tuple[str, str]]:
    """Pairs of addresses of the two sides."""
    if len(urls_a) == len(urls_b) == 1:
        return [(urls_a[0], urls_b[0])]
    by_site: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for side, urls in enumerate((urls_a, urls_b)):
        for url in urls:
            by_site[domain_label(url)][side].add(url)
    return [(min(a), min(b)) for a, b in by_site.values() if len(a) == len(b) == 1]
