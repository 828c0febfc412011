"""Learn how alike translations are by their outlines: ``python -m training.documents.resemblance SITES``.

A logistic regression (:mod:`bilingual_crawler.pairing.resemblance`) on what crawls of frozen sites would
meet. Prints how good it is on sites, and on kinds of sites, that it was not trained on. With ``--test`` it measures the
shipped weights and trains nothing.
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.progress import track
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bilingual_crawler.harvest.sites import read_tasks
from bilingual_crawler.pairing.resemblance import (
    BEST_FEATURES,
    CONFIRMED_BY_OUTLINE,
    FOLDER,
    MAX_BEST_LEAD,
    OUTLINE_FEATURES,
    ResemblanceWeights,
)
from bilingual_crawler.scoring.linear import LinearModel, logistic
from training.common.data import DataError
from training.common.options import new_file, refuse_bad_input
from training.documents.encounters import NOTHING, meet
from training.documents.examples import family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from training.documents.encounters import Encounters

REGULARISATION = 0.05
REFUTED_BY_OUTLINE = 0.1
"""Probability up to which two documents are no translations; in between, outlines do not decide."""


def main() -> None:
    """Train, print the quality on what was left out, write the weights; or measure the weights there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    parser.add_argument("--test", action="store_true", help="measure the weights in --out")
    parser.add_argument("--json", type=new_file, help="figures of the weights, for benchmarks.report")
    parser.add_argument("--out", type=Path, default=Path("models") / FOLDER, help="model folder (%(default)s)")
    args = parser.parse_args()
    with refuse_bad_input(parser):
        weights = ResemblanceWeights.load(args.out.parent) if args.test else None
        sites = [list(tasks) for _, tasks in groupby(read_tasks(args.sites), key=lambda task: task.site)]
        met = [one for tasks in track(sites) for one in meet(args.sites, tasks) if one.pairs]
        kinds, least = len({one.kind for one in met}), 1 if args.test else 2
        if kinds < least:
            raise DataError(f"{args.sites} has gold pairs of {kinds} kinds of site: give {least} or more")
    if weights:
        found = report("weights there are", met, [probabilities(one, weights) for one in met])
        if args.json:
            args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    for what, group in (("sites", lambda one: family(one.site)), ("kinds of sites", lambda one: one.kind)):
        report(what, met, left_out(met, group))
    weights = fit(met)
    args.out.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(weights), indent=1)
    (args.out / "config.json").write_bytes(content + b"\n")


def fit(met: Sequence[Encounters]) -> ResemblanceWeights:
    """The weights that tell best what is parallel; every task weighs as the square root of its pairs."""
    rows, labels, worth = (np.concatenate(columns) for columns in zip(*map(_examples, met), strict=True))
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=REGULARISATION, max_iter=500).fit(scaler.transform(rows), labels, worth / worth.mean())
    features = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - features @ scaler.mean_)
    named = {name: round(float(weight), 4) for name, weight in zip(OUTLINE_FEATURES, features, strict=True)}
    return fit_best(met, replace(NOTHING, pair=LinearModel(round(intercept, 4), named)))


def fit_best(met: Sequence[Encounters], weights: ResemblanceWeights) -> ResemblanceWeights:
    """*weights* with what the lead of the best of several candidates says."""
    leads, right = [], []
    for choice in (choice for one in met for choice in one.choices if len(choice) > 1):
        scores = [weights.log_odds(judged.features) for judged in choice]
        first, second = sorted(scores, reverse=True)[:2]
        leads.append((first, min(first - second, MAX_BEST_LEAD)))
        right.append(choice[scores.index(first)].parallel)
    model = LogisticRegression().fit(leads, right)
    named = {name: round(float(weight), 4) for name, weight in zip(BEST_FEATURES, model.coef_[0], strict=True)}
    return replace(weights, best=LinearModel(round(float(model.intercept_[0]), 4), named))


