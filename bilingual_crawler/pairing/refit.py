"""A method of alignment refitted to sites by labelled pairs: a logistic regression corrects its log-odds."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bilingual_crawler.pairing.arrays import Floats
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.methods import Candidates, Method
from bilingual_crawler.scoring.linear import expit, logit

MAX_ODDS = 8.0
"""Bound of the log-odds of a method, which they approach smoothly: labels can refute what claims to be certain."""
EVIDENCE = ("hreflang", "switcher", "url", "linked")
"""Evidence whose reliability is refitted; the intercept is that of the content."""
SPREADS = np.array([1.5, 0.5, *[1.5] * len(EVIDENCE)])
"""Standard deviations of the prior: of the intercept, of the change of the slope, and of each kind of evidence."""
STEPS = 30  # Newton steps, which end early at a solution


class RefittedMethod:
    """A method whose scores and threshold the labels have corrected."""

    def __init__(self, method: Method, labelled: Iterable[Domain], threshold: float | None = None) -> None:
        """*labelled*: all domains with labels; *threshold*: in place of the one with the best expected F1."""
        self._method = method
        domains = [(domain, method(domain)) for domain in labelled]
        self._scored = {(domain.group, domain.pair): candidates for domain, candidates in domains}
        rows, labels = [np.zeros((0, len(SPREADS)))], [np.zeros(0)]
        for domain, candidates in domains:
            places = zip(candidates.a.tolist(), candidates.b.tolist(), strict=True)
            known = list(map(domain.labelled.get, places))
            found = [k for k, label in enumerate(known) if label is not None and candidates.scores[k] > 0]
            rows.append(_features(candidates)[found])
            labels.append(np.array([known[k] for k in found], dtype=float))
        self.learnt = sum(map(len, labels))
        """Labelled pairs that are candidates of the method."""
        self._weights = fit_correction(np.concatenate(rows), np.concatenate(labels))
        self.threshold = best_threshold(self._matched(domains)) if threshold is None else threshold

    def __call__(self, domain: Domain) -> Candidates:
        """Score the candidates of *domain*."""
        candidates = self._scored.get((domain.group, domain.pair)) or self._method(domain)
        return replace(candidates, scores=self._scores(candidates), threshold=self.threshold)

    def _matched(self, domains: Iterable[tuple[Domain, Candidates]]) -> Floats:
        """The scores of all pairs that a matching without a threshold would choose."""
        found = [np.zeros(0)]
        for domain, candidates in domains:
            scores = self._scores(candidates)
            found.append(scores[greedy(domain.alike_a[candidates.a], domain.alike_b[candidates.b], scores)])
        return np.concatenate(found)

    def _scores(self, candidates: Candidates) -> Floats:
        rows = _features(candidates)
        # what a method refuses stays refused
        return np.where(candidates.scores > 0, expit(rows[:, 1] + rows @ self._weights), 0.0)


def _features(candidates: Candidates) -> Floats:
    """The features of each candidate, ``(candidates, 2 + evidence)``: 1, its log-odds, its strongest evidence."""
    odds = MAX_ODDS * np.tanh(logit(candidates.scores) / MAX_ODDS)
    names = np.array(candidates.names, dtype=object)
    return np.column_stack((np.ones(len(odds)), odds, *(names == name for name in EVIDENCE))).astype(np.float64)


def fit_correction(rows: Floats, labels: Floats) -> Floats:
    """Weights that correct the log-odds in column 1 of *rows*, ``(labels, features)``: the mode of their posterior."""
    weights = np.zeros(rows.shape[1])
    held = SPREADS**-2.0
    for _ in range(STEPS):
        found = expit(rows[:, 1] + rows @ weights)
        gradient = rows.T @ (found - labels) + held * weights
        curvature = (rows.T * (found * (1 - found))) @ rows + np.diag(held)
        step = np.linalg.solve(curvature, gradient)
        # far from the solution a whole step may overshoot
        weights -= step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-6:
            break
    return weights


def best_threshold(probabilities: Floats) -> float:
    """The threshold with the best expected F1 given *probabilities*: half of it (Lipton et al. 2014); else 0.5."""
    ordered = -np.sort(-probabilities)
    if not ordered.sum():
        return 0.5
    f1 = 2 * ordered.cumsum() / (np.arange(1, len(ordered) + 1) + ordered.sum())
    return float(f1.max() / 2)
