"""Classifiers that learn from the links that a crawl has followed."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.scoring.logistic import logistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class OnlineLogistic:
    """Logistic regression on hashed features, learnt one example at a time by AdaGrad (Duchi 2011).

    All memory is taken at the start: two arrays of *size* floats. *size* is a power of two.
    """

    def __init__(self, size: int = 1 << 18, rate: float = 0.2, bias: float = 0.0) -> None:
        self._mask = size - 1
        self._rate = rate
        self._bias = bias
        self._weights = np.zeros(size)
        self._squares = np.full(size, 1e-2)

    def features(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The places of the features *names*; the same in every process."""
        return np.unique([zlib.crc32(name.encode("utf-8", "surrogatepass")) & self._mask for name in names])

    def probability(self, features: NDArray[np.int64]) -> float:
        return logistic(self._bias + float(self._weights[features].sum()))

    def assume(self, name: str, odds: float) -> None:
        """The feature *name* adds *odds* (natural logarithm) before anything is learnt."""
        self._weights[self.features([name])] += odds

    def learn(self, features: NDArray[np.int64], outcome: float) -> None:
        """An example had *outcome*, 0 to 1."""
        gradient = self.probability(features) - outcome
        self._squares[features] += gradient * gradient
        self._weights[features] -= self._rate * gradient / np.sqrt(self._squares[features])


class NaiveBayes:
    """Multinomial Naive Bayes over bags of words with Laplace smoothing (McCallum & Nigam 1998)."""

    def __init__(self, examples: Iterable[tuple[Sequence[str], bool]]) -> None:
        self._words = {True: Counter[str](), False: Counter[str]()}
        self._examples = {True: 0, False: 0}
        for words, relevant in examples:
            self._words[relevant].update(words)
            self._examples[relevant] += 1
        vocabulary = len(self._words[True] | self._words[False])
        self._smoothed = {label: self._words[label].total() + vocabulary for label in (True, False)}

    @property
    def trained(self) -> bool:
        """Whether it has seen relevant and other examples."""
        return all(self._examples.values())

    def probability(self, words: Iterable[str]) -> float:
        """Probability that an example with these *words* is relevant."""
        odds = math.log(self._examples[True] / self._examples[False])
        for word in words:
            if word in self._words[True] or word in self._words[False]:
                odds += math.log((self._words[True][word] + 1) / self._smoothed[True])
                odds -= math.log((self._words[False][word] + 1) / self._smoothed[False])
        return logistic(odds)
