"""What can be wrong with the parts of document alignment."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilingual_crawler.items import Pair, Unpaired
from bilingual_crawler.storage.records import SUMMARY, read_tsv, replace_tsv

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bilingual_crawler.languages.pairs import LanguagePairs


class EncoderError(ValueError):
    """The sentence encoder is not installed, or not the known one; the message says what to install."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A page in one of the languages, with its text."""

    url: str
    language: str
    """The language of the pairs that it counts as, ISO 639-3."""
    title: str
    lines: tuple[str, ...]
    """The whole visible text, a line for each block of the page."""
    languages: tuple[str, ...]
    """Languages of contiguous ranges of the text, ISO 639-3, in order (CCAligned 2020, section 3.2.2)."""
    translator: str | None
    """Machine-translation plugin whose marks are on the page, if any."""
    warc_file: str | None
    """File that holds the page, and where; None if only the text was kept."""
    warc_offset: int | None

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is compared of a document: 32-bit hashes (CRC-32) and sizes. Sets are sorted arrays without repetitions."""

    url: str
    language: str
    key: str
    """URL without language marks."""
    claims: tuple[str, ...]
    """URLs that the page announces by ``hreflang`` as itself in a language that its own has a pair with."""
    switches: tuple[str, ...]
    """URLs that its language switcher leads to."""
    marked: str | None
    """Language that the URL names, ISO 639-3; country suffixes do not count."""
    declared: str | None
    """Language that the page declares itself to be in (``lang`` of its root), ISO 639-3."""
    share: float
    """Share of the text that is in the document's language, 0 to 1."""
    size: int
    """Bytes of HTML; 0 if unknown."""
    tags: str
    """Start and end tags in order, a character each."""
    lines: NDArray[np.uint32]
    """The lines of the text in order."""
    lengths: NDArray[np.uint16]
    """Characters of each line."""
    title: NDArray[np.uint32]
    """Words of the title in lower case, and its dates."""
    words: NDArray[np.uint32]
    """Words of title and text in lower case."""
    word_count: int
    names: NDArray[np.uint32]
    """Words with a capital, or with letters and digits mixed, that do not begin a line."""
    numbers: NDArray[np.uint32]
    """Numbers in order, repetitions included; then the dates, each once."""
    files: NDArray[np.uint32]
    """Names of the images and other files that are shown or linked."""
    external: NDArray[np.uint32]
    """Links that leave the host."""
    internal: NDArray[np.uint32]
    """Links inside the registered domain, by :func:`~bilingual_crawler.alignment.documents.reading.link_key`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the documents in two languages."""

    pairs: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """Candidate pairs that are none by reason."""
    unpaired: dict[str, int] = field(default_factory=dict)
    """Documents in no pair by reason."""


REASONS = {
    "no_candidate": "nothing in the other language resembles them",
    "low_score": "the best candidate was not likely enough",
    "taken": "a better pair took their candidate",
    "duplicate": "another document has the same text",
    "same_url": "a longer document has the same address but for scheme, www. and last slash",
    "other_language": "most of the text is in neither language",
    "unreadable": "reading them took too much time or memory",
}
"""Why documents are in no pair."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """What came of aligning the documents of one registered domain, or of several that announce each other."""

    group: tuple[str, ...]
    """The registered domains."""
    pairs: tuple[Pair, ...]
    """One-to-one, best first."""
    unpaired: Mapping[str, str]
    """URL of every other document to the reason, a key of ``REASONS``."""
    nearest: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """URL of every other document that has candidates to the URL of the best of them, and its score."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Candidates that made no pair by reason: ``low_score`` or ``taken``."""

    def rows_of_unpaired(self, pair: str) -> Iterator[Unpaired]:
        """The lines of ``unpaired.tsv`` for the languages *pair*."""
        for url, reason in self.unpaired.items():
            yield Unpaired(url, reason, *self.nearest.get(url, ("", 0.0)), pair)


def outcomes(
    names: Iterable[str],
    pairs: Iterable[str],
    unpaired: Iterable[tuple[str, str]],
    refused: Mapping[str, Mapping[str, int]],
) -> dict[str, Outcome]:
    """What came of the pairs of languages called *names*.

    *pairs* has the languages of each pair of documents, *unpaired* those of each other document and its reason,
    *refused* the counts of refused candidates by languages and reason.
    """
    found = Counter(pairs)
    left: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, reason in unpaired:
        left[name][reason] += 1
    return {name: Outcome(found[name], dict(refused.get(name, {})), dict(left[name])) for name in names}


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
