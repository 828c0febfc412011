"""A review: a uniform sample of pairs for a human check, and the precision by the filled sheet."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.overview import Sample
from bilingual_crawler.options import wrong
from bilingual_crawler.pairing.model import REASONS
from bilingual_crawler.reporting.markup import write_page
from bilingual_crawler.storage.files import FolderLock, LockedError, replacing, to_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.bitext.exports import DocumentPair
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pairing.model import Alignment

SAMPLE = 100
"""Document pairs in a review, and as many sentence pairs."""
LINES = 60
"""Shown lines of a document."""
CHARACTERS = 1000
"""Shown characters of a line or sentence."""
SHEET = "review.tsv"
_AS_WRITTEN = f".{SHEET}"
"""The sheet as written, to tell whether it was filled in."""
_TEXTS = ".review.jsonl"
"""The shown lines of the document pairs, in the order of the sheet."""
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
        """Write the files; raises UsageError as :func:`check_sheet` does, or if the folder is being reviewed."""
        directory.mkdir(parents=True, exist_ok=True)
        try:
            with FolderLock(directory):
                check_sheet(directory)
                self._write(directory)
        except LockedError as error:
            raise wrong("--review", directory, f"{error}; give another folder") from None

    def _write(self, directory: Path) -> None:
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
        with replacing(directory / _TEXTS) as part, part.open("w", encoding="utf-8", errors="replace") as file:
            for pair, texts in self._sample.drawn:
                file.write(json.dumps([pair.url_a, pair.url_b, *texts], ensure_ascii=False) + "\n")
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


RIGHT, WRONG, UNSURE = "1", "0", "?"
JUDGEMENTS = {RIGHT: "right", WRONG: "wrong", UNSURE: "unsure"}
"""What the column ``translation`` may hold, beside nothing."""
_IDENTITY = ("number", "kind", "url_a", "url_b", "text_a", "text_b")
_MARK = b"\xef\xbb\xbf"
"""Spreadsheets put it at the start of a file."""


class SheetError(ValueError):
    """The sheet cannot be read; the message names the file, the line and the fix."""


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A pair of the sheet."""

    place: int
    """Position among the records of the file."""
    cells: dict[str, str]
    """By column; those of a reader of the sheet are among them."""

    @property
    def kind(self) -> str:
        """``document`` or ``sentence``."""
        return self.cells["kind"]

    @property
    def judgement(self) -> str:
        """A key of :data:`JUDGEMENTS`, or empty."""
        return self.cells["translation"].strip()

    @property
    def key(self) -> str:
        """Tells the pair from others, wherever its row is moved."""
        identity = [self.cells.get(name, "") for name in _IDENTITY]
        return blake2b(json.dumps(identity).encode(), digest_size=12).hexdigest()


