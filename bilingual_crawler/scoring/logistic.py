"""Log-odds as probabilities."""

from __future__ import annotations

from math import exp


def logistic(odds: float) -> float:
    """The probability of *odds* (natural logarithm), which count from -30 to 30."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))
