"""Exported trees give what scikit-learn gives."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra train")

import onnxruntime as ort
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from training.documents.trees import boosted_to_onnx, tree_to_onnx


def run(graph: bytes, rows: np.ndarray) -> np.ndarray:
    (scores,) = ort.InferenceSession(graph).run(None, {"features": rows})
    return np.asarray(scores)[:, 0]


def test_boosted_trees_with_missing_values() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(600, 5)).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0.3).astype(int)
    rows[random.random(rows.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20).fit(rows, labels)
    assert run(boosted_to_onnx(model), rows) == pytest.approx(model.decision_function(rows), abs=1e-4)


def test_a_single_tree() -> None:
    rows = np.random.default_rng(2).normal(size=(300, 3)).astype(np.float32)
    model = DecisionTreeClassifier(max_depth=4).fit(rows, rows[:, 0] > rows[:, 1])
    assert run(tree_to_onnx(model), rows) == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-5)