def left_out(met: Sequence[Encounters], group: Callable[[Encounters], str]) -> list[NDArray[np.float64]]:
    """Probabilities of the pairs of each task by weights that saw nothing of its group."""
    weights = {
        left: fit([one for one in met if group(one) != left]) for left in track(sorted({group(one) for one in met}))
    }
    return [probabilities(one, weights[group(one)]) for one in met]


def probabilities(one: Encounters, weights: ResemblanceWeights) -> NDArray[np.float64]:
    """Of each pair that was met, to be parallel."""
    scores = np.array([logistic(weights.log_odds(pair.features)) for pair in one.pairs])
    copies = np.array([pair.is_copy for pair in one.pairs])
    limited: NDArray[np.float64] = np.minimum(scores, np.where(copies, 0.5, 1.0))
    return limited


def report(
    what: str, met: Sequence[Encounters], scores: Sequence[NDArray[np.float64]]
) -> dict[str, dict[str, float | None]]:
    """Print the quality by kind of site, and the sites with most errors; positives and negatives weigh the same.

    Returns the former.
    """
    print(f"\n{what}: precision and recall of the confirmed, of the refuted; undecided of parallel, of others")
    kinds = sorted({one.kind for one in met})
    by_kind = {
        name: quality([(one, score) for one, score in zip(met, scores, strict=True) if name in (one.kind, "all")])
        for name in (*kinds, "all")
    }
    for name, figures in by_kind.items():
        print(f"{name:15}", _line(figures))
    sites = sorted({one.site for one in met})
    lines = {site: [(one, score) for one, score in zip(met, scores, strict=True) if one.site == site] for site in sites}
    for site in sorted(sites, key=lambda site: _errors(lines[site]), reverse=True)[:8]:
        print(f"  {site:28}", _line(quality(lines[site])))
    return by_kind


Scored: TypeAlias = "list[tuple[Encounters, NDArray[np.float64]]]"


def quality(scored: Scored) -> dict[str, float | None]:
    """Precision and recall of the confirmed and of the refuted, and the undecided shares; None of nothing."""
    labels, worth, scores = _columns(scored)
    right, wrong = worth * labels, worth * ~labels
    sure, never = scores >= CONFIRMED_BY_OUTLINE, scores <= REFUTED_BY_OUTLINE
    shares = {
        "confirmed_precision": (right[sure].sum(), worth[sure].sum()),
        "confirmed_recall": (right[sure].sum(), right.sum()),
        "refuted_precision": (wrong[never].sum(), worth[never].sum()),
        "refuted_recall": (wrong[never].sum(), wrong.sum()),
        "undecided_parallel": (right[~sure & ~never].sum(), right.sum()),
        "undecided_other": (wrong[~sure & ~never].sum(), wrong.sum()),
    }
    return {name: float(part / whole) if whole else None for name, (part, whole) in shares.items()}


def _line(figures: Mapping[str, float | None]) -> str:
    return "  ".join("  –  " if figure is None else f"{figure:.3f}" for figure in figures.values())


def _errors(scored: Scored) -> float:
    labels, worth, scores = _columns(scored)
    wrong = (labels & (scores <= REFUTED_BY_OUTLINE)) | (~labels & (scores >= CONFIRMED_BY_OUTLINE))
    return float(worth[wrong].sum() / worth.sum())


def _columns(scored: Scored) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    examples = [_examples(one) for one, _ in scored]
    return (
        np.concatenate([labels for _, labels, _ in examples]),
        np.concatenate([worth for _, _, worth in examples]),
        np.concatenate([score for _, score in scored]),
    )


def _examples(one: Encounters) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Features, labels and weights, the same sum for both labels."""
    labels = np.array([pair.parallel for pair in one.pairs], dtype=bool)
    share = np.where(labels, labels.mean(), 1 - labels.mean())
    return np.array([[*pair.features.values()] for pair in one.pairs]), labels, len(labels) ** -0.5 / share


if __name__ == "__main__":
    main()
