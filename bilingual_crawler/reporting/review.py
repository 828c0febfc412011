"""A review: a uniform sample of pairs for a human check, and the precision by the filled sheet."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

from bilingual_crawler.alignment.documents.model import REASONS
from bilingual_crawler.alignment.sentences.overview import Sample
from bilingual_crawler.options import wrong
from bilingual_crawler.reporting.markup import write_page
from bilingual_crawler.storage.files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bilingual_crawler.alignment.documents.model import Alignment
    from bilingual_crawler.alignment.sentences.align import SentencePair
    from bilingual_crawler.alignment.sentences.exports import DocumentPair
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.codes import LanguagePair

SAMPLE = 100
"""Document pairs in a review, and as many sentence pairs."""
LINES = 60
"""Shown lines of a document."""
CHARACTERS = 1000
"""Shown characters of a line or sentence."""
SHEET = "review.tsv"
_AS_WRITTEN = f".{SHEET}"
"""The sheet as written, to tell whether it was filled in."""
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
        """Unpaired documents by reason."""

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
        """Do nothing: a sample needs no end."""


def _shown(pair: Pair, text: Callable[[str], list[str]]) -> tuple[Pair, tuple[list[str], list[str]]]:
    texts = ([line[:CHARACTERS] for line in text(url)[:LINES]] for url in (pair.url_a, pair.url_b))
    return pair, (next(texts), next(texts))


def _both(documents: DocumentPair, sentences: SentencePair) -> tuple[DocumentPair, SentencePair]:
    return documents, replace(sentences, text_a=sentences.text_a[:CHARACTERS], text_b=sentences.text_b[:CHARACTERS])


Z = 1.96
"""Quantile of the normal distribution for an interval of 95 %."""


class SheetError(ValueError):
    """The sheet cannot be read; the message names the file, the line and the fix."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The human judgements of one kind of pair."""

    kind: str
    """``document`` or ``sentence``."""
    right: int
    judged: int
    """Pairs with a judgement, at least one."""
    drawn: int
    """Pairs of the sheet."""

    @property
    def precision(self) -> float:
        """Share of the judged pairs that are translations."""
        return self.right / self.judged

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the precision of all pairs (Wilson 1927)."""
        centre = self.right + Z**2 / 2
        reach = Z * sqrt(self.right * (self.judged - self.right) / self.judged + Z**2 / 4)
        return max(0.0, (centre - reach) / (self.judged + Z**2)), min(1.0, (centre + reach) / (self.judged + Z**2))


def sheet_folders(directory: Path) -> list[Path]:
    """The folders with a sheet: *directory* itself, or one below it for each pair of languages."""
    below = sorted(path.parent for path in directory.glob(f"*/{SHEET}"))
    return below if below and not (directory / SHEET).exists() else [directory]


def read_judged(directory: Path) -> list[Judged]:
    """The judgements in the sheet of *directory*, by kind of pair; raises SheetError, or OSError if it is missing."""
    path = directory / SHEET
    counts: dict[str, Counter[str]] = {}
    # spreadsheets put a mark at the start
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            rows = csv.DictReader(file, delimiter="\t")
            if missing := {"kind", "translation"} - set(rows.fieldnames or ()):
                raise SheetError(
                    f"{path}: there is no column {min(missing)}; the columns are {', '.join(COLUMNS)}, parted by tabs"
                )
            for row in rows:
                answer = (row["translation"] or "").strip()
                if answer not in ("", "0", "1"):
                    raise SheetError(
                        f"{path}, line {rows.line_num}: translation is {answer[:40]!r}; write 1, 0 or nothing"
                    )
                counts.setdefault(row["kind"] or "", Counter())[answer] += 1
        except csv.Error as error:
            raise SheetError(f"{path}, after line {rows.line_num}: {error}; keep the columns parted by tabs") from None
    judged = [Judged(kind, c["1"], c["0"] + c["1"], c.total()) for kind, c in counts.items() if c["0"] + c["1"]]
    if not judged:
        raise SheetError(f"{path}: nothing is judged; write 1 (translations) or 0 into the column translation")
    return judged
