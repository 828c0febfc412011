"""The weights of the detectors: what ``python -m training.discovery`` has learnt."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from bilingual_crawler.discovery.detector import links, pairs
from bilingual_crawler.scoring.logistic import logistic
from bilingual_crawler.scoring.models import ModelError, read_model_file

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

Kind = TypeVar("Kind")

FOLDER = "discovery"
"""Folder of the weights under the models folder."""
EVIDENCE = "evidence.json"


class Logistic(msgspec.Struct, frozen=True, dict=True):
    """A logistic regression over named features."""

    intercept: float
    weights: dict[str, float]

    def probability(self, features: NDArray[np.float64]) -> float:
        """Probability by the values of the features, in the order of the weights."""
        return logistic(self.intercept + float(features @ self._vector))

    @cached_property
    def _vector(self) -> NDArray[np.float64]:
        return np.array(list(self.weights.values()))


class EvidenceWeights(msgspec.Struct, frozen=True):
    """What the evidence detector has learnt (``evidence.json``)."""

    language: Logistic
    """That a link leads to a page in a language that is sought."""
    translation: Logistic
    """That it leads to the translation of its page."""
    parallel: Logistic
    """That two pages are translations."""

    @classmethod
    def load(cls, models: Traversable) -> EvidenceWeights:
        """Read the weights; ModelError names the file that is missing or unreadable."""
        weights = read_weights(models, EVIDENCE, cls)
        for learnt, features in (
            (weights.language, links.FEATURES),
            (weights.translation, links.FEATURES),
            (weights.parallel, pairs.FEATURES),
        ):
            if tuple(learnt.weights) != tuple(features):
                raise ModelError(
                    f"{models / FOLDER / EVIDENCE}: the features are others than this version computes: "
                    "train it again with python -m training.discovery"
                )
        return weights


def read_weights(models: Traversable, name: str, kind: type[Kind]) -> Kind:
    """The file *name* of the folder of the detectors; ModelError if it is missing or not of this *kind*."""
    path = models / FOLDER / name
    try:
        return msgspec.json.decode(read_model_file(path), type=kind)
    except msgspec.DecodeError as error:
        raise ModelError(f"{path}: not the weights of a detector: {error}") from error
