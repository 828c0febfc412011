"""`WordNet` as an ONNX graph: hashing in integers, tables in int8, everything else in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from bilingual_crawler.scoring.tokens import FIRST_BYTE
from training.language import network as nw

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

OPSET, IR_VERSION = 17, 8


class Builder:
    """Collects nodes and constants; every method returns the name of a tensor."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def const(self, value: NDArray[Any] | int | float | list[int]) -> str:
        """A constant; Python integers become int64, floats float32, equal small ones are shared."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        shared = f"c_{array.dtype}_{array.shape}_{array.tolist()}" if array.size < 8 else ""
        name = shared or f"w{len(self.constants)}"
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """A node with one output; inputs that are not names become constants."""
        names = [value if isinstance(value, str) else self.const(value) for value in inputs]
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [output], **attributes))
        return output

    def cast(self, x: str, to: int) -> str:
        return self.op("Cast", x, to=to)

    def linear(self, layer: nn.Linear, x: str) -> str:
        """Of a matrix; one node, which adds the bias as it goes."""
        return self.op("Gemm", x, _array(layer.weight), _array(layer.bias), transB=1)

    def layer_norm(self, layer: nn.LayerNorm, x: str) -> str:
        return self.op("LayerNormalization", x, _array(layer.weight), _array(layer.bias), epsilon=layer.eps, axis=-1)

    def build(self, output: str, inputs: list[str], columns: int) -> onnx.ModelProto:
        """The checked model: int64 inputs [batch, length] to float32 logits [batch, columns]."""
        self.nodes.append(helper.make_node("Identity", [output], ["logits"]))
        graph = helper.make_graph(
            self.nodes,
            "urls",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in inputs],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", columns])],
            list(self.constants.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model


def round_tables(net: nw.WordNet) -> None:
    """Round the tables in place to what int8 with one scale per column can hold."""
    for table in (net.grams, net.names):
        with torch.no_grad():
            scale = _scale(table.weight)
            table.weight.copy_((table.weight / scale).round().clamp(-127, 127) * scale)


def _scale(weight: torch.Tensor) -> torch.Tensor:
    return weight.abs().amax(0).clamp(min=1e-6) / 127


def _int8(weight: torch.Tensor) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scale = _scale(weight.detach())
    return (weight.detach() / scale).round().to(torch.int8).numpy(), scale.numpy()


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().numpy()
    return array


def language_graph(net: nw.WordNet) -> onnx.ModelProto:
    """Graph of a `WordNet` whose tables were rounded."""
    build = Builder()
    pooled = encode(build, net, "input_ids")
    return build.build(build.linear(net.head, pooled), ["input_ids"], net.config.labels)


def encode(g: Builder, net: nw.WordNet, ids: str) -> str:
    """Nodes from token ids [B, L] to the pooled vector [B, 2·width]; mirrors `network.WordNet`."""
    config = net.config
    length = g.op("Slice", g.op("Shape", ids), [1], [2])

    def shifted(x: str, by: int) -> str:
        if not by:
            return x
        padded = g.op("Pad", x, [0, 0, 0, by])
        return g.op("Slice", padded, [by], g.op("Add", length, [by]), [1])

    symbol = g.op("Gather", net.symbols.numpy(), ids)
    kind = g.op("Gather", net.classes.numpy(), ids)
    before = g.op("Slice", g.op("Pad", kind, [0, 1, 0, 0]), [0], length, [1])
    real = g.op("Not", g.op("Equal", kind, 0))
    changed = g.op("Not", g.op("Equal", kind, before))
    joined = g.op("Not", g.op("Equal", before, nw.PUNCTUATION))
    start = g.cast(g.op("And", g.op("And", changed, joined), real), TensorProto.INT64)
    number = g.op("Min", g.op("CumSum", start, 1), config.max_words)
    owner = g.op("Where", real, number, 0)

    grams, hashed, names = [], symbol, symbol
    for order in range(2, max(config.orders) + 1):
        hashed = g.op("Add", g.op("Mul", hashed, nw.FACTOR), shifted(symbol, order - 1))
        hashed = g.op("Mod", hashed, nw.PRIME)
        if order == 3:
            names = hashed
        if order in config.orders:
            inside = g.op("And", g.op("Equal", shifted(owner, order - 2), owner), real)
            row = g.op("Add", g.op("Mod", hashed, config.rows - 1), 1)
            grams.append(g.op("Where", inside, row, 0))
    rows = g.op("Concat", *grams, axis=1)

    words = g.op("Max", g.op("Unsqueeze", g.op("ReduceMax", owner, keepdims=0), [0]), [1])
    numbers = g.op("Range", 1, g.op("Add", g.op("Squeeze", words), 1), 1)
    column = g.op("Unsqueeze", numbers, [0, 2])
    belongs = g.op("Equal", g.op("Unsqueeze", owner, [1]), column)
    belongs8 = g.cast(belongs, TensorProto.UINT8)
    here = g.op("LessOrEqual", g.op("Unsqueeze", numbers, [0]), g.op("ReduceMax", owner, axes=[1]))

    first = g.op("ArgMax", g.cast(belongs, TensorProto.INT32), axis=2, keepdims=0)
    depth = _seen(g, ids, "/", 2)
    queries = _seen(g, ids, "?", 1)
    component = g.op("Max", g.op("Add", depth, 1), g.op("Mul", queries, 4))
    component = g.op("Where", here, g.op("GatherElements", component, first, axis=1), 0)
    following = g.op("Slice", g.op("Pad", component, [0, 0, 0, 1]), [1], g.op("Add", words, [1]), [1])
    in_host = g.op("Equal", component, 1)
    last = g.op("And", in_host, g.op("Not", g.op("Equal", following, 1)))
    component = g.op("Where", last, 0, component)

    mixed = g.op("Mod", g.op("Mul", names, names), nw.PRIME)
    name = g.op("MatMul", g.cast(belongs, TensorProto.INT64), g.op("Unsqueeze", mixed, [2]))
    name = g.op("Mod", g.op("Squeeze", name, [2]), nw.PRIME)
    name = g.op("Mod", g.op("Add", g.op("Mul", name, nw.FACTOR), component), nw.PRIME)
    name = g.op("Where", here, g.op("Add", g.op("Mod", name, config.word_rows - 1), 1), 0)

    table, scale = _int8(net.grams.weight)
    ones = np.ones((len(table), 1), dtype=np.int8)
    ones[0] = 0
    vectors = g.op("Gather", np.concatenate([table, ones], axis=1), rows)
    tiled = g.op("Concat", *[belongs8] * len(config.orders), axis=2)
    sums = g.cast(g.op("MatMulInteger", tiled, vectors), TensorProto.FLOAT)
    sizes = g.op("Slice", sums, [config.columns], [config.columns + 1], [2])
    summed = g.op("Mul", g.op("Slice", sums, [0], [config.columns], [2]), scale)
    summed = g.op("Div", summed, g.op("Sqrt", g.op("Max", sizes, 1.0)))
    table, scale = _int8(net.names.weight)
    named = g.op("Mul", g.cast(g.op("Gather", table, name), TensorProto.FLOAT), scale)
    both = g.op("Reshape", g.op("Concat", summed, named, axis=2), [-1, 2 * config.columns])
    x = g.op("Reshape", g.linear(net.lift, both), g.op("Concat", g.op("Shape", name), [config.width], axis=0))
    x = g.op("Add", x, g.op("Gather", _array(net.components.weight), component))
    x = g.op("Add", x, g.op("Slice", _array(net.positions.weight), [0], words, [0]))

    mask = g.op("Unsqueeze", g.cast(here, TensorProto.FLOAT), [2])
    for layer in net.layers:
        x = _neighbours(g, layer, x, mask, words)  # type: ignore[arg-type]
    return _pool(g, net, x, mask, here)


def _seen(g: Builder, ids: str, char: str, most: int) -> str:
    found = g.cast(g.op("Equal", ids, FIRST_BYTE + ord(char)), TensorProto.INT64)
    return g.op("Min", g.op("CumSum", found, 1), most)


def _neighbours(g: Builder, layer: nw.Neighbours, x: str, mask: str, words: str) -> str:
    y = g.op("Mul", g.layer_norm(layer.norm, x), mask)
    padded = g.op("Pad", y, [0, 1, 0, 0, 1, 0])
    before = g.op("Slice", padded, [0], words, [1])
    after = g.op("Slice", padded, [2], g.op("Add", words, [2]), [1])
    around = g.op("Concat", before, y, after, axis=2)
    mixed = g.op("Relu", g.linear(layer.mix, g.op("Reshape", around, [-1, layer.mix.in_features])))
    return g.op("Add", x, g.op("Reshape", mixed, g.op("Shape", x)))


def _pool(g: Builder, net: nw.WordNet, x: str, mask: str, here: str) -> str:
    """The joined means of the words [B, 2·width]."""
    config = net.config
    x = g.layer_norm(net.norm, x)
    scores = g.linear(net.score, g.op("Reshape", x, [-1, config.width]))
    scores = g.op("Reshape", scores, g.op("Concat", g.op("Shape", here), [config.heads], axis=0))
    scores = g.op("Where", g.op("Unsqueeze", here, [2]), scores, -1e4)
    scores = g.op("Softmax", g.op("Transpose", scores, perm=[0, 2, 1]), axis=2)
    mask = g.op("Transpose", mask, perm=[0, 2, 1])
    mean = g.op("Div", mask, g.op("Max", g.op("ReduceSum", mask, [2]), 1.0))
    weights = g.op("Concat", g.op("Mul", scores, mask), mean, axis=1)
    parts = g.op("Reshape", g.op("MatMul", weights, x), [-1, (config.heads + 1) * config.width])
    return g.op("Relu", g.linear(net.join, parts))
