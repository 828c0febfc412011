"""`python -m training.parallelness.study`: which of the paper's six kinds of negatives to train on (table A1).

Each of the 63 combinations is tried in cross-validation by domain: a network learns from positives with the synthetic
negatives of the combination, and is tested on labelled pairs as a crawl meets them (`python -m
training.parallelness.sets links`, or the links of WMT16 pages) of domains that it has not seen. The network is a small
one, or with `--recipe` an encoder that is fine-tuned, as the paper's were (García-Romero et al. 2026). The result of a
fold is written as soon as it is known; a run that was killed goes on there.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import defaultdict
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch.nn import functional

from bilingual_crawler.scoring.models import PAIR_TEXTS
from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.model_input import pair_text
from training.common.data import DataError
from training.common.loop import Training, predict, train
from training.common.markdown import table
from training.common.options import refuse_bad_input
from training.parallelness.evaluation import LabelledPair, read_labelled_pairs
from training.parallelness.examples import capped, read_positives
from training.parallelness.fit import fit
from training.parallelness.negatives import KINDS, generate
from training.parallelness.network import PairNet, PairNetConfig
from training.parallelness.recipe import PairRecipe
from training.parallelness.tokenizer import build_tokenizer, count_features, count_words, encode, learn_pieces
from training.transformer import SMALL
from training.transformer.recipes import RECIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from training.parallelness.negatives import Pair
    from training.transformer.recipes import FineTuningRecipe

    MakeLearner = Callable[[Sequence[Pair], NDArray[np.float32], Sequence[Pair]], "Learner"]
    """Makes a learner of pairs [N], their labels [N] (1 for parallel), and the pairs [M] to be tested on."""

COMBINATIONS = tuple("+".join(chosen) for size in range(1, len(KINDS) + 1) for chosen in combinations("123456", size))
PIECES = 4000
MOST_OF_DOMAIN = 30
SEED = 71213
NEGATIVES = 3  # of each positive


class Learner(Protocol):
    """Trains a network for a fold."""

    def decide(self, chosen: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the test pairs at *asked* [K] are parallel [K], by a network that learnt from those at *chosen*."""


