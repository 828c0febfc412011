"""Linear models over named features: regressions that ``training`` and the benchmarks have fitted."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from bilingual_crawler.scoring.models import ModelError, read_model_file

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    Value = TypeVar("Value", float, NDArray[np.float64])

Weights = TypeVar("Weights")


def logistic(odds: float) -> float:
    """The probability of *odds*, log-odds (base e) clipped to -30..30."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def expit(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities of *odds*, log-odds (base e); ``scipy.special`` has the same and takes .4 s to import."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-odds)))


def logit(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds (base e) of *probabilities*; infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities / (1 - probabilities)))


class LinearModel(msgspec.Struct, frozen=True):
    """An intercept, and a weight for each feature.

    >>> LinearModel(-1.0, {"length": 0.5}).predict({"length": 4.0})
    1.0
    """

    intercept: float
    weights: dict[str, float]

    def predict(self, features: Mapping[str, Value]) -> Value:
        """Intercept + Σ weight · value: the log-odds of a logistic regression.

        Values are numbers, or arrays of one shape. An absent feature counts as 0; KeyError for one without a weight.
        """
        total: Any = self.intercept
        for name, value in features.items():
            total += self.weights[name] * value
        return total  # type: ignore[no-any-return]

    def probability(self, features: Mapping[str, float]) -> float:
        """The probability that a logistic regression gives to *features*, values as for :meth:`predict`."""
        return logistic(self.predict(features))

    def check(self, features: Collection[str], file: Traversable) -> None:
        """Raise ModelError, which names *file*, unless there is a weight for each of *features* and no other."""
        if self.weights.keys() != set(features):
            raise ModelError(f"{file}: the features are others than this version computes: train it again")


def read_weights(file: Traversable, kind: type[Weights]) -> Weights:
    """The weights in *file*, JSON of a msgspec struct; ModelError if it is missing or not of this *kind*."""
    try:
        return msgspec.json.decode(read_model_file(file), type=kind)
    except msgspec.DecodeError as error:
        raise ModelError(f"{file}: not the weights of this version: {error}") from error
