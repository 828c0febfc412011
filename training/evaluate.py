"""`python -m training.evaluate language|parallelness`: score a model or a baseline on a labelled file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilingual_crawler.scoring.models import ModelError
from training.common.data import DataError
from training.common.options import new_file
from training.language.evaluation import language_guesser, measure_guesser, read_judged
from training.parallelness.evaluation import evaluate_parallelness, pair_scorer, read_labelled_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence


def evaluate_language(name: str, data: Path, least: int) -> dict[str, Any]:
    """The JSON of `language`: scores, URLs per second, size of a model folder, bad rows of the file."""
    guesser = language_guesser(name)
    table = read_judged(data, least)
    megabytes = sum(path.stat().st_size for path in Path(name).glob("*")) / 1e6
    return {**measure_guesser(guesser, table.rows, least), "megabytes": megabytes, "bad_rows": len(table.bad)}


def print_languages(result: dict[str, Any], least: int) -> None:
    """A table of the classes with enough examples, then the summary."""
    for name, row in sorted(result["classes"].items(), key=lambda item: -item[1]["support"]):
        if row["support"] >= least:
            print(f"{name} P {row['precision']:.3f} R {row['recall']:.3f} F1 {row['f1']:.3f} n {row['support']}")
    macro = result["macro"]
    print(
        f"macro of {macro['classes']} classes P {macro['precision']:.4f} R {macro['recall']:.4f} "
        f"F1 {macro['f1']:.4f}; accuracy {result['accuracy']:.4f}; "
        f"{result['errors_to_english']:.0%} of the errors say English; "
        f"{result['urls_per_second']:,.0f} URLs/s, {result['urls_per_cpu_second']:,.0f} per second of processor time"
    )


def print_parallelness(result: dict[str, Any]) -> None:
    """Scores of both classes, then by kind and by language pair."""
    for name in ("positive", "negative"):
        row = result[name]
        print(f"{name} P {row['precision']:.4f} R {row['recall']:.4f} F1 {row['f1']:.4f} n {row['support']}")
    for name, row in result["kinds"].items():
        print(f"  {name} accuracy {row['accuracy']:.4f} n {row['n']}")
    for name, row in result["languages"].items():
        print(f"  {name} macro F1 {row['f1']:.4f} n {row['n']}")
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
    pairs.add_argument("--links", action="store_true", help="each pair is a page and its link, not any two documents")
    for command, others in ((language, "rules, or fasttext:FILE"), (pairs, "rules, or yoda")):
        command.add_argument("--model", required=True, help=f"a model folder, {others}")
        command.add_argument("--data", type=Path, required=True)
        command.add_argument("--json", type=new_file)
    options = parser.parse_args(arguments)
    try:
        if options.command == "language":
            result = evaluate_language(options.model, options.data, options.least)
            print_languages(result, options.least)
        else:
            score = pair_scorer(options.model, options.links)
            result = dict(evaluate_parallelness(read_labelled_pairs(options.data), score))
            print_parallelness(result)
    except (ModelError, DataError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
