"""A review: pairs for a human check, and what the filled sheets show: precision, agreement, labels.

A uniform sample shows the precision. Beside it stand telling document pairs, from which ``scrapy align --labels``
learns most: where the method is uncertain or may be wrong.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import zip_longest
from math import log, sqrt
from operator import attrgetter
from random import Random
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bilingual_crawler.bitext.overview import Sample
from bilingual_crawler.options import wrong
from bilingual_crawler.pairing.model import LABELLED, REASONS
from bilingual_crawler.reporting.markup import write_page
from bilingual_crawler.storage.files import FolderLock, LockedError, replacing, to_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.bitext.exports import DocumentPair
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pairing.model import Alignment

    Texts: TypeAlias = tuple[list[str], list[str]]

SAMPLE = 100  # document pairs in a review that are drawn at random, and as many sentence pairs
TELLING = {"uncertain": 40, "lengths": 20}
"""Document pairs of each other kind of :data:`DRAWN`."""
RANDOM, UNCERTAIN, LENGTHS = DRAWN = ("random", *TELLING)
"""Why a pair is in a review: at random; in proportion to the uncertainty of its score, whether it is given or is a near
miss; with lengths unlike other pairs of the site."""
MIN_VARIANCE = 1e-4  # of a score: what is certain may be wrong, too
MIN_PAIRS = 5  # pairs of a site that show its usual lengths
LINES = 60  # shown lines of a document
CHARACTERS = 1000  # shown characters of a line or sentence
SHEET = "review.tsv"
_AS_WRITTEN = f".{SHEET}"
"""The sheet as written, to tell whether it was filled in."""
_TEXTS = ".review.jsonl"  # the shown lines of the document pairs, in the order of the sheet
COLUMNS = tuple("number kind url_a url_b score method drawn text_a text_b translation remark".split())  # noqa: SIM905


class DrawnPair(NamedTuple):
    pair: Pair
    texts: Texts
    """The shown lines of both documents."""
    drawn: str
    """A member of :data:`DRAWN`."""


class _Highest:
    """The *size* document pairs of the highest worth that are offered; of equal ones the first."""

    def __init__(self, size: int) -> None:
        self._size, self._offered = size, 0
        self._heap: list[tuple[float, int, Pair, Texts]] = []

    def offer(self, worth: float, pair: Pair, text: Callable[[str], list[str]]) -> None:
        self._offered += 1
        if len(self._heap) < self._size or worth > self._heap[0][0]:
            heappush(self._heap, (worth, -self._offered, *_shown(pair, text)))
        if len(self._heap) > self._size:
            heappop(self._heap)

    def __iter__(self) -> Iterator[tuple[Pair, Texts]]:
        """Best first."""
        return ((pair, texts) for _, _, pair, texts in sorted(self._heap, reverse=True))


class Review:
    """Counts the results of an alignment and draws pairs of it for a human check."""

    def __init__(self, pair: LanguagePair, sample: int = SAMPLE) -> None:
        self._pair = pair
        self._sample: Sample[tuple[Pair, Texts]] = Sample(sample)
        self._telling = {why: _Highest(number) for why, number in TELLING.items()}
        self._random = Random(0)
        self.sentences = SentenceSample(sample)
        self.methods: Counter[str] = Counter()
        self.unpaired: Counter[str] = Counter()

    def add(self, alignment: Alignment, text: Callable[[str], list[str]]) -> None:
        """Add the pairs of one registered domain or group. *text* gives the lines of a document by its URL."""
        self.unpaired.update(alignment.unpaired.values())
        pairs = [pair for pair in alignment.pairs if pair.method != LABELLED]
        self.methods.update(pair.method for pair in alignment.pairs)
        for pair in pairs:
            self._sample.offer(partial(_shown, pair, text))
        for pair, unlike in zip(pairs, _unlike_lengths(pairs, text), strict=False):
            if unlike:
                self._telling[LENGTHS].offer(unlike, pair, text)
        for pair in (*pairs, *alignment.near_misses):
            # Efraimidis & Spirakis (2006): in proportion to the variance
            variance = max(MIN_VARIANCE, pair.score * (1 - pair.score))
            self._telling[UNCERTAIN].offer(log(1 - self._random.random()) / variance, pair, text)

    @property
    def documents(self) -> list[DrawnPair]:
        """The drawn document pairs, each once; random and telling ones alternate, for a reader who stops early."""
        random = [DrawnPair(*one, RANDOM) for one in Random(0).sample(self._sample.drawn, len(self._sample.drawn))]
        seen = {(one.pair.url_a, one.pair.url_b) for one in random}
        telling = []
        for rank in zip_longest(*([DrawnPair(*one, why) for one in drawn] for why, drawn in self._telling.items())):
            for one in filter(None, rank):
                if (urls := (one.pair.url_a, one.pair.url_b)) not in seen:
                    seen.add(urls)
                    telling.append(one)
        return [one for both in zip_longest(random, telling) for one in both if one]

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
        documents, sentences = self.documents, self.sentences
        rows = [("document", p.url_a, p.url_b, p.score, p.method, drawn, "", "") for p, _, drawn in documents]
        rows += [
            ("sentence", d.url_a, d.url_b, s.score, d.method, RANDOM, s.text_a, s.text_b) for d, s in sentences.drawn
        ]
        # spreadsheets quote as the csv module does
        filled = io.StringIO()
        sheet = csv.writer(filled, delimiter="\t", lineterminator="\n")
        sheet.writerow(COLUMNS)
        sheet.writerows((number, *row, "", "") for number, row in enumerate(rows, 1))
        texts = (json.dumps([p.url_a, p.url_b, *texts], ensure_ascii=False) + "\n" for p, texts, _ in documents)
        for name, text in ((_AS_WRITTEN, filled.getvalue()), (SHEET, filled.getvalue()), (_TEXTS, "".join(texts))):
            with replacing(directory / name) as part:
                part.write_text(text, encoding="utf-8", errors="replace", newline="")
        write_page(
            directory / "review.html",
            "review.html",
            languages=self._pair,
            methods=self.methods,
            unpaired=[(REASONS.get(reason, reason), count) for reason, count in self.unpaired.most_common()],
            documents=documents,
            sentences=sentences,
        )


def check_sheet(directory: Path) -> None:
    """Raise UsageError if *directory* has a sheet that is not as it was written: somebody has filled it in."""
    sheet, written = directory / SHEET, directory / _AS_WRITTEN
    if sheet.exists() and not (written.exists() and written.read_bytes() == sheet.read_bytes()):
        raise wrong(
            "--review",
            directory,
            f"{SHEET} was filled in there; give another folder, and learn from this one with --labels {directory}",
        )


class SentenceSample(Sample["tuple[DocumentPair, SentencePair]"]):
    """Draws from the sentence pairs that were kept."""

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        for one in kept:
            self.offer(partial(_both, documents, one))

    def close(self) -> None: ...


def _shown(pair: Pair, text: Callable[[str], list[str]]) -> tuple[Pair, Texts]:
    texts = ([line[:CHARACTERS] for line in text(url)[:LINES]] for url in (pair.url_a, pair.url_b))
    return pair, (next(texts), next(texts))


def _both(documents: DocumentPair, found: SentencePair) -> tuple[DocumentPair, SentencePair]:
    return documents, replace(found, text_a=found.text_a[:CHARACTERS], text_b=found.text_b[:CHARACTERS])


def _unlike_lengths(pairs: Sequence[Pair], text: Callable[[str], list[str]]) -> list[float]:
    """How much the ratio of characters of each pair differs from the site's usual ratio, as a logarithm.

    Empty if the site has fewer than :data:`MIN_PAIRS`.
    """
    if len(pairs) < MIN_PAIRS:
        return []
    sizes = ([1 + sum(map(len, text(url))) for url in (pair.url_a, pair.url_b)] for pair in pairs)
    ratios = [log(a / b) for a, b in sizes]
    usual = median(ratios)
    return [abs(ratio - usual) for ratio in ratios]


RIGHT, WRONG, UNSURE = "1", "0", "?"
JUDGEMENTS = {RIGHT: "right", WRONG: "wrong", UNSURE: "unsure"}
"""What the column ``translation`` may hold, beside nothing."""
_IDENTITY = ("number", "kind", "url_a", "url_b", "text_a", "text_b")
FILL_IN = "write 1 (translations) or 0 into the column translation"
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
    def is_random(self) -> bool:
        """Whether the pair was drawn at random, as all were in older sheets."""
        return self.cells.get("drawn", "") in ("", RANDOM)

    @property
    def key(self) -> str:
        """Tells the pair from others, wherever its row is moved."""
        identity = [self.cells.get(name, "") for name in _IDENTITY]
        return blake2b(json.dumps(identity).encode(), digest_size=12).hexdigest()


class Sheet:
    """The sheet *place*, or that of the folder *place*, as it is now.

    Raises SheetError if it cannot be read, or OSError if it is missing.

    Lines without a ``kind``, such as comments, are no rows.
    """

    def __init__(self, place: Path) -> None:
        path = place if place.is_file() else place / SHEET
        # a link stays one when the file is replaced
        self._path = path.resolve()
        content = self._path.read_bytes()
        self._mark = _MARK if content.startswith(_MARK) else b""
        lines = io.StringIO(content.removeprefix(_MARK).decode("utf-8", "surrogateescape"), newline="")
        self._records: list[tuple[str, list[str]]] = []
        self.rows: list[ReviewRow] = []
        taken: list[str] = []
        rows = csv.reader((taken.append(line) or line for line in lines), delimiter="\t")  # type: ignore[func-returns-value]
        try:
            header = next(rows, [])
            if missing := {"kind", "translation"} - set(header):
                raise SheetError(
                    f"{path}: there is no column {min(missing)}; the columns are {', '.join(COLUMNS)}, parted by tabs"
                )
            self._records.append(("".join(taken), header))
            taken.clear()
            for position, cells in enumerate(rows, 1):
                self._records.append(("".join(taken), cells))
                taken.clear()
                # editors cut off the tabs at the end of a line
                row = ReviewRow(position, dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=False)))
                if row.kind and row.judgement not in ("", *JUDGEMENTS):
                    raise SheetError(
                        f"{path}, line {rows.line_num}: translation is {row.judgement[:40]!r}; write 1, 0, ? or nothing"
                    )
                self.rows += [row] * bool(row.kind)
        except csv.Error as error:
            raise SheetError(f"{path}, line {rows.line_num}: {error}; keep the columns parted by tabs") from None

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
    with suppress(FileNotFoundError), (directory / _TEXTS).open(encoding="utf-8") as file:
        for url_a, url_b, lines_a, lines_b in map(json.loads, file):
            if (url_a, url_b) == (row.cells["url_a"], row.cells["url_b"]):
                return lines_a, lines_b
    return [], []


Z = 1.96  # quantile of the normal distribution for an interval of 95 %


@dataclass(frozen=True, slots=True)
class Judged:
    """The human judgements of one kind of pair, among those that were drawn at random."""

    kind: str
    """``document`` or ``sentence``."""
    right: int
    judged: int
    """Pairs judged right or wrong, at least one."""
    drawn: int
    """Pairs of the sheet that were drawn at random."""
    unsure: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the precision of all pairs (Wilson 1927)."""
        centre = self.right + Z**2 / 2
        reach = Z * sqrt(self.right * (self.judged - self.right) / self.judged + Z**2 / 4)
        return max(0.0, (centre - reach) / (self.judged + Z**2)), min(1.0, (centre + reach) / (self.judged + Z**2))

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.kind} pairs: {self.right} of {self.judged} judged are translations, precision"
            f" {self.right / self.judged:.3f} (95 % interval {low:.3f} to {high:.3f});"
            f" {self.drawn - self.judged} of the sample are not judged"
            + (f", {self.unsure} of them unsure" if self.unsure else "")
        )


