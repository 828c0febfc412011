"""`python -m training.evaluate language|parallelness`: score a model or a baseline on a labelled file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from bilingual_crawler.scoring.models import LanguageModel, ModelError, ParallelnessModel
from training.baselines import FastText, LanguageRules
from training.data import DataError, read_tsv
from training.pair_baselines import RULES
from training.parallelness_metrics import PairScorer, evaluate_parallelness, read_labelled_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 256


class Guesser(Protocol):
    """Anything that names a language for each URL."""

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


def evaluate_language(name: str, data: Path, least: int) -> dict[str, Any]:
    """The JSON of `language`: scores, URLs per second, bad rows of the file."""
    guesser = language_guesser(name)
    table = read_tsv(data, ("url", "lang"))
    print(table.report())
    return {**measure_guesser(guesser, table.rows, least), "bad_rows": len(table.bad)}


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


def print_languages(result: dict[str, Any], least: int) -> None:
    """A table of the classes with enough examples, then the summary."""
    for name, row in sorted(result["classes"].items(), key=lambda item: -item[1]["support"]):
        if row["support"] >= least:
            print(f"{name} P {row['precision']:.3f} R {row['recall']:.3f} F1 {row['f1']:.3f} n {row['support']}")
    macro = result["macro"]
    print(
        f"macro of {macro['classes']} classes P {macro['precision']:.4f} R {macro['recall']:.4f} "
        f"F1 {macro['f1']:.4f}; accuracy {result['accuracy']:.4f}; {result['errors_to_english']:.0%} of the errors say English; "
        f"{result['urls_per_second']:,.0f} URLs/s, {result['urls_per_cpu_second']:,.0f} per second of processor time"
    )


def pair_scorer(name: str) -> PairScorer:
    """`rules`, `yoda` or a model folder."""
    return RULES[name]().probabilities if name in RULES else ParallelnessModel(Path(name)).probabilities


def print_parallelness(result: dict[str, Any]) -> None:
    """Scores of both classes, then accuracy by kind."""
    for name in ("positive", "negative"):
        row = result[name]
        print(f"{name} P {row['precision']:.4f} R {row['recall']:.4f} F1 {row['f1']:.4f} n {row['support']}")
    for name, row in result["kinds"].items():
        print(f"  {name} accuracy {row['accuracy']:.4f} n {row['n']}")
    print(
        f"macro F1 {result['macro']['f1']:.4f}; average precision {result['average_precision']:.4f}; "
        f"{result['pairs_per_second']:,.0f} pairs/s"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one evaluation; 2 if the model or the data cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    language = commands.add_parser("language", help="TSV with columns url, lang")
    language.add_argument("--least", type=int, default=30, help="macro means over classes with so many URLs")
    pairs = commands.add_parser("parallelness", help="TSV with columns url_a, url_b, label and maybe kind")
    for command, others in ((language, "rules, or fasttext:FILE"), (pairs, "rules, or yoda")):
        command.add_argument("--model", required=True, help=f"a model folder, {others}")
        command.add_argument("--data", type=Path, required=True)
        command.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "language":
            result = evaluate_language(options.model, options.data, options.least)
            print_languages(result, options.least)
        else:
            result = dict(evaluate_parallelness(read_labelled_pairs(options.data), pair_scorer(options.model)))
            print_parallelness(result)
    except (ModelError, DataError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
