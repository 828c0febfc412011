"""``pairs.tsv`` and ``unpaired.tsv``, which may have rows of several pairs of languages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.documents import Pair, Unpaired
from bilingual_crawler.records import SUMMARY, read_tsv, replace_tsv

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bilingual_crawler.language_pairs import LanguagePairs


def read_pairs(path: Path, pairs: LanguagePairs) -> Iterator[Pair]:
    """The pairs in the file *path*, none if it is missing.

    Older crawls did not write the column ``pair``: their rows are of the crawl's languages, which the summary beside
    the file has; without one, of those asked for, the first of *pairs*.
    """
    unnamed = _languages_beside(path) or str(next(iter(pairs)))
    for row in read_tsv(path):
        yield Pair(row["url_a"], row["url_b"], float(row["score"]), row["method"], row.get("pair", unnamed))


def pairs_of_others(path: Path, pairs: LanguagePairs) -> list[Pair]:
    """The pairs in the file *path* of other languages than *pairs*: whoever replaces the file keeps them."""
    names = set(map(str, pairs))
    return [pair for pair in read_pairs(path, pairs) if pair.pair not in names]


def replace_pairs(path: Path, found: Iterable[Pair], pairs: LanguagePairs) -> None:
    """Make *found* the pairs of the languages *pairs* in the file *path*; those of others follow them."""
    replace_tsv(path, Pair, [*found, *pairs_of_others(path, pairs)])


def replace_unpaired(path: Path, unpaired: Iterable[Unpaired], pairs: LanguagePairs) -> None:
    """Make *unpaired* the rows of the languages *pairs* in the file *path*; named ones of others follow them."""
    names = set(map(str, pairs))
    others = [
        Unpaired(row["url"], row["reason"], row["nearest"], float(row["score"]), row["pair"])
        for row in read_tsv(path)
        if row.get("pair") and row["pair"] not in names
    ]
    replace_tsv(path, Unpaired, [*unpaired, *others])


def _languages_beside(path: Path) -> str | None:
    try:
        return str(json.loads((path.parent / SUMMARY).read_text(encoding="utf-8"))["pair"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
