"""A sentence encoder: hashed character trigrams, for languages that share many words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

WIDTH = 512
CHARACTERS = 4
"""Of a token, roughly."""


class Trigrams:
    """No model, and nothing to install."""

    name = "trigrams"

    def __init__(self, folder: Path) -> None:
        """It keeps no files in *folder*."""

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            padded = f"  {text.casefold()[: CHARACTERS * max_tokens]} "
            for start in range(len(padded) - 2):
                vector[crc32(padded[start : start + 3].encode(errors="replace")) % WIDTH] += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
