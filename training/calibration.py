"""Are probabilities what they say? One temperature makes them so, the calibration error tells how far they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 15


def fit_temperature(logits: Tensor, labels: NDArray[np.int64]) -> float:
    """The temperature with the least cross-entropy."""
    target = torch.from_numpy(labels)
    log_t = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([log_t], max_iter=50)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(logits / log_t.exp(), target)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return float(log_t.detach().exp())


def calibration_error(probabilities: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Expected calibration error in 0..1: mean distance of confidence and accuracy over 15 equal bins of confidence.

    `labels` are columns; any other number is a label that the model does not know.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence - right, BINS)
    return float(np.abs(gaps).sum() / len(labels))
