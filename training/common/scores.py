"""Measures by which several models are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

BINS = 15


def macro_f1(logits: Tensor, labels: NDArray[np.int64], least: int = 30) -> float:
    """Macro-F1 over the classes with at least `least` examples, or the largest if there is none."""
    from sklearn.metrics import f1_score

    counts = np.bincount(labels)
    classes = np.flatnonzero(counts >= min(least, counts.max()))
    return float(f1_score(labels, logits.argmax(1).numpy(), labels=classes, average="macro", zero_division=0))


def average_precision(labels: NDArray[np.int64], scores: NDArray[np.floating]) -> float:
    """Area under the precision-recall steps; rows with the same score count as one step. 0 without positives."""
    if not labels.sum():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(labels[order])
    last_of_tie = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    precision = hits[last_of_tie] / (last_of_tie + 1)
    recall = hits[last_of_tie] / hits[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def calibration_error(
    probabilities: NDArray[np.floating],
    labels: NDArray[np.number],
    weights: NDArray[np.floating] | None = None,
    bins: int = BINS,
) -> float:
    """Expected calibration error in 0..1: weighted mean gap of probability and frequency, in equal *bins*.

    `probabilities` [N] are those of the label 1. Of `probabilities` [N, classes] the highest of each row counts;
    `labels` are then columns, and any other number is a class that the model does not know.
    """
    if probabilities.ndim == 2:
        labels = (probabilities.argmax(axis=1) == labels).astype(np.int64)
        probabilities = probabilities.max(axis=1)
    weights = np.ones(len(labels)) if weights is None else weights
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = np.bincount(places, weights * (probabilities - labels), minlength=bins)
    return float(np.abs(gaps).sum() / weights.sum())
