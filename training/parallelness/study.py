"""`python -m training.parallelness.study`: which of the paper's six kinds of negatives to train on (table A1).

Each of the 63 combinations is tried in cross-validation by domain: a small pair network learns from positives with
the synthetic negatives of the combination, and is tested on labelled pairs as a crawl meets them (`python -m
training.parallelness.sets links`, or the links of WMT16 pages) of domains that it has not seen. The result of a fold is
written as soon as it is known; a run that was killed goes on there.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import defaultdict
from dataclasses import astuple, dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.model_input import pair_text
from training.common.data import DataError
from training.common.loop import predict
from training.common.markdown import table
from training.common.options import refuse_bad_input
from training.parallelness.evaluation import LabelledPair, read_labelled_pairs
from training.parallelness.examples import capped, read_positives
from training.parallelness.fit import fit
from training.parallelness.negatives import KINDS, generate
from training.parallelness.network import PairNet, PairNetConfig
from training.parallelness.recipe import PairRecipe
from training.parallelness.tokenizer import build_tokenizer, count_features, count_words, encode, learn_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from training.parallelness.negatives import Pair

COMBINATIONS = tuple("+".join(chosen) for size in range(1, len(KINDS) + 1) for chosen in combinations("123456", size))
PIECES = 4000
MOST_OF_DOMAIN = 30
SEED = 71213


@dataclass(frozen=True, slots=True)
class FoldResult:
    """Decisions of one network on its test fold, at probability .5."""

    combination: str
    fold: int
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of table A1: F1 of both classes over all folds, and their mean."""

    combination: str
    macro: float
    positive: float
    negative: float
    folds: int


@dataclass(frozen=True, slots=True)
class Data:
    """Positives to learn from, and test pairs by domain label; `folds` holds the domain labels of each fold."""

    positives: list[Pair]
    tests: dict[str, list[LabelledPair]]
    folds: tuple[frozenset[str], ...]


def read_data(pairs: Path, tests: Path, sample: int, folds: int) -> Data:
    """Up to `sample` positives (30 of a domain) of both files, and up to `sample` test pairs of each domain."""
    rng = random.Random(SEED)
    by_domain: dict[str, list[LabelledPair]] = defaultdict(list)
    for row in read_labelled_pairs(tests):
        by_domain[domain_label(row.url_a)].append(row)
    by_domain = {name: rng.sample(rows, min(sample, len(rows))) for name, rows in by_domain.items()}
    known = [(row.url_a, row.url_b) for rows in by_domain.values() for row in rows if row.label]
    found = capped([*read_positives(pairs).get("gold", []), *known], MOST_OF_DOMAIN, rng)
    names = sorted(by_domain)
    rng.shuffle(names)
    return Data(
        rng.sample(found, min(sample, len(found))),
        by_domain,
        tuple(frozenset(names[number::folds]) for number in range(folds) if names[number::folds]),
    )


def try_combination(data: Data, combination: str, done: Iterable[int], recipe: PairRecipe) -> Iterable[FoldResult]:
    """Results of the folds that are not `done`."""
    negatives = generate(data.positives, combination, recipe.negatives, recipe.seed)
    learnt = [*data.positives, *((n.url_a, n.url_b) for n in negatives)]
    labels = np.array([1.0] * len(data.positives) + [0.0] * len(negatives), dtype=np.float32)
    domains = np.array([domain_label(url) for url, _ in learnt])
    tested = [row for name in sorted(data.tests) for row in data.tests[name]]
    texts = [pair_text(*pair) for pair in learnt]
    tokenizer, first = build_tokenizer(count_features(texts), learn_pieces(count_words(texts), recipe.pieces))
    encoded = encode(tokenizer, texts)
    test = encode(tokenizer, [pair_text(row.url_a, row.url_b) for row in tested])
    test_domains = np.array([domain_label(row.url_a) for row in tested])
    truth = np.array([row.label == 1 for row in tested], dtype=bool)
    for fold, inside in enumerate(data.folds):
        if fold in done:
            continue
        torch.manual_seed(recipe.seed)
        net = PairNet(PairNetConfig(first, tokenizer.get_vocab_size() - first, 32, 16, 64))
        chosen = np.flatnonzero(~np.isin(domains, list(inside)))
        fit(net, encoded, labels, np.ones(len(learnt), dtype=np.float32), chosen, recipe)
        rows = np.flatnonzero(np.isin(test_domains, list(inside)))
        yes, expected = predict(net, test, rows)[:, 0].numpy() >= 0, truth[rows]
        counts = (yes & expected, yes & ~expected, ~yes & expected, ~yes & ~expected)
        yield FoldResult(combination, fold, *(int(count.sum()) for count in counts))


