"""The judges of document pairs: boosted trees and logistic regressions, their cross-validation and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bilingual_crawler.harvest.sites import CERTAIN_SCORE, SiteError
from bilingual_crawler.scoring.linear import LinearModel
from training.documents.examples import SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from training.documents.examples import Examples

FOLDS = 4
REGULARISATION = 3.0  # ``C`` of the logistic regressions, on standardised features

LIKER = {
    *("words", "names", "numbers", "title", "files", "external", "internal", "shingles", "outlinks", "inlinks"),
    *("total", "tags", "number_order", "paragraphs", "lead_a", "lead_b", "tag_lead_a", "tag_lead_b"),
    *("translated_a", "translated_b", "translated_lead_a", "translated_lead_b"),
    *("dde", "dde_csls", "dde_lead_a", "dde_lead_b", "sae", "sae_csls", "sae_lead_a", "sae_lead_b"),
    *("held", "said", "said_by_both", "site_mutual", "site_unsaid", "aligned"),
}
"""Features that never speak against a pair where they are higher: what few sites show by accident is not learnt."""
UNLIKER = {
    *("verbatim", "word_residual", "text_residual", "refused", "rivals_a", "rivals_b", "marked_otherwise"),
    *("usual_wrong", "site_said", "title_numbers", "url_numbers", "unaligned", "behind"),
    *("contradicted", "site_contradicted", "outshone"),
}
"""Those that never speak for it."""


class Judge(Protocol):
    """Scores candidates."""

    def decision_function(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Raw scores of *rows*."""


Fit = "Callable[[Sequence[Examples], Sequence[str]], Judge]"


def _training(
    examples: Sequence[Examples], features: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.float64]]:
    """Rows, labels, and weights: a domain weighs as the square root of its sample."""
    chosen = [one.sample() for one in examples]
    rows = np.concatenate([one.rows(features)[kept] for one, kept in zip(examples, chosen, strict=True)])
    labels = np.concatenate([one.parallel[kept] for one, kept in zip(examples, chosen, strict=True)])
    weights = np.concatenate([np.full(len(kept), len(kept) ** -0.5) for kept in chosen if len(kept)])
    return rows, labels, weights / weights.mean()


def fit_trees(examples: Sequence[Examples], features: Sequence[str]) -> HistGradientBoostingClassifier:
    """Boosted trees that see *features*."""
    rows, labels, weights = _training(examples, features)
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=12,
        min_samples_leaf=20,
        l2_regularization=1.0,
        monotonic_cst=[(name in LIKER) - (name in UNLIKER) for name in features],
        early_stopping=False,
        random_state=SEED,
    )
    return model.fit(rows, labels, sample_weight=weights)