def sheet_folders(place: Path) -> list[Path]:
    """The folders with a sheet: *place* itself, which may be a sheet, or one below it for each pair of languages."""
    below = sorted(path.parent for path in place.glob(f"*/{SHEET}"))
    return below if below and not (place / SHEET).exists() else [place]


def count_judged(rows: Iterable[ReviewRow]) -> list[Judged]:
    """The judgements of the random *rows* by kind of pair, without kinds of which nothing is judged."""
    counts: dict[str, Counter[str]] = {}
    for row in filter(attrgetter("is_random"), rows):
        counts.setdefault(row.kind, Counter())[row.judgement] += 1
    return [
        Judged(kind, c[RIGHT], c[RIGHT] + c[WRONG], c.total(), c[UNSURE])
        for kind, c in counts.items()
        if c[RIGHT] + c[WRONG]
    ]


def read_labels(place: Path) -> dict[tuple[str, str], bool]:
    """The document pairs that the sheets of *place* judge, by URLs, and whether they are translations.

    The majority of the sheets decides. Raises SheetError, or OSError if there is no sheet.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for folder in sheet_folders(place):
        for row in Sheet(folder).rows:
            if row.kind == "document" and row.judgement in (RIGHT, WRONG):
                votes[row.cells.get("url_a", ""), row.cells.get("url_b", "")] += 1 if row.judgement == RIGHT else -1
    if not any(votes.values()):
        raise SheetError(f"{place}: no document pair is judged; {FILL_IN}")
    return {urls: vote > 0 for urls, vote in votes.items() if vote}


def agreements(sheets: Iterable[Iterable[ReviewRow]]) -> Iterator[str]:
    """A line for each kind of pair: how far people agree who have filled in *sheets* of the same pairs."""
    units: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for rows in sheets:
        for row in rows:
            if row.judgement in (RIGHT, WRONG):
                units[row.kind][row.key].append(row.judgement)
    for kind, by_key in units.items():
        if several := [values for values in by_key.values() if len(values) > 1]:
            alpha = krippendorff(several)
            shown = "undefined, as all judgements are equal" if alpha is None else f"{alpha:.3f}"
            yield f"{kind} pairs: {len(several)} judged by several people, Krippendorff's α {shown}"


def krippendorff(units: Iterable[Sequence[str]]) -> float | None:
    """α of the nominal values that several people gave to each of *units* (Krippendorff 2011, section C).

    1 for full agreement, 0 for that of chance, None if all values are equal. Units with one value do not count.
    """
    counted = [Counter(values) for values in units if len(values) > 1]
    totals = sum(counted, Counter())
    number = totals.total()
    observed = sum((n.total() ** 2 - sum(c * c for c in n.values())) / (n.total() - 1) for n in counted)
    expected = (number**2 - sum(count * count for count in totals.values())) / max(1, number - 1)
    return 1 - observed / expected if expected else None
