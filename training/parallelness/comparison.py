"""`python -m training.parallelness.comparison`: the pair model beside rules and gradient boosting, in one run.

All are measured on the WMT16 gold pairs with the paper's negatives and on the real links of frozen sites. The two
learnt ones learn from the same examples and score a domain that neither saw (five folds of domains); the small
model goes on from the checkpoints of a training with the same `--work`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import precision_recall_fscore_support

from training.common.markdown import table
from training.common.scores import average_precision
from training.parallelness.baselines import LanguageStripper, TokenReplacement
from training.parallelness.examples import is_refused
from training.parallelness.hand_features import hand_features
from training.parallelness.options import add_options, chosen_options
from training.parallelness.train import cross_validate, prepare
from training.parallelness.validation import LINKS, PAPER, by_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.parallelness.examples import Example
    from training.parallelness.train import Prepared

MOST_BOOSTED = 60_000

COLUMNS = (
    "system",
    "precision",
    "recall",
    "F1",
    "mean F1 of domains",
    "AP",
    "links: mean AP",
    "links without refused: mean AP",
)


@dataclass(frozen=True, slots=True)
class Scores:
    """Positive class at probability .5 and average precision on WMT16 gold; mean average precision on links."""

    precision: float
    recall: float
    f1: float
    f1_of_domains: float
    average_precision: float
    links: float
    clear_links: float
    """Without refused links (`pairs.is_refused`)."""


def boosted(prepared: Prepared, rows: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.float64]:
    """Probabilities of the examples at `rows` from gradient-boosted trees that saw nothing of their domain."""
    rng = np.random.default_rng(seed)
    result = np.zeros(len(rows))
    for number in range(folds):
        weights = np.where(prepared.folds != number, prepared.weights, 0).astype(np.float64)
        some = min(MOST_BOOSTED, round(weights.sum()))
        drawn = rng.choice(len(weights), some, replace=False, p=weights / weights.sum())
        model = HistGradientBoostingClassifier(random_state=seed)
        model.fit(_features(prepared.examples, drawn), prepared.labels[drawn])
        inside = np.flatnonzero(prepared.folds[rows] == number)
        result[inside] = model.predict_proba(_features(prepared.examples, rows[inside]))[:, 1]
    return result


def _features(examples: Sequence[Example], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    return hand_features([(examples[i].url_a, examples[i].url_b) for i in rows])


def compare(examples: Sequence[Example], probabilities: NDArray[np.floating]) -> Scores:
    """Scores of one system on gold and links."""
    labels = np.array([e.label for e in examples], dtype=np.int64)
    gold = np.array([e.source == "gold" and e.kind in PAPER for e in examples], dtype=bool)
    links = np.array([e.kind in LINKS for e in examples], dtype=bool)
    clear = links & ~np.array([is_refused(e) for e in examples], dtype=bool)
    chosen = probabilities >= 0.5
    precision, recall, f1, _ = precision_recall_fscore_support(
        labels[gold], chosen[gold], average="binary", zero_division=0
    )
    domains: dict[str, list[int]] = defaultdict(list)
    for i in np.flatnonzero(gold):
        domains[examples[int(i)].group].append(int(i))
    each = [
        precision_recall_fscore_support(labels[rows], chosen[rows], average="binary", zero_division=0)[2]
        for rows in domains.values()
        if labels[rows].any()
    ]
    mean = [np.mean(by_source(examples, labels, probabilities, some)) if some.any() else 0.0 for some in (links, clear)]
    return Scores(
        float(precision),
        float(recall),
        float(f1),
        float(np.mean(each)),
        average_precision(labels[gold], probabilities[gold]),
        float(mean[0]),
        float(mean[1]),
    )


def summary(found: Mapping[str, Scores]) -> str:
    """The systems as a Markdown table, best F1 first."""
    best_first = sorted(found.items(), key=lambda item: -item[1].f1)
    return table(COLUMNS, [[name, *asdict(scores).values()] for name, scores in best_first])


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the systems, print the table, write --json and --table."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness.comparison", description=__doc__)
    add_options(parser)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True, help="Markdown")
    options = parser.parse_args(arguments)
    sources, recipe = chosen_options(options)
    prepared = prepare(sources, recipe, options.work)
    held_out = cross_validate(prepared, recipe, options.folds, options.work)
    wanted = np.array([_measured(prepared.examples[i]) for i in held_out.indices], dtype=bool)
    rows = held_out.indices[wanted]
    examples = [prepared.examples[i] for i in rows]
    pairs = [(e.url_a, e.url_b) for e in examples]
    small = 1 / (1 + np.exp(-held_out.logits[wanted].astype(np.float64).clip(-50, 50)))
    found = {
        "small model": compare(examples, small),
        "gradient boosting on hand features": compare(examples, boosted(prepared, rows, options.folds, recipe.seed)),
        "WMT16 language stripper": compare(examples, LanguageStripper().probabilities(pairs)),
        "YODA token replacement": compare(examples, TokenReplacement().probabilities(pairs)),
    }
    print(summary(found), end="")
    options.json.write_text(json.dumps({name: asdict(s) for name, s in found.items()}, indent=1) + "\n")
    options.table.write_text(summary(found), encoding="utf-8")


def _measured(example: Example) -> bool:
    return example.kind in LINKS or (example.source == "gold" and example.kind in PAPER)


if __name__ == "__main__":
    main()