def _logistic(
    x: NDArray[np.float64],
    labels: NDArray[np.bool_],
    weights: NDArray[np.float64],
    features: Sequence[str],
    given: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Weights of a logistic regression on *x*, whose last columns are *features*; those before are free and unpunished.

    *given*: log-odds to which the regression adds. Weights keep the sign of :data:`LIKER` and :data:`UNLIKER`.
    """
    y, free = np.where(labels, 1.0, -1.0), x.shape[1] - len(features)
    punished = np.array([*np.zeros(free), *np.ones(len(features))]) / REGULARISATION

    def loss(weight: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = y * (given + x @ weight)
        gradient = punished * weight - (weights * y * expit(-margin)) @ x
        return float(weights @ np.logaddexp(0, -margin) + punished @ weight**2 / 2), gradient

    signs = [(0 if name in LIKER else None, 0 if name in UNLIKER else None) for name in features]
    bounds = [*([(None, None)] * free), *signs]
    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x)


def fit_correction(examples: Sequence[Examples], given: str, features: Sequence[str]) -> LinearModel:
    """What *features* add to the log-odds in the column *given*; nothing where they are 0."""
    rows, labels, weights = _training(examples, (given, *features))
    found = _logistic(rows[:, 1:].astype(np.float64), labels, weights, features, rows[:, 0].astype(np.float64))
    return LinearModel(0.0, {name: round(float(weight), 5) for name, weight in zip(features, found, strict=True)})


class Regression:
    """A logistic regression that sees *features*."""

    def __init__(self, examples: Sequence[Examples], features: Sequence[str]) -> None:
        rows, labels, weights = _training(examples, features)
        scaler = StandardScaler().fit(rows)
        spread = np.where(scaler.scale_ > 0, scaler.scale_, 1)
        x = np.column_stack((np.ones(len(rows)), scaler.transform(rows)))
        found = _logistic(x, labels, weights, features)
        self._weights = found[1:] / spread
        self._intercept = float(found[0] - self._weights @ scaler.mean_)
        self._features = features

    def decision_function(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Log-odds of *rows*."""
        return np.asarray(rows @ self._weights + self._intercept)

    def judge(self, slope: float, shift: float) -> LinearModel:
        """The judge with calibrated log-odds."""
        weights = {name: round(slope * float(w), 5) for name, w in zip(self._features, self._weights, strict=True)}
        return LinearModel(round(slope * self._intercept + shift, 5), weights)


def held_out(
    examples: Sequence[Examples],
    features: Sequence[str],
    fit: Callable[[Sequence[Examples], Sequence[str]], Judge],
    lies: bool = False,
) -> tuple[float, float, list[NDArray[np.float64]]]:
    """Slope, shift, and calibrated log-odds of each domain's candidates by a judge that saw no site of its kind.

    Sites that lie are judged, too; a judge learns nothing from them unless *lies*.
    """
    scores: list[NDArray[np.float64]] = [np.zeros(0)] * len(examples)
    kinds = sorted({one.kind for one in examples})
    for fold in range(FOLDS):
        left = kinds[fold::FOLDS]
        judge = fit([one for one in examples if one.kind not in left and (lies or not one.lying)], features)
        for place, one in enumerate(examples):
            if one.kind in left and len(one.a):
                scores[place] = judge.decision_function(one.rows(features))
    slope, shift = _calibrate(examples, scores, lies)
    return slope, shift, [slope * score + shift for score in scores]


def corrected(examples: Sequence[Examples], given: str, features: Sequence[str]) -> list[NDArray[np.float64]]:
    """Log-odds in the column *given* with what *features* add, learnt on sites of other kinds."""
    odds = []
    for one in examples:
        judge = fit_correction([other for other in examples if other.kind != one.kind], given, features)
        columns = {name: one.columns[name].astype(np.float64) for name in features}
        odds.append(one.columns[given] + judge.predict(columns))
    return odds


def _calibrate(
    examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]], lies: bool = False
) -> tuple[float, float]:
    """Slope and shift of Platt scaling on the pairs that the matching chooses; SiteError if all or none are right."""
    x, y = [], []
    for one, score in zip(examples, scores, strict=True):
        if one.lying and not lies:
            continue
        chosen = one.chosen(score, -np.inf)
        chosen = chosen[one.judged[chosen]]
        x.append(score[chosen])
        y.append(one.parallel[chosen])
    right = np.concatenate(y)
    if len(np.unique(right)) < 2:
        raise SiteError(
            f"{'all' if right.all() else 'none'} of the {len(right)} pairs that a judge chooses are right, which shows "
            "no probability: add sites, also some of which a part is translated"
        )
    model = LogisticRegression(C=1.0).fit(np.concatenate(x)[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def report(name: str, examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]], least: float) -> None:
    """Print by form, pooled: recall of gold, precision of the judged pairs, and the false ones with .9 or more.

    *scores* are log-odds.
    """
    for form in dict.fromkeys(one.form for one in examples):
        gold = right = judged = sure = 0
        for one, score in zip(examples, scores, strict=True):
            if one.form == form:
                scored = expit(score)
                chosen = one.chosen(scored, least)
                gold += one.gold
                right += int(one.parallel[chosen].sum())
                judged += int(one.judged[chosen].sum())
                sure += int((one.judged & ~one.parallel & (scored >= CERTAIN_SCORE))[chosen].sum())
        recall, precision = right / max(gold, 1), right / max(judged, 1)
        quality = f"recall {recall:.3f}, precision {precision:.3f}, {sure} false with {CERTAIN_SCORE} or more"
        print(f"{name}, {form}: {quality}, on kinds of sites not trained on")
