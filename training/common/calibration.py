"""Calibration of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Calibration(NamedTuple):
    """What makes the logits of a pair model probabilities.

    Of any two documents `(logit + shift) / temperature`; of a page and one of its links the same once more, with the
    values of links.
    """

    temperature: float
    shift: float
    link_temperature: float
    link_shift: float


def fit_temperature(logits: Tensor, labels: NDArray[np.int64]) -> float:
    """The temperature, 1/20 to 20, with the least cross-entropy of `logits / temperature` [N, classes]."""
    target = torch.from_numpy(labels)
    log_t = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([log_t], max_iter=50)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(logits / log_t.clamp(-3, 3).exp(), target)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return float(log_t.detach().clamp(-3, 3).exp())


def fit_calibration(
    logits: NDArray[np.float32], labels: NDArray[np.float32], weights: NDArray[np.float32]
) -> tuple[float, float]:
    """Temperature and shift with the least weighted cross-entropy of `(logits + shift) / temperature` [N]."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6).fit(logits[:, None], labels, sample_weight=weights)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    return (1 / slope, intercept / slope) if slope > 0.1 else (1.0, 0.0)
