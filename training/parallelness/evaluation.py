"""Scores of a pair model on labelled pairs, for `python -m training.evaluate parallelness`."""

from __future__ import annotations

import csv
import gzip
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from bilingual_crawler.scoring.models import ParallelnessModel
from bilingual_crawler.storage.files import DAMAGE
from training.common.data import DataError
from training.common.scores import average_precision
from training.parallelness.baselines import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

PairScorer: TypeAlias = "Callable[[Sequence[tuple[str, str]]], NDArray[np.float32]]"
"""Probabilities of pairs of URLs, in the order given."""
THRESHOLD = 0.5
BATCH = 256
COLUMNS = ("url_a", "url_b", "label")


class ClassScores(TypedDict):
    precision: float
    recall: float
    f1: float
    support: int


class KindScores(TypedDict):
    n: int
    accuracy: float


class LanguageScores(TypedDict):
    n: int
    f1: float
    """Macro mean of both classes."""


class MacroScores(TypedDict):
    precision: float
    recall: float
    f1: float


class ParallelnessReport(TypedDict):
    """The JSON of the command; classes are decided at probability .5."""

    positive: ClassScores
    negative: ClassScores
    macro: MacroScores
    average_precision: float
    kinds: dict[str, KindScores]
    languages: dict[str, LanguageScores]
    """By language pair; empty if the list does not name any."""
    pairs_per_second: float


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One row of evaluation or training data."""

    url_a: str
    url_b: str
    label: int
    kind: str
    """Origin: ``positive``, or what made the negative."""
    pair: str = ""
    """Languages of the positives among which it was found or made, English first: ``eng-isl``; empty if unknown."""


def read_labelled_pairs(path: Path) -> list[LabelledPair]:
    """Rows of a TSV (gzipped if its name says so) with a header that has url_a, url_b, label, maybe kind and pair.

    Raises:
        DataError: a file that cannot be read, a missing column, or a missing URL or a label that is neither 0 nor 1
            (with the line number).
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = list(_labelled(path, file))
    except (*DAMAGE, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from error
    if not rows:
        raise DataError(f"{path}: no pair to score")
    return rows


def _labelled(path: Path, file: Iterable[str]) -> Iterator[LabelledPair]:
    reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        raise DataError(f"{path}: no column {', '.join(missing)}")
    for row in reader:
        if row["label"] not in ("0", "1"):
            raise DataError(f"{path}:{reader.line_num}: label {row['label']!r} is neither 0 nor 1")
        if not (row["url_a"] and row["url_b"]):
            raise DataError(f"{path}:{reader.line_num}: a URL is missing")
        kind = row.get("kind") or ("positive" if row["label"] == "1" else "negative")
        yield LabelledPair(row["url_a"], row["url_b"], int(row["label"]), kind, row.get("pair") or "")


def write_labelled_pairs(path: Path, rows: Sequence[LabelledPair]) -> None:
    """Write rows in the form that `read_labelled_pairs` reads; blanks inside URLs become spaces."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        file.write("url_a\turl_b\tlabel\tkind\tpair\n")
        for row in rows:
            fields = (row.url_a, row.url_b, str(row.label), row.kind, row.pair)
            file.write("\t".join(" ".join(field.split()) for field in fields) + "\n")


def pair_scorer(name: str, links: bool = False) -> PairScorer:
    """`rules`, `yoda` or a model folder, which tells a page and its link (`links`) from any two documents."""
    if name in RULES:
        return RULES[name]().probabilities
    model = ParallelnessModel(Path(name))
    return model.link_probabilities if links else model.probabilities


def evaluate_parallelness(rows: Sequence[LabelledPair], score: PairScorer) -> ParallelnessReport:
    """Score all rows in batches of 256, timed with text preparation, and compare with their labels."""
    pairs = [(row.url_a, row.url_b) for row in rows]
    start = time.perf_counter()
    parts = [score(pairs[i : i + BATCH]) for i in range(0, len(pairs), BATCH)]
    seconds = time.perf_counter() - start
    probabilities = np.concatenate([np.zeros(0), *parts])
    labels = np.array([row.label for row in rows], dtype=np.int64)
    predicted = (probabilities >= THRESHOLD).astype(np.int64)
    positive, negative = _both_classes(labels, predicted)
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for row, correct in zip(rows, predicted == labels, strict=True):
        by_kind[row.kind].append(bool(correct))
    by_pair: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row.pair:
            by_pair[row.pair].append(place)
    return {
        "positive": positive,
        "negative": negative,
        "macro": {
            "precision": (positive["precision"] + negative["precision"]) / 2,
            "recall": (positive["recall"] + negative["recall"]) / 2,
            "f1": _macro_f1(labels, predicted),
        },
        "average_precision": average_precision(labels, probabilities),
        "kinds": {kind: {"n": len(hits), "accuracy": sum(hits) / len(hits)} for kind, hits in sorted(by_kind.items())},
        "languages": {
            pair: {"n": len(places), "f1": _macro_f1(labels[places], predicted[places])}
            for pair, places in sorted(by_pair.items())
        },
        "pairs_per_second": len(rows) / seconds if seconds else 0.0,
    }


def _both_classes(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> tuple[ClassScores, ClassScores]:
    positive, negative = (_class_scores(labels == label, predicted == label) for label in (1, 0))
    return positive, negative


def _macro_f1(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    return sum(scores["f1"] for scores in _both_classes(labels, predicted)) / 2


def _class_scores(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> ClassScores:
    hits = int(np.sum(truth & predicted))
    precision = hits / int(predicted.sum()) if predicted.any() else 0.0
    recall = hits / int(truth.sum()) if truth.any() else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "support": int(truth.sum())}
