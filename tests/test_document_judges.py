"""The judges of document pairs in training: what they learn from, and what they are calibrated on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra train")

from training.documents.classifier import Regression, fit_trees, held_out
from training.documents.examples import Examples

FEATURES = ("total", "shorter")


def examples(kind: str, seed: int, documents: int = 60) -> Examples:
    """Each document of the first side with its partner, and with a wrong one; a third has no partner."""
    random = np.random.default_rng(seed)
    a = np.repeat(np.arange(documents), 2)
    b = np.column_stack((np.arange(documents), np.roll(np.arange(documents), 1))).ravel()
    parallel = np.tile((True, False), documents) & (a % 3 > 0)
    columns = {
        "total": (2 * parallel + random.normal(size=len(a))).astype(np.float32),
        "shorter": random.normal(size=len(a)).astype(np.float32),
    }
    alike = np.arange(documents), np.arange(documents)
    return Examples(kind, "whole", int(parallel.sum()), a, b, alike, columns, parallel, np.ones(len(a), dtype=bool))


@pytest.fixture(scope="module")
def several() -> list[Examples]:
    return [examples(kind, seed) for seed, kind in enumerate("abcd" * 4)]


@pytest.mark.parametrize("fit", [fit_trees, Regression])
def test_log_odds_are_calibrated_on_what_a_matching_chooses(fit, several: list[Examples]) -> None:  # type: ignore[no-untyped-def]
    _, _, odds = held_out(several, FEATURES, fit)
    scores = np.concatenate([own[one.chosen(own, -np.inf)] for one, own in zip(several, odds, strict=True)])
    right = np.concatenate([one.parallel[one.chosen(own, -np.inf)] for one, own in zip(several, odds, strict=True)])
    assert (1 / (1 + np.exp(-scores))).mean() == pytest.approx(right.mean(), abs=0.02)


def test_sites_are_judged_by_those_that_saw_none_of_their_kind(several: list[Examples]) -> None:
    liar = examples("liar", 99)
    turned = replace(liar, parallel=~liar.parallel)
    _, _, with_liar = held_out([*several, turned], FEATURES, Regression)
    # what is learnt elsewhere says the contrary of this site's labels
    assert with_liar[-1][turned.parallel].mean() < with_liar[-1][~turned.parallel].mean()


def test_a_calibrated_judge_gives_the_log_odds_of_its_regression(several: list[Examples]) -> None:
    regression = Regression(several, FEATURES)
    judge = regression.judge(1.5, 0.25)
    rows = several[0].rows(FEATURES)
    columns = {name: rows[:, place].astype(float) for place, name in enumerate(FEATURES)}
    assert judge.log_odds(columns) == pytest.approx(1.5 * regression.decision_function(rows) + 0.25, abs=1e-3)


def test_of_near_duplicates_one_is_chosen(several: list[Examples]) -> None:
    one = several[0]
    same = Examples(
        **{name: getattr(one, name) for name in Examples.__slots__} | {"alike": (np.zeros(60, int), one.alike[1])}
    )
    assert len(same.chosen(np.ones(len(one.a)), 0.5)) == 1


def test_trees_never_count_more_likeness_against_a_pair(several: list[Examples]) -> None:
    trees = fit_trees(several, FEATURES)
    rows = np.column_stack((np.linspace(-4, 6, 50), np.zeros(50)))
    assert np.all(np.diff(trees.decision_function(rows)) >= 0)
