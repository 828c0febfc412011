"""The precision of an alignment by a sheet that a human has filled in."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from bilingual_crawler.reporting.review import COLUMNS, SHEET

if TYPE_CHECKING:
    from pathlib import Path

Z = 1.96
"""Quantile of the normal distribution for an interval of 95 %."""


class SheetError(ValueError):
    """The sheet cannot be read; the message names the file, the line and the fix."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a human says of the pairs of one kind."""

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
        """In which the precision of all pairs lies, at a confidence of 95 % (Wilson 1927)."""
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
