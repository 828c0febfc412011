"""The twelve layers of e5-small as an ONNX graph."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.quantization import QuantType, quantize_dynamic

from bilingual_crawler.storage.files import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, ValueInfoProto

    from bilingual_crawler.encoders.e5_weights import E5Weights


def write_layers(weights: E5Weights, file: Path) -> None:
    """Write the graph from ``hidden`` (batch, tokens, width) and ``mask`` (batch, tokens; 1 or 0) to the last states.

    *file* is complete or not there. This takes some seconds and 700 MB.
    """
    with tempfile.TemporaryDirectory(dir=file.parent) as folder, replacing(file) as small:
        plain = Path(folder, "plain.onnx")
        save(_Builder(weights).model(), plain)
        quantize_dynamic(plain, small, op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8, per_channel=True)


class _Builder:
    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, NDArray[np.generic]] = {}

    def model(self) -> ModelProto:
        """The whole graph."""
        width, heads = self._weights.width, self._weights.heads
        sizes = {"split": [0, 0, heads, -1], "join": [0, 0, width], "mask_axes": [1, 2]}
        numbers = {"one": 1, "minus": 1e4, "scale": (width // heads) ** -0.5}
        self._constants |= {name: np.array(values, dtype=np.int64) for name, values in sizes.items()}
        self._add("Mul", self._add("Sub", self._add("Unsqueeze", "mask", "mask_axes"), "one"), "minus", out="negated")
        self._constants |= {name: np.array(value, dtype=np.float32) for name, value in numbers.items()}
        hidden = "hidden"
        for number in range(self._weights.layers):
            hidden = self._layer(f"l{number}", hidden)
        self._add("Identity", hidden, out="output")
        shape: list[str | int | None] = ["batch", "tokens", width]

        def of_floats(name: str, shape: list[str | int | None]) -> ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        graph = helper.make_graph(
            self._nodes,
            "e5",
            [of_floats("hidden", shape), of_floats("mask", shape[:2])],
            [of_floats("output", shape)],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in self._constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        # or the quantiser logs advice that does not apply to a graph without shapes to infer
        helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
        return model

    def _layer(self, name: str, hidden: str) -> str:
        q, k, v = (self._add("Reshape", self._dense(f"{name}.{part}", hidden), "split") for part in ("q", "k", "v"))
        query = self._add("Mul", self._add("Transpose", q, perm=[0, 2, 1, 3]), "scale")
        scores = self._add("MatMul", query, self._add("Transpose", k, perm=[0, 2, 3, 1]))
        weights = self._add("Softmax", self._add("Add", scores, "negated"), axis=-1)
        mixed = self._add("MatMul", weights, self._add("Transpose", v, perm=[0, 2, 1, 3]))
        joined = self._add("Reshape", self._add("Transpose", mixed, perm=[0, 2, 1, 3]), "join")
        hidden = self._norm(f"{name}.aln", self._add("Add", hidden, self._dense(f"{name}.ao", joined)))
        inner = self._add("Gelu", self._dense(f"{name}.fi", hidden))
        return self._norm(f"{name}.oln", self._add("Add", hidden, self._dense(f"{name}.fo", inner)))

    def _dense(self, name: str, hidden: str) -> str:
        bias = self._weights.tensor(f"{name}.b")
        matrix = self._weights.tensor(f"{name}.w").reshape(len(bias), -1).T
        self._constants[f"{name}.w"], self._constants[f"{name}.b"] = np.ascontiguousarray(matrix), bias
        return self._add("Add", self._add("MatMul", hidden, f"{name}.w"), f"{name}.b")

    def _norm(self, name: str, hidden: str) -> str:
        for part in "wb":
            self._constants[f"{name}.{part}"] = self._weights.tensor(f"{name}.{part}")
        return self._add(
            "LayerNormalization", hidden, f"{name}.w", f"{name}.b", axis=-1, epsilon=float(self._weights.epsilon)
        )

    def _add(self, kind: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        out = out or f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out
