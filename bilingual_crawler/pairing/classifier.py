"""The trained judges of candidate pairs: features to a calibrated probability."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from bilingual_crawler.sandbox import processes
from bilingual_crawler.scoring.models import ModelError, read_model_file

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

FOLDER = "document-pairs"
"""Folder of the judges under the models folder: ``config.json`` and a graph for each view."""


@dataclass(frozen=True, slots=True)
class View:
    """What one judge looks at, and how its raw score becomes a probability."""

    features: tuple[str, ...]
    slope: float
    """Platt scaling: probability = 1 / (1 + exp(-(slope * score + shift)))."""
    shift: float
    threshold: float
    """Probability from which a candidate may become a pair."""


class PairClassifier:
    """Judges candidates by one view of the evidence, such as ``structure`` or ``auto``."""

    def __init__(self, models: Traversable, view: str) -> None:
        """Load a view; ModelError names the file that is missing or unreadable."""
        path = models / FOLDER / "config.json"
        content = read_model_file(path)
        try:
            config = json.loads(content)["views"][view]
            self.view = View(**config | {"features": tuple(config["features"])})
        except (ValueError, TypeError, KeyError) as error:
            raise ModelError(f"{path}: not a configuration with the view {view}: {error}") from error
        options = ort.SessionOptions()
        options.intra_op_num_threads = processes()
        self._session = ort.InferenceSession(read_model_file(models / FOLDER / f"{view}.onnx"), options)

    def probabilities(self, columns: dict[str, NDArray[np.float32]]) -> NDArray[np.float64]:
        """Probability for each row of *columns* that the two documents are parallel."""
        rows = np.column_stack([columns[name] for name in self.view.features]).astype(np.float32)
        if not len(rows):
            return np.zeros(0)
        (scores,) = self._session.run(None, {self._session.get_inputs()[0].name: rows})
        logits = self.view.slope * scores[:, 0].astype(np.float64) + self.view.shift
        result: NDArray[np.float64] = 1 / (1 + np.exp(-logits.clip(-50, 50)))
        return result
