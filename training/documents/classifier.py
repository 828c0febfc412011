"""Gradient boosting of small trees over the evidence for document pairs: fit, cross-validation, calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from bilingual_crawler.alignment.documents.matching import greedy
from training.documents.examples import SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.documents.examples import Examples

FOLDS = 4


def fit(examples: Sequence[Examples], features: Sequence[str]) -> HistGradientBoostingClassifier:
    """A classifier that sees *features*."""
    chosen = [one.sample() for one in examples]
    rows = np.concatenate([one.rows(features)[kept] for one, kept in zip(examples, chosen, strict=True)])
    labels = np.concatenate([one.parallel[kept] for one, kept in zip(examples, chosen, strict=True)])
    weights = np.concatenate([np.full(len(kept), len(kept) ** -0.5) for kept in chosen if len(kept)])
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=12,
        min_samples_leaf=20,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=SEED,
    )
    return model.fit(rows, labels, sample_weight=weights / weights.mean())


def cross_validated(examples: Sequence[Examples], features: Sequence[str]) -> list[NDArray[np.float64]]:
    """Raw scores of each domain's candidates by a classifier that saw no site of its kind."""
    scores: list[NDArray[np.float64]] = [np.zeros(0)] * len(examples)
    kinds = sorted({one.kind for one in examples})
    for fold in range(FOLDS):
        held = kinds[fold::FOLDS]
        model = fit([one for one in examples if one.kind not in held], features)
        for place, one in enumerate(examples):
            if one.kind in held and len(one.a):
                scores[place] = model.decision_function(one.rows(features))
    return scores


def calibrate(examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Slope and shift of Platt scaling on the pairs that the matching chooses."""
    x, y = [], []
    for one, score in zip(examples, scores, strict=True):
        chosen = greedy(one.a, one.b, score, -np.inf)
        chosen = chosen[one.touching[chosen]]
        x.append(score[chosen])
        y.append(one.parallel[chosen])
    model = LogisticRegression(C=1.0).fit(np.concatenate(x)[:, None], np.concatenate(y))
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def measure(examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]], least: float) -> tuple[float, float]:
    """Recall of gold, and precision of the pairs with a document in gold, pooled over tasks. *least* is a raw score."""
    right = touching = 0
    for one, score in zip(examples, scores, strict=True):
        chosen = greedy(one.a, one.b, score, least)
        right += int(one.parallel[chosen].sum())
        touching += int(one.touching[chosen].sum())
    return right / max(sum(one.gold for one in examples), 1), right / max(touching, 1)
