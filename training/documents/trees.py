"""Decision trees of scikit-learn, alone or boosted, as an ONNX graph with one output: the sum of the leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, checker, helper

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

INPUT, OUTPUT = "features", "scores"
LEAF, BRANCH = "LEAF", "BRANCH_LEQ"


@dataclass(slots=True)
class _Nodes:
    """Columns of ``TreeEnsembleRegressor``."""

    trees: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    higher: list[int] = field(default_factory=list)
    missing_lower: list[int] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    leaves: list[tuple[int, int, float]] = field(default_factory=list)

    def branch(self, tree: int, feature: int, threshold: float, lower: int, higher: int, missing: bool) -> None:
        """Add a node; values up to *threshold* go to node *lower*, missing ones too if *missing*."""
        self._add(tree, feature, threshold, lower, higher, missing, BRANCH)

    def leaf(self, tree: int, value: float) -> None:
        """Add a leaf worth *value*."""
        self.leaves.append((tree, self._add(tree, 0, 0.0, 0, 0, False, LEAF), value))

    def _add(self, tree: int, feature: int, threshold: float, lower: int, higher: int, missing: bool, mode: str) -> int:
        number = self.numbers[-1] + 1 if self.trees and self.trees[-1] == tree else 0
        self.trees.append(tree)
        self.numbers.append(number)
        self.features.append(feature)
        self.thresholds.append(threshold)
        self.lower.append(lower)
        self.higher.append(higher)
        self.missing_lower.append(int(missing))
        self.modes.append(mode)
        return number


def boosted_to_onnx(model: HistGradientBoostingClassifier) -> bytes:
    """A fitted two-class model; the output is its raw score, a logit. NaN is a missing value."""
    nodes = _Nodes()
    predictors: Iterable[Any] = model._predictors
    for tree, (predictor,) in enumerate(predictors):
        for node in predictor.nodes:
            if node["is_leaf"]:
                nodes.leaf(tree, float(node["value"]))
            else:
                threshold = float(np.float32(node["num_threshold"]))
                nodes.branch(
                    tree,
                    int(node["feature_idx"]),
                    threshold,
                    int(node["left"]),
                    int(node["right"]),
                    bool(node["missing_go_to_left"]),
                )
    return _graph(nodes, model.n_features_in_, float(np.ravel(model._baseline_prediction)[0]))


def tree_to_onnx(model: DecisionTreeClassifier) -> bytes:
    """A fitted two-class tree; the output is the probability of the second class."""
    nodes, tree = _Nodes(), model.tree_
    for number in range(tree.node_count):
        if tree.children_left[number] < 0:
            share = tree.value[number][0]
            nodes.leaf(0, float(share[1] / share.sum()))
        else:
            nodes.branch(
                0,
                int(tree.feature[number]),
                float(np.float32(tree.threshold[number])),
                int(tree.children_left[number]),
                int(tree.children_right[number]),
                bool(tree.missing_go_to_left[number]),
            )
    return _graph(nodes, model.n_features_in_, 0.0)


def _graph(nodes: _Nodes, features: int, base: float) -> bytes:
    trees, numbers, values = zip(*nodes.leaves, strict=True)
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        [INPUT],
        [OUTPUT],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        base_values=[base],
        nodes_treeids=nodes.trees,
        nodes_nodeids=nodes.numbers,
        nodes_featureids=nodes.features,
        nodes_values=nodes.thresholds,
        nodes_truenodeids=nodes.lower,
        nodes_falsenodeids=nodes.higher,
        nodes_missing_value_tracks_true=nodes.missing_lower,
        nodes_modes=nodes.modes,
        target_treeids=trees,
        target_nodeids=numbers,
        target_ids=[0] * len(values),
        target_weights=values,
    )
    graph = helper.make_graph(
        [ensemble],
        "trees",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())
