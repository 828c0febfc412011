"""Similarity of sentences in two languages by a sentence encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.embeddings import Encoder

TOKENS = 64
"""Tokens of a sentence that are read."""
SAMPLE = 1_000
"""Sentences of each side from which the common part of a site's vectors is estimated."""
FEWEST = 20
"""Fewest sentences of each side for this estimate."""
LEAST_SPREAD = 0.05


class Meaning:
    """Compares sentences after subtracting the common part of their site and language."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._common: list[NDArray[np.float32]] = []

    def learn(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Estimate the common part from *a* and *b*, sentences of both sides of the whole site."""
        self._common = []
        if min(len(a), len(b)) < FEWEST:
            return
        vectors = [self._encoder.encode(_sample(side), TOKENS) for side in (a, b)]
        self._common = [side.mean(axis=0) for side in vectors]
        by_chance = self._cosines(*vectors)
        # some of these pairs are translations; the median absolute deviation is robust against them
        self._spread = max(LEAST_SPREAD, 1.4826 * float(np.median(np.abs(by_chance))))

    def nearness(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float64] | None:
        """A row for each sentence of *a*: its similarity to each of *b*, in standard deviations of any two sentences.

        None if the site has too few sentences.
        """
        if not self._common:
            return None
        return self._cosines(*(self._encoder.encode(side, TOKENS) for side in (a, b))) / self._spread

    def _cosines(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
        centred = [side - common for side, common in zip((a, b), self._common, strict=True)]
        a, b = (side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-9) for side in centred)
        return np.asarray(a @ b.T, dtype=np.float64)


def _sample(sentences: Sequence[str]) -> Sequence[str]:
    """An evenly spaced sample, so that the same documents give the same sample."""
    return sentences[:: -(-len(sentences) // SAMPLE)]