class Sheet:
    """The sheet of *directory* as it is now. Raises SheetError if it cannot be read, or OSError if it is missing.

    Lines without a ``kind``, such as comments, are no rows.
    """

    def __init__(self, directory: Path) -> None:
        # a link stays one when the file is replaced
        self._path = (directory / SHEET).resolve()
        content = self._path.read_bytes()
        self._mark = _MARK if content.startswith(_MARK) else b""
        lines = io.StringIO(content.removeprefix(_MARK).decode("utf-8", "surrogateescape"), newline="")
        self._records: list[tuple[str, list[str]]] = []
        self.rows: list[ReviewRow] = []
        taken: list[str] = []
        rows = csv.reader((taken.append(line) or line for line in lines), delimiter="\t")  # type: ignore[func-returns-value]
        path = directory / SHEET
        try:
            for cells in rows:
                self._records.append(("".join(taken), cells))
                taken.clear()
                if len(self._records) == 1:
                    self._check_columns(path, cells)
                    continue
                row = self._row(cells)
                if not row.kind:
                    continue
                if row.judgement not in ("", *JUDGEMENTS):
                    raise SheetError(
                        f"{path}, line {rows.line_num}: translation is {row.judgement[:40]!r}; write 1, 0, ? or nothing"
                    )
                self.rows.append(row)
        except csv.Error as error:
            raise SheetError(f"{path}, line {rows.line_num}: {error}; keep the columns parted by tabs") from None
        if not self._records:
            self._check_columns(path, [])

    def _check_columns(self, path: Path, header: list[str]) -> None:
        if missing := {"kind", "translation"} - set(header):
            raise SheetError(
                f"{path}: there is no column {min(missing)}; the columns are {', '.join(COLUMNS)}, parted by tabs"
            )

    def _row(self, cells: list[str]) -> ReviewRow:
        header = self._records[0][1]
        # editors cut off the tabs at the end of a line
        return ReviewRow(
            len(self._records) - 1, dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=False))
        )

    def judge(self, row: ReviewRow, judgement: str) -> None:
        """Write the *judgement* of a row, and wait until it is on the disk; all other lines stay byte by byte.

        Raises OSError; then the file is as it was.
        """
        raw, cells = self._records[row.place]
        column = self._records[0][1].index("translation")
        cells = cells + [""] * (column + 1 - len(cells))
        cells[column] = judgement
        line = io.StringIO()
        # only with this end are cells quoted that hold a line break
        csv.writer(line, delimiter="\t", lineterminator="\r\n").writerow(cells)
        self._records[row.place] = (line.getvalue().removesuffix("\r\n") + raw[len(raw.rstrip("\r\n")) :], cells)
        text = "".join(raw for raw, _ in self._records)
        with replacing(self._path) as part:
            part.write_bytes(self._mark + text.encode("utf-8", "surrogateescape"))
            shutil.copymode(self._path, part)
            to_disk(part)
        to_disk(self._path.parent)


def read_texts(directory: Path, row: ReviewRow) -> tuple[list[str], list[str]]:
    """The shown lines of both documents of *row*; empty if the folder does not have them."""
    try:
        with (directory / _TEXTS).open(encoding="utf-8") as file:
            for url_a, url_b, lines_a, lines_b in map(json.loads, file):
                if (url_a, url_b) == (row.cells["url_a"], row.cells["url_b"]):
                    return lines_a, lines_b
    except FileNotFoundError:
        pass
    return [], []


Z = 1.96
"""Quantile of the normal distribution for an interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The human judgements of one kind of pair."""

    kind: str
    """``document`` or ``sentence``."""
    right: int
    judged: int
    """Pairs judged right or wrong, at least one."""
    drawn: int
    """Pairs of the sheet."""
    unsure: int = 0

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

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.kind} pairs: {self.right} of {self.judged} judged are translations, precision {self.precision:.3f}"
            f" (95 % interval {low:.3f} to {high:.3f}); {self.drawn - self.judged} of the sheet are not judged"
            + (f", {self.unsure} of them unsure" if self.unsure else "")
        )


def sheet_folders(directory: Path) -> list[Path]:
    """The folders with a sheet: *directory* itself, or one below it for each pair of languages."""
    below = sorted(path.parent for path in directory.glob(f"*/{SHEET}"))
    return below if below and not (directory / SHEET).exists() else [directory]


def read_judged(directory: Path) -> list[Judged]:
    """The judgements in the sheet of *directory*, by kind of pair; raises SheetError, or OSError if it is missing."""
    judged = count_judged(Sheet(directory).rows)
    if not judged:
        raise SheetError(
            f"{directory / SHEET}: nothing is judged; write 1 (translations) or 0 into the column translation"
        )
    return judged


def count_judged(rows: Iterable[ReviewRow]) -> list[Judged]:
    """The judgements of *rows* by kind of pair, without kinds of which nothing is judged."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.kind, Counter())[row.judgement] += 1
    return [
        Judged(kind, c[RIGHT], c[RIGHT] + c[WRONG], c.total(), c[UNSURE])
        for kind, c in counts.items()
        if c[RIGHT] + c[WRONG]
    ]
