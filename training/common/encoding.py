"""Texts as token ids, and batches of texts of similar length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from bilingual_crawler.scoring.models import Tokens

CHUNK = 4096
POOL = 32


class Encoded:
    """Token ids of many texts in one array."""

    def __init__(self, tokens: Tokens, texts: Sequence[str]) -> None:
        parts = [tokens(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
        self.ids = np.concatenate([ids for ids, _ in parts]).astype(np.int32)
        self.lengths = np.concatenate([lengths for _, lengths in parts])
        self._ends = np.cumsum(self.lengths)

    def rows(self, indices: NDArray[np.int64]) -> list[NDArray[np.int32]]:
        """The ids of each text at `indices`."""
        return [self.ids[self._ends[i] - self.lengths[i] : self._ends[i]] for i in indices]

    def batch(self, indices: NDArray[np.int64]) -> Tensor:
        """Padded ids [B, L] of the texts at `indices`."""
        return padded(self.rows(indices))


def padded(rows: Sequence[NDArray[np.integer]]) -> Tensor:
    """Rows of different lengths as one matrix [B, L], L at least 1, filled up with 0."""
    result = np.zeros((len(rows), max((1, *map(len, rows)))), dtype=np.int64)
    for number, row in enumerate(rows):
        result[number, : len(row)] = row
    return torch.from_numpy(result)


def pools(order: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> Iterator[list[NDArray[np.int64]]]:
    """`order` in pools of 32 batches with examples of similar length; the last may be smaller."""
    for start in range(0, len(order), POOL * size):
        pool = order[start : start + POOL * size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        yield [pool[i : i + size] for i in range(0, len(pool), size)]
