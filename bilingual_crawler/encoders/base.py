"""Sentence encoders by name, with vectors kept on disk."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import lmdb
import numpy as np
from numpy.typing import NDArray

from bilingual_crawler import to_install
from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.plugins import ENCODERS, PluginError

BATCH = 512
_MAP_SIZE = 1 << 36


class Encoder(Protocol):
    """Turns texts of any language into vectors of one space.

    It is made with a folder for its files and vectors: an encoder whose vectors change takes another name.
    """

    name: str

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """Return ``(texts, width)``, rows of length 1; of each text *max_tokens* are read."""


class HubEncoder:
    """A model of ``sentence-transformers``, such as ``sentence-transformers/LaBSE``, from the hub or a folder."""

    def __init__(self, name: str) -> None:
        # only where somebody has installed it
        from sentence_transformers import SentenceTransformer

        self.name = name
        self._model = SentenceTransformer(name)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        self._model.max_seq_length = max_tokens
        return np.asarray(self._model.encode(list(texts), normalize_embeddings=True), dtype=np.float32)


class CachedEncoder:
    """An encoder that keeps the vectors of all texts in the folder *cache*, in half precision."""

    def __init__(self, encoder: Encoder, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self.name = encoder.name
        self._encoder = encoder
        self._store = lmdb.open(str(cache), map_size=_MAP_SIZE, sync=False)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        named = (f"{self.name} {max_tokens} {text}".encode("utf-8", "replace") for text in texts)
        keys = [blake2b(text, digest_size=16).digest() for text in named]
        with self._store.begin() as transaction:
            known = {key: value for key in set(keys) if (value := transaction.get(key)) is not None}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        missing = list(new)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            vectors = self._encoder.encode([new[key] for key in batch], max_tokens).astype(np.float16)
            with self._store.begin(write=True) as transaction:
                for key, vector in zip(batch, vectors, strict=True):
                    known[key] = vector.tobytes()
                    transaction.put(key, known[key])
        return np.array([np.frombuffer(known[key], dtype=np.float16) for key in keys], dtype=np.float32)


def is_installed(name: str) -> bool:
    """Tell whether the packages of the encoder *name* are installed."""
    if "/" in name:
        return find_spec("sentence_transformers") is not None
    return bool(name) and not ENCODERS.missing(name)


def install_command(name: str) -> str:
    """The command that installs the packages of the encoder *name*."""
    return "pip install sentence-transformers" if "/" in name else to_install("align")


@cache
def load_encoder(name: str, folder: Path) -> Encoder:
    """The encoder *name*, or model of sentence-transformers (with a slash), its vectors in *folder*; EncoderError."""
    if not is_installed(name):
        raise EncoderError(f"the sentence encoder {name!r} is not installed: {install_command(name)}")
    own = folder / name.replace("/", "--")
    try:
        return CachedEncoder(HubEncoder(name) if "/" in name else ENCODERS.find(name)(own), own)
    except PluginError as error:
        raise EncoderError(f"sentence encoder {name}: {error}") from error