def read_results(path: Path) -> list[FoldResult]:
    """Results that earlier runs have written; a line that a kill cut off does not count."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t") if len(row) == len(fields(FoldResult))]
    return [FoldResult(row[0], *map(int, row[1:])) for row in rows[1:]]


def write_results(path: Path, results: Iterable[FoldResult]) -> None:
    """Write a results file anew."""
    lines = [[field.name for field in fields(FoldResult)], *(map(str, astuple(result)) for result in results)]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def ranked(results: Iterable[FoldResult]) -> list[Row]:
    """One row per combination, best macro-F1 first."""
    by_combination: dict[str, list[FoldResult]] = defaultdict(list)
    for result in results:
        by_combination[result.combination].append(result)
    rows = []
    for combination, some in by_combination.items():
        hits, wrong, missed, right = (
            sum(getattr(result, field.name) for result in some) for field in fields(FoldResult)[2:]
        )
        positive = 2 * hits / max(1, 2 * hits + wrong + missed)
        negative = 2 * right / max(1, 2 * right + wrong + missed)
        rows.append(Row(combination, (positive + negative) / 2, positive, negative, len(some)))
    return sorted(rows, key=lambda row: (-row.macro, row.combination))


def summary(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    columns = ("negatives", "macro F1", "positive F1", "negative F1", "folds")
    return table(columns, [(r.combination, r.macro, r.positive, r.negative, r.folds) for r in rows], digits=4)


def study(data: Data, wanted: Sequence[str], path: Path, recipe: PairRecipe) -> list[Row]:
    """Try what `path` does not hold yet, adding a line per fold. DataError if it holds results on other tests."""
    results = read_results(path)
    sizes = [sum(len(data.tests[name]) for name in inside) for inside in data.folds]
    if any(result.fold >= len(sizes) or sum(astuple(result)[2:]) != sizes[result.fold] for result in results):
        raise DataError(f"{path} holds results on other tests or folds: give another --results")
    write_results(path, results)
    torch.set_num_threads(1)
    for combination in wanted:
        done = {result.fold for result in results if result.combination == combination}
        if len(done) == len(data.folds):
            continue
        with path.open("a", encoding="utf-8") as file:
            for result in try_combination(data, combination, done, recipe):
                file.write("\t".join(map(str, astuple(result))) + "\n")
                file.flush()
                results.append(result)
        newest = next(row for row in ranked(results) if row.combination == combination)
        print(f"{combination} macro F1 {newest.macro:.4f}", flush=True)
    return ranked(result for result in results if result.combination in wanted)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study or go on with it, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness.study", description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True, help="TSV with url_a, url_b, evidence: gold is taken")
    parser.add_argument("--tests", type=Path, required=True, help="TSV with url_a, url_b, label")
    parser.add_argument("--results", type=Path, required=True, help="TSV, one line per combination and fold")
    parser.add_argument("--combinations", nargs="+", choices=COMBINATIONS, default=COMBINATIONS, metavar="1+2+…")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sample", type=int, default=1000, help="positives, and test pairs of a domain")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args(arguments)
    recipe = PairRecipe(epochs=options.epochs, batch=128, rate=1e-2, pieces=PIECES)
    with refuse_bad_input(parser):
        data = read_data(options.pairs, options.tests, options.sample, options.folds)
        tested = sum(map(len, data.tests.values()))
        print(f"{len(data.positives)} positives, {tested} test pairs, {len(data.folds)} folds")
        print(summary(study(data, options.combinations, options.results, recipe)), end="")


if __name__ == "__main__":
    main()
