"""Similarity of sentences in two languages by a sentence encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.bitext.windows import sums

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


class Nearness:
    """Compares consecutive sentences of two documents by the sum of their vectors.

    *a*, *b*: a row of length 1 for each sentence; *spread*: standard deviation of the similarity of any two sentences.
    """

    def __init__(self, a: NDArray[np.float32], b: NDArray[np.float32], spread: float) -> None:
        self._a, self._b = a, b
        self._spread = spread

    def of(self, p: int, q: int) -> NDArray[np.float32]:
        """Similarity of *p* sentences of the first document and *q* of the second, in standard deviations.

        A row for each place where the former begin, a column for each of the latter.
        """
        return np.asarray(_unit(sums(self._a, p)) @ _unit(sums(self._b, q)).T / self._spread)


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
        sample_a, sample_b = self._centred(vectors)
        by_chance = sample_a @ sample_b.T
        # some of these pairs are translations; the median absolute deviation is robust against them
        self._spread = max(LEAST_SPREAD, 1.4826 * float(np.median(np.abs(by_chance))))

    def nearness(self, a: Sequence[str], b: Sequence[str]) -> Nearness | None:
        """The comparison of the sentences of two documents; None if the site has too few sentences."""
        if not self._common:
            return None
        vectors_a, vectors_b = self._centred([self._encoder.encode(side, TOKENS) for side in (a, b)])
        return Nearness(vectors_a, vectors_b, self._spread)

    def _centred(self, sides: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        return [_unit(side - common) for side, common in zip(sides, self._common, strict=True)]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


def _sample(sentences: Sequence[str]) -> Sequence[str]:
    """An evenly spaced sample, so that the same documents give the same sample."""
    return sentences[:: -(-len(sentences) // SAMPLE)]
