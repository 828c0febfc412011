"""A sample of pairs for a human check: ``review.html`` shows them, ``review.tsv`` is the sheet to fill in."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bilingual_crawler.files import replacing
from bilingual_crawler.options import wrong
from bilingual_crawler.pairing.documents import REASONS
from bilingual_crawler.reporting.markup import write_page
from bilingual_crawler.reporting.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.bitext.exports.base import DocumentPair
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Alignment, Pair

SAMPLE = 100
"""Document pairs, and as many sentence pairs."""
LINES = 60
"""Lines of a document that are shown."""
CHARACTERS = 1000
"""Characters of a line or a sentence that are shown."""
SHEET = "review.tsv"
_AS_WRITTEN = f".{SHEET}"
"""A copy of the sheet before anybody has filled it in."""
COLUMNS = (
    "number",
    "kind",
    "url_a",
    "url_b",
    "score",
    "method",
    "text_a",
    "text_b",
    "translation",
    "remark",
)


class Review:
    """Counts the results of an alignment and draws a uniform sample of its document pairs and its sentence pairs."""

    def __init__(self, pair: LanguagePair, sample: int = SAMPLE) -> None:
        self._pair = pair
        self._sample: Sample[tuple[Pair, tuple[list[str], list[str]]]] = Sample(sample)
        self.sentences = SentenceSample(sample)
        """Takes the sentence pairs."""
        self.methods: Counter[str] = Counter()
        """Pairs by method."""
        self.unpaired: Counter[str] = Counter()
        """Documents without a partner by reason."""

    def add(self, alignment: Alignment, text: Callable[[str], list[str]]) -> None:
        """Add the pairs of one registered domain or group. *text* gives the lines of a document by its URL."""
        self.unpaired.update(alignment.unpaired.values())
        for pair in alignment.pairs:
            self.methods[pair.method] += 1
            self._sample.offer(partial(_shown, pair, text))

    def write(self, directory: Path) -> None:
        """Write both files; raises UsageError as :func:`check_sheet` does."""
        check_sheet(directory)
        directory.mkdir(parents=True, exist_ok=True)
        sentences = self.sentences.sample
        rows = [("document", p.url_a, p.url_b, p.score, p.method, "", "") for p, _ in self._sample.drawn]
        rows += [("sentence", d.url_a, d.url_b, s.score, d.method, s.text_a, s.text_b) for d, s in sentences.drawn]
        # spreadsheets quote as the csv module does
        for name in (_AS_WRITTEN, SHEET):
            with (
                replacing(directory / name) as part,
                part.open("w", encoding="utf-8", errors="replace", newline="") as file,
            ):
                sheet = csv.writer(file, delimiter="\t", lineterminator="\n")
                sheet.writerow(COLUMNS)
                sheet.writerows((number, *row, "", "") for number, row in enumerate(rows, 1))
        write_page(
            directory / "review.html",
            "review.html",
            languages=self._pair,
            methods=self.methods,
            unpaired=[(REASONS.get(reason, reason), count) for reason, count in self.unpaired.most_common()],
            sample=self._sample.drawn,
            sentences=sentences,
        )


def check_sheet(directory: Path) -> None:
    """Raise UsageError if *directory* has a sheet that is not as it was written: somebody has filled it in."""
    sheet, written = directory / SHEET, directory / _AS_WRITTEN
    if sheet.exists() and not (written.exists() and written.read_bytes() == sheet.read_bytes()):
        raise wrong("--review", directory, f"{SHEET} was filled in there; give another folder, or move it away")


class SentenceSample:
    """Draws from the sentence pairs that were kept."""

    def __init__(self, size: int) -> None:
        self.sample: Sample[tuple[DocumentPair, SentencePair]] = Sample(size)

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Offer the *kept* sentence pairs of a document pair."""
        for sentences in kept:
            self.sample.offer(partial(_both, documents, sentences))

    def close(self) -> None:
        """There are no more."""


def _shown(pair: Pair, text: Callable[[str], list[str]]) -> tuple[Pair, tuple[list[str], list[str]]]:
    texts = ([line[:CHARACTERS] for line in text(url)[:LINES]] for url in (pair.url_a, pair.url_b))
    return pair, (next(texts), next(texts))


def _both(documents: DocumentPair, sentences: SentencePair) -> tuple[DocumentPair, SentencePair]:
    return documents, replace(sentences, text_a=sentences.text_a[:CHARACTERS], text_b=sentences.text_b[:CHARACTERS])
