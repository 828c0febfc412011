"""Vectors of texts, computed once and kept on disk."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import lmdb
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

BATCH = 512
_MAP_SIZE = 1 << 36


class Encoder(Protocol):
    """Turns texts of any language into vectors of one space."""

    name: str

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row of length 1 for each text, of which *max_tokens* are read."""


class HubEncoder:
    """A model of ``sentence-transformers``, such as ``sentence-transformers/LaBSE``, from the hub or a folder."""

    def __init__(self, name: str) -> None:
        # only where somebody has installed it
        from sentence_transformers import SentenceTransformer

        self.name = name
        self._model = SentenceTransformer(name)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row of length 1 for each text, of which *max_tokens* are read."""
        self._model.max_seq_length = max_tokens
        return np.asarray(self._model.encode(list(texts), normalize_embeddings=True), dtype=np.float32)


class CachedEncoder:
    """An encoder that remembers, in the folder *cache*, every text that it has seen (half precision)."""

    def __init__(self, encoder: Encoder, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self.name = encoder.name
        self._encoder = encoder
        self._store = lmdb.open(str(cache), map_size=_MAP_SIZE, sync=False)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row of length 1 for each text, of which *max_tokens* are read."""
        keys = [self._key(text, max_tokens) for text in texts]
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
        rows = [np.frombuffer(known[key], dtype=np.float16) for key in keys]
        return np.array(rows, dtype=np.float32)

    def _key(self, text: str, max_tokens: int) -> bytes:
        return blake2b(f"{self.name} {max_tokens} {text}".encode("utf-8", "replace"), digest_size=16).digest()