class SmallNetwork:
    """The small network of `recipe`, whose word pieces are those of the pairs."""

    def __init__(
        self, recipe: PairRecipe, learnt: Sequence[Pair], labels: NDArray[np.float32], tested: Sequence[Pair]
    ) -> None:
        texts = [pair_text(*pair) for pair in learnt]
        tokenizer, first = build_tokenizer(count_features(texts), learn_pieces(count_words(texts), recipe.pieces))
        self._recipe, self._labels = recipe, labels
        self._config = PairNetConfig(first, tokenizer.get_vocab_size() - first, 32, 16, 64)
        self._learnt = encode(tokenizer, texts)
        self._tested = encode(tokenizer, [pair_text(*pair) for pair in tested])

    def decide(self, chosen: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
        torch.manual_seed(self._recipe.seed)
        net = PairNet(self._config)
        fit(net, self._learnt, self._labels, np.ones(len(self._labels), dtype=np.float32), chosen, self._recipe)
        return np.asarray(predict(net, self._tested, asked)[:, 0].numpy() >= 0)


class FineTunedEncoder:
    """The encoder of `recipe`, fine-tuned on the GPU if there is one."""

    def __init__(
        self, recipe: FineTuningRecipe, learnt: Sequence[Pair], labels: NDArray[np.float32], tested: Sequence[Pair]
    ) -> None:
        from training.transformer.base import load_tokenizer  # transformers takes seconds to import
        from training.transformer.hub import separator_of
        from training.transformer.lists import TEXT
        from training.transformer.out_of_fold import Encoder, Lessons

        form, separator = PAIR_TEXTS[TEXT], separator_of(load_tokenizer(recipe))
        self._recipe, self._learnt, self._tested, self._labels = recipe, learnt, tested, torch.from_numpy(labels)
        lessons = Lessons(
            "parallelness",
            ("0", "1"),
            learnt,
            labels.astype(np.int64),
            np.ones(len(learnt)),
            np.zeros(len(learnt), dtype=np.int64),
            lambda keys, _: [form(one, other, separator) for one, other in keys],
        )
        self._new = partial(Encoder, lessons, recipe)

    def decide(self, chosen: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
        recipe, encoder = self._recipe, self._new()
        warm = max(1.0, recipe.warmup * -(-len(chosen) // recipe.batch))
        optimizer = torch.optim.AdamW(encoder.net.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
        # as in the fine-tuning of the models: the rate grows, then falls with the inverse square root
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / warm, (warm / (step + 1)) ** 0.5)
        )

        def draw(rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
            order = rng.permutation(chosen)
            for start in range(0, len(order), recipe.batch):
                yield order[start : start + recipe.batch]

        def loss(indices: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
            found = encoder.logits([self._learnt[i] for i in indices], None)[:, 0]
            return functional.binary_cross_entropy_with_logits(found, self._labels[indices].to(encoder.device))

        train(Training(encoder.net, optimizer, schedule, draw, loss, recipe.clip), recipe.epochs, recipe.seed)
        encoder.net.eval()
        return np.asarray(encoder.probabilities([self._tested[i] for i in asked])[:, 0] >= 0.5)


@dataclass(frozen=True, slots=True)
class FoldResult:
    """Decisions of one network on its test fold, at probability .5."""

    combination: str
    recipe: str
    """How the network was trained."""
    fold: int
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


_COLUMNS = [field.name for field in fields(FoldResult)]


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


def try_combination(
    data: Data, combination: str, done: Iterable[int], make: MakeLearner, recipe: str
) -> Iterable[FoldResult]:
    """Results of the folds that are not `done`, by the learner of the `recipe` of that name."""
    negatives = generate(data.positives, combination, NEGATIVES, SEED)
    learnt = [*data.positives, *((n.url_a, n.url_b) for n in negatives)]
    labels = np.array([1.0] * len(data.positives) + [0.0] * len(negatives), dtype=np.float32)
    domains = np.array([domain_label(url) for url, _ in learnt])
    tested = [row for name in sorted(data.tests) for row in data.tests[name]]
    test_domains = np.array([domain_label(row.url_a) for row in tested])
    truth = np.array([row.label == 1 for row in tested], dtype=bool)
    learner = make(learnt, labels, [(row.url_a, row.url_b) for row in tested])
    for fold, inside in enumerate(data.folds):
        if fold in done:
            continue
        rows = np.flatnonzero(np.isin(test_domains, list(inside)))
        yes, expected = learner.decide(np.flatnonzero(~np.isin(domains, list(inside))), rows), truth[rows]
        counts = (yes & expected, yes & ~expected, ~yes & expected, ~yes & ~expected)
        yield FoldResult(combination, recipe, fold, *(int(count.sum()) for count in counts))


def read_results(path: Path) -> list[FoldResult]:
    """Results that earlier runs have written; a line that a kill cut off does not count. DataError for another file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file, delimiter="\t")) or [_COLUMNS]
    if header != _COLUMNS:
        raise DataError(f"{path} holds no results of this study: give another --results")
    return [FoldResult(row[0], row[1], *map(int, row[2:])) for row in rows if len(row) == len(_COLUMNS)]


def write_results(path: Path, results: Iterable[FoldResult]) -> None:
    """Write a results file anew."""
    lines = [_COLUMNS, *(list(map(str, astuple(result))) for result in results)]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def ranked(results: Iterable[FoldResult]) -> list[Row]:
    """One row per combination, best macro-F1 first."""
    by_combination: dict[str, list[FoldResult]] = defaultdict(list)
    for result in results:
        by_combination[result.combination].append(result)
    rows = []
    for combination, some in by_combination.items():
        hits, wrong, missed, right = (
            sum(getattr(result, field.name) for result in some) for field in fields(FoldResult)[3:]
        )
        positive = 2 * hits / max(1, 2 * hits + wrong + missed)
        negative = 2 * right / max(1, 2 * right + wrong + missed)
        rows.append(Row(combination, (positive + negative) / 2, positive, negative, len(some)))
    return sorted(rows, key=lambda row: (-row.macro, row.combination))


def summary(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    columns = ("negatives", "macro F1", "positive F1", "negative F1", "folds")
    return table(columns, [(r.combination, r.macro, r.positive, r.negative, r.folds) for r in rows], digits=4)


def study(data: Data, wanted: Sequence[str], path: Path, make: MakeLearner, recipe: str) -> list[Row]:
    """Try what `path` does not hold yet, adding a line per fold.

    DataError if it holds results on other tests, or of another `recipe`.
    """
    results = read_results(path)
    sizes = [sum(len(data.tests[name]) for name in inside) for inside in data.folds]
    if any(result.fold >= len(sizes) or sum(astuple(result)[3:]) != sizes[result.fold] for result in results):
        raise DataError(f"{path} holds results on other tests or folds: give another --results")
    if other := next((result.recipe for result in results if result.recipe != recipe), None):
        raise DataError(f"{path} holds results of the recipe {other}: give another --results")
    write_results(path, results)
    torch.set_num_threads(1)
    for combination in wanted:
        done = {result.fold for result in results if result.combination == combination}
        if len(done) == len(data.folds):
            continue
        with path.open("a", encoding="utf-8") as file:
            for result in try_combination(data, combination, done, make, recipe):
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
    parser.add_argument("--recipe", choices=(SMALL, *RECIPES), default=SMALL, help="network that learns")
    parser.add_argument("--base", help="encoder to fine-tune in place of the recipe's: a name on the hub or a folder")
    options = parser.parse_args(arguments)
    if options.base and options.recipe == SMALL:
        parser.error("--base needs a --recipe that fine-tunes an encoder: " + ", ".join(RECIPES))
    make: MakeLearner
    if options.recipe == SMALL:
        make = partial(SmallNetwork, PairRecipe(epochs=options.epochs, batch=128, rate=1e-2, pieces=PIECES))
    else:
        tuned = RECIPES[options.recipe]["parallelness"]
        make = partial(FineTunedEncoder, replace(tuned, epochs=options.epochs, base=options.base or tuned.base))
    with refuse_bad_input(parser):
        data = read_data(options.pairs, options.tests, options.sample, options.folds)
        tested = sum(map(len, data.tests.values()))
        print(f"{len(data.positives)} positives, {tested} test pairs, {len(data.folds)} folds")
        print(summary(study(data, options.combinations, options.results, make, options.recipe)), end="")


if __name__ == "__main__":
    main()
