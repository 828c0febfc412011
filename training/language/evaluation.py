"""Scores of models and baselines on labelled URLs, for `python -m training.evaluate language`."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from bilingual_crawler.scoring.models import LanguageModel
from training.common.data import DataError, read_tsv
from training.language.baselines import FastText, LanguageRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.common.data import Table

BATCH = 256


class Guesser(Protocol):
    """A model or baseline that gives a language for each URL."""

    def guess(self, urls: Sequence[str]) -> list[str]:
        """The most probable label of each URL."""


class ModelGuesser:
    """The most probable label of a language model."""

    def __init__(self, folder: Path) -> None:
        self.model = LanguageModel(folder)

    def guess(self, urls: Sequence[str]) -> list[str]:
        return [self.model.labels[i] for i in self.model.probabilities(urls).argmax(axis=1)]


def language_guesser(name: str) -> Guesser:
    """`rules`, `fasttext:FILE` or a model folder."""
    if name == "rules":
        return LanguageRules()
    kind, _, file = name.partition(":")
    return FastText(Path(file)) if kind == "fasttext" else ModelGuesser(Path(name))


def read_judged(path: Path, least: int, advice: str = "give --least {} or lower") -> Table:
    """Read and count the rows (url, lang) to score a model on; DataError if no class has `least` of them."""
    table = read_tsv(path, ("url", "lang"))
    print(table.report())
    if not table.rows:
        raise DataError(f"{path}: no row to score")
    most = max(Counter(lang for _, lang in table.rows).values())
    if most < least:
        raise DataError(f"{path}: no class has {least} URLs; {advice.format(most)}")
    return table


def score_languages(truth: Sequence[str], guesses: Sequence[str], least: int = 1) -> dict[str, Any]:
    """Scores per class, their macro means over the classes with at least `least` examples, confusion with English."""
    names = sorted(set(truth))
    p, r, f, n = precision_recall_fscore_support(truth, guesses, labels=names, zero_division=0)
    kept = n >= least
    errors = [guess for lang, guess in zip(truth, guesses, strict=True) if lang != guess]
    return {
        "classes": {
            name: {"precision": float(p[i]), "recall": float(r[i]), "f1": float(f[i]), "support": int(n[i])}
            for i, name in enumerate(names)
        },
        "macro": {
            "precision": float(p[kept].mean()),
            "recall": float(r[kept].mean()),
            "f1": float(f[kept].mean()),
            "classes": int(kept.sum()),
            "least": least,
        },
        "errors_to_english": errors.count("eng") / max(1, len(errors)),
        "accuracy": float(np.mean([a == b for a, b in zip(truth, guesses, strict=True)])),
    }


def measure_guesser(guesser: Guesser, rows: Sequence[tuple[str, ...]], least: int) -> dict[str, Any]:
    """Scores on (url, language) rows; URLs per second, and per second of processor time, in batches of 256.

    Both times include the preparation of the text.
    """
    urls = [url for url, _ in rows]
    guesser.guess(urls[:BATCH])
    began, worked = time.perf_counter(), time.process_time()
    guesses = [guess for i in range(0, len(urls), BATCH) for guess in guesser.guess(urls[i : i + BATCH])]
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    result = score_languages([lang for _, lang in rows], guesses, least)
    return {**result, "urls_per_second": len(urls) / seconds, "urls_per_cpu_second": len(urls) / processor}
