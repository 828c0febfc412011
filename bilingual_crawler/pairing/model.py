"""Profiles of documents, pairs and unpaired documents, and the files ``pairs.tsv`` and ``unpaired.tsv``."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bilingual_crawler.items import Pair, Unpaired
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.arrays import Hashes, Mask
from bilingual_crawler.storage.records import SUMMARY, read_tsv, replace_tsv


@dataclass(frozen=True, slots=True)
class Profile:
    """The features of one document: 32-bit hashes (CRC-32) and sizes; arrays ``(n,)``, sets sorted and unique."""

    url: str
    language: str
    key: str
    """URL without language marks."""
    claims: tuple[str, ...]
    """URLs announced by ``hreflang`` as translations in a language that is paired with the document's."""
    switches: tuple[str, ...]
    """URLs in its language switcher."""
    marked: str | None
    """Language mark of the URL, ISO 639-3; country suffixes do not count. None without a mark."""
    declared: str | None
    """``lang`` of the root element, ISO 639-3; None if it is missing."""
    canonical: str | None
    """The address that ``rel=canonical`` gives the page; None if it gives none."""
    share: float
    """Share of the text in the document's language, 0 to 1."""
    size: int
    """Bytes of HTML; 0 if unknown."""
    tags: str
    """Start and end tags in order, a character each."""
    lines: Hashes
    """Lines of the text, in order."""
    lengths: NDArray[np.uint16]
    """Width of each line, in which a Chinese, Japanese or Korean character counts twice, at most 65,535."""
    headings: Mask
    """Which lines are in the title, ``(lines,)``."""
    title: Hashes
    """Words of the title in lower case, and its dates."""
    words: Hashes
    """Words of title and text in lower case."""
    word_count: int
    names: Hashes
    """Words with a capital, or with letters and digits mixed, that do not begin a line."""
    numbers: Hashes
    """Numbers in order, repetitions included; then the dates, each once."""
    files: Hashes
    """File names of images and other linked files."""
    external: Hashes
    """Links that leave the host."""
    internal: Hashes
    """Links inside the registered domain, by :func:`~bilingual_crawler.pairing.reading.link_key`."""
    counts: Hashes = field(default_factory=lambda: np.zeros(0, dtype=np.uint32))
    """Of its numbers those before titles, which count chapters, sections and figures."""

    def without_counts(self) -> "Profile":
        return replace(self, numbers=self.numbers[~np.isin(self.numbers, self.counts)])


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of the documents in one language pair; refused candidates and unpaired documents by reason."""

    pairs: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    unpaired: dict[str, int] = field(default_factory=dict)


LABELLED = "labelled"
"""Method of a pair that a person has labelled as translations, and reason of one labelled as none."""

REASONS = {
    "no_candidate": "nothing in the other language resembles them",
    "low_score": "the best candidate was not likely enough",
    "taken": "a better pair took their candidate",
    "copy": "the same document under another address",
    "untranslated": "what is announced as their translation, or they as one, has its text in the same language",
    "same_text": "the page in the other language has the same text",
    "no_text": "it, or the page in the other language, has no text but its title and what the site repeats",
    LABELLED: "a person has labelled the pair as no translation",
    "length": "the page in the other language has more than four times their text, or less than a quarter",
    "same_url": "a longer document has the same address but for scheme, www. and last slash",
    "other_language": "most of the text is in neither language",
    "illegible": "they are binary data, encoded data or program code",
    "unreadable": "reading them took too much time or memory",
}
"""Reasons why a document is unpaired, and what they mean to a reader."""
Nearest: TypeAlias = "Mapping[str, tuple[str, float]]"
"""URL of a document -> URL and score of its best candidate."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of one registered domain, or of a group of domains that announce each other."""

    group: tuple[str, ...]
    pairs: tuple[Pair, ...]
    """One-to-one, best first."""
    unpaired: Mapping[str, str]
    """URL of each unpaired document to the reason, a key of ``REASONS``."""
    nearest: Nearest = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    """Refused candidates by reason: ``low_score`` or ``taken``."""
    near_misses: tuple[Pair, ...] = ()
    """Candidates of two unpaired documents, the best one of each, that scored too low; ``method`` is empty."""

    @property
    def paired(self) -> set[str]:
        """URLs of the documents in a pair."""
        return {url for pair in self.pairs for url in (pair.url_a, pair.url_b)}

    def rows_of_unpaired(self, pair: str) -> Iterator[Unpaired]:
        """Yield the lines of ``unpaired.tsv`` for the language pair *pair*."""
        for url, reason in self.unpaired.items():
            yield Unpaired(url, reason, *self.nearest.get(url, ("", 0.0)), pair)


