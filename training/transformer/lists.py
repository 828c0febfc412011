"""Lists of URLs or of pairs as two tables on disk: one for training, one for validation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from datasets import Dataset

from bilingual_crawler.languages.codes import URL_LABELS
from bilingual_crawler.scoring.models import PAIR_TEXTS, TEXTS
from bilingual_crawler.urls.hosts import domain_label
from training.common.data import DataError, check_classes, check_disjoint, in_held_out, read_real, read_tsv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from training.transformer.recipes import FineTuningRecipe

TEXT = "reference"
TRAINED = "classifier"
"""The folder of the best network, beside that of the tables."""
NOT_PARALLEL, PARALLEL = "0", "1"
SPLITS = ("training", "development")
ROWS_PER_BATCH = 100_000
REFERENCE_ORDER = {label: place for place, label in enumerate(("unk", *URL_LABELS))}

Row = tuple[str, ...]
"""A URL and its language, or two URLs and `1` (parallel) or `0`."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Files for training, for validation (none: domains are held out), and those whose domains are left out."""

    data: tuple[Path, ...]
    dev: tuple[Path, ...] = ()
    excluded: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Lists:
    """Tables with the columns text, length (characters) and label (index), and the lines of a report about them."""

    train: Dataset
    dev: Dataset
    labels: tuple[str, ...]
    report: tuple[str, ...]


def prepare(kind: str, sources: Sources, recipe: FineTuningRecipe, separator: str, folder: Path) -> Lists:
    """Read, check and split the sources into tables in `folder`, or use the tables of an earlier run there.

    DataError if the two parts share a domain, if a label has no row to train on, or if the former run had other sources
    or another recipe, or its tables are gone.
    """
    key = _key(kind, sources, recipe, separator)
    description = folder / "lists.json"
    if not description.exists():
        if (folder.parent / TRAINED).exists() or any(folder.parent.glob("checkpoint-*")):
            raise DataError(f"{folder.parent} holds a run whose lists were deleted: give another --out")
        parts, labels, report = split(kind, sources, recipe)
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in zip(SPLITS, parts, strict=True):
            _write(folder / f"{name}.arrow", kind, rows, labels, separator)
        content = {"key": key, "labels": labels, "report": report}
        description.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    content = json.loads(description.read_text())
    if content["key"] != key:
        raise DataError(f"{folder} belongs to a run with other data or another recipe: give another --out")
    train, dev = (Dataset.from_file(str(folder / f"{name}.arrow")) for name in SPLITS)
    return Lists(train, dev, tuple(content["labels"]), tuple(content["report"]))


def split(
    kind: str, sources: Sources, recipe: FineTuningRecipe
) -> tuple[tuple[list[Row], list[Row]], tuple[str, ...], list[str]]:
    """Rows for training and for validation, labels, report."""
    rows, report = read_rows(kind, sources.data)
    barred = {domain_label(url) for url, _ in read_real(sources.excluded)[0]}
    train = [row for row in rows if barred.isdisjoint(map(domain_label, row[:-1]))]
    report.append(f"{len(rows) - len(train)} rows left out for their domain ({len(barred)} domains excluded)")
    if sources.dev:
        dev, more = read_rows(kind, sources.dev)
        report += [f"development: {line}" for line in more]
    else:
        held = [sum(in_held_out(url, recipe.held_out, recipe.seed) for url in row[:-1]) for row in train]
        # A pair with one domain on either side belongs to neither part.
        dev = [row for row, count in zip(train, held, strict=True) if count == len(row) - 1]
        train = [row for row, count in zip(train, held, strict=True) if not count]
    labels: tuple[str, ...] = (NOT_PARALLEL, PARALLEL)
    if kind == "language":
        counts = Counter(row[-1] for row in (*train, *dev))
        rare = {label for label, count in counts.items() if count < recipe.least}
        labels = tuple(sorted(counts.keys() - rare, key=lambda label: (REFERENCE_ORDER.get(label, 999), label)))
        train, dev = ([row for row in part if row[-1] not in rare] for part in (train, dev))
        report.append(f"{len(rare)} labels left out, with fewer than {recipe.least} rows")
    trained_on, decided_on = ((url for row in part for url in row[:-1]) for part in (train, dev))
    check_disjoint(trained_on, decided_on, SPLITS)
    check_classes((row[-1] for row in train), labels, "training part")
    if not dev:
        raise DataError("no row to decide on: give --dev, or more data")
    check_classes((row[-1] for row in dev), labels if kind == "parallelness" else (), "development part")
    report.append(f"{len(train)} rows to train on, {len(dev)} to decide on, {len(labels)} labels")
    return (train, dev), labels, report


def read_rows(kind: str, paths: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """Rows without repetitions, and a report that counts the bad ones."""
    if kind == "language":
        return read_real(paths)
    rows: dict[Row, None] = {}
    report = []
    for path in paths:
        table = read_tsv(path, ("url_a", "url_b", "label"), ("url_a", "url_b"))
        good = [row for row in table.rows if row[-1] in (NOT_PARALLEL, PARALLEL)]
        odd = len(table.rows) - len(good)
        report.append(table.report() + (f"; {odd} with a label that is neither 0 nor 1" if odd else ""))
        rows.update(dict.fromkeys(good))
    return list(rows), report


def _write(path: Path, kind: str, rows: Sequence[Row], labels: Sequence[str], separator: str) -> None:
    index = {label: i for i, label in enumerate(labels)}
    one, two = TEXTS[TEXT], PAIR_TEXTS[TEXT]
    fields = [("text", pa.string()), ("length", pa.int32()), ("label", pa.int32())]
    schema = pa.schema(fields)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for start in range(0, len(rows), ROWS_PER_BATCH):
            some = rows[start : start + ROWS_PER_BATCH]
            texts = [one(row[0]) if kind == "language" else two(row[0], row[1], separator) for row in some]
            columns = [texts, list(map(len, texts)), [index[row[-1]] for row in some]]
            arrays = [pa.array(column, type) for column, (_, type) in zip(columns, fields, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _key(kind: str, sources: Sources, recipe: FineTuningRecipe, separator: str) -> dict[str, Any]:
    """The inputs of a run as JSON."""
    files = {
        name: [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths if path.exists()]
        for name, paths in asdict(sources).items()
    }
    return {"kind": kind, "separator": separator, "text": TEXT, **files, "recipe": asdict(recipe)}