def outcomes(
    names: Iterable[str],
    pairs: Iterable[str],
    unpaired: Iterable[tuple[str, str]],
    refused: Mapping[str, Mapping[str, int]],
) -> dict[str, Outcome]:
    """Count the outcomes of the language pairs called *names*.

    *pairs*: the language pair of each document pair; *unpaired*: language pair and reason of each unpaired document;
    *refused*: refused candidates by language pair and reason.
    """
    found = Counter(pairs)
    left: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, reason in unpaired:
        left[name][reason] += 1
    return {name: Outcome(found[name], dict(refused.get(name, {})), dict(left[name])) for name in names}


def read_pairs(path: Path, pairs: LanguagePairs) -> Iterator[Pair]:
    """Read the document pairs in the file *path*, if any, each pair of languages in its order in *pairs*.

    Older crawls did not write the column ``pair``: it is in the summary beside the file, or the first of *pairs*.
    """
    unnamed = str(next(iter(pairs)))
    with suppress(OSError, ValueError, KeyError, TypeError):
        unnamed = str(json.loads((path.parent / SUMMARY).read_text(encoding="utf-8"))["pair"])
    for row in read_tsv(path):
        name = row.get("pair", unnamed)
        found = Pair(row["url_a"], row["url_b"], float(row["score"]), row["method"], as_in(pairs, name))
        yield found if found.pair == name else replace(found, url_a=found.url_b, url_b=found.url_a)


def pairs_of_others(path: Path, pairs: LanguagePairs) -> list[Pair]:
    """Read the document pairs of *path* in other language pairs than *pairs*, which a new file must keep."""
    return [pair for pair in read_pairs(path, pairs) if not _has(pairs, pair.pair)]


def replace_pairs(path: Path, found: Iterable[Pair], pairs: LanguagePairs) -> None:
    """Replace the document pairs of the language pairs *pairs* in the file *path* by *found*; others stay."""
    replace_tsv(path, Pair, [*found, *pairs_of_others(path, pairs)])


def replace_unpaired(path: Path, unpaired: Iterable[Unpaired], pairs: LanguagePairs) -> None:
    """Replace the rows of the language pairs *pairs* in the file *path* by *unpaired*; others stay."""
    replace_tsv(path, Unpaired, [*unpaired, *unpaired_of_others(path, pairs)])


def unpaired_of_others(path: Path, pairs: LanguagePairs) -> list[Unpaired]:
    """Read the unpaired documents of *path* in other language pairs than *pairs*, which a new file must keep."""
    return [one for one in read_unpaired(path) if one.pair and not _has(pairs, one.pair)]


def read_unpaired(path: Path) -> Iterator[Unpaired]:
    """Read the unpaired documents in the file *path*; older crawls did not write the column ``pair``."""
    for row in read_tsv(path):
        yield Unpaired(row["url"], row["reason"], row["nearest"], float(row["score"]), row.get("pair", ""))


def as_in(pairs: LanguagePairs, name: str) -> str:
    """Return the name that the two languages called *name* have in *pairs*, or *name*: ``scrapy align`` may turn it."""
    return next((str(pair) for pair in pairs if f"{pair.b}-{pair.a}" == name), name)


def _has(pairs: LanguagePairs, name: str) -> bool:
    return set(name.split("-")) in [{pair.a, pair.b} for pair in pairs]
