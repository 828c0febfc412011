"""The evidence that two sentences are translations: log-odds by length, words and position."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.bitext.lexicon import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.bitext.lexicon import Lexicon, Words
    from bilingual_crawler.bitext.sentences import Sentence

LENGTH_SPREAD = 0.3
"""Standard deviation of the logarithm of the length ratio of translations (Gale and Church 1993 model the same)."""
SHORT = 8
"""Characters added to lengths, as short sentences differ more."""
MAX_WORD_EVIDENCE = 8.0
MISSING_NUMBER = -1.0
"""Log-odds of a number that only one side has."""
MAX_MISSING = 3
STARTS = 0.4
"""Log-odds of both sentences beginning a paragraph, or neither; their opposite if only one does."""
CLOSENESS = 1.5
"""Log-odds of one standard deviation of similarity by the encoder."""
USUAL = 2.0
"""Standard deviations above chance from which similarity is evidence for a pair."""


@dataclass(frozen=True, slots=True)
class BeadScores:
    """Log-odds for sentences of two documents, a row for each of the first; -inf across paragraphs."""

    one_one: NDArray[np.float32]
    one_two: NDArray[np.float32]
    """For one sentence and two consecutive ones, at the index of the first of these: one column less."""
    two_one: NDArray[np.float32]
    """One row less."""


def weigh(
    a: Sequence[Sentence],
    b: Sequence[Sentence],
    lexicon: Lexicon,
    nearness: NDArray[np.float64] | None = None,
) -> BeadScores:
    """Evidence for the sentences of two documents, each with at least one sentence.

    *nearness*: similarity of their meanings, in standard deviations above chance (:class:`~.meaning.Meaning`).
    """
    words_a, words_b = [words(s.text) for s in a], [words(s.text) for s in b]
    numbers_a, numbers_b = ([frozenset(filter(str.isdigit, side)) for side in sides] for sides in (words_a, words_b))
    by_words = _by_words(words_a, words_b, lexicon)
    near = np.zeros_like(by_words) if nearness is None else _by_closeness(nearness)
    lengths_a, lengths_b = (np.array([len(s.text) for s in side], np.float64) for side in (a, b))
    ratio = lengths_b.sum() / lengths_a.sum()
    chance = math.sqrt(np.log(lengths_a + SHORT).var() + np.log(lengths_b + SHORT).var())
    begins_a, begins_b = _begins(a), _begins(b)
    place = np.where(begins_a[:, None] == begins_b, STARTS, -STARTS)
    one_one = (
        _by_length(ratio * lengths_a, lengths_b, chance)
        + np.minimum(MAX_WORD_EVIDENCE, by_words)
        + _by_numbers(numbers_a, numbers_b)
        + near
        + place
    )
    one_two = (
        _by_length(ratio * lengths_a, lengths_b[:-1] + lengths_b[1:], chance)
        + np.minimum(MAX_WORD_EVIDENCE, by_words[:, :-1] + by_words[:, 1:])
        + _by_numbers(numbers_a, _joined(numbers_b))
        + _both(near[:, :-1], near[:, 1:])
        + place[:, :-1]
    )
    one_two[:, begins_b[1:]] = -np.inf
    two_one = (
        _by_length(ratio * (lengths_a[:-1] + lengths_a[1:]), lengths_b, chance)
        + np.minimum(MAX_WORD_EVIDENCE, by_words[:-1] + by_words[1:])
        + _by_numbers(_joined(numbers_a), numbers_b)
        + _both(near[:-1], near[1:])
        + place[:-1]
    )
    two_one[begins_a[1:]] = -np.inf
    return BeadScores(one_one.astype(np.float32), one_two.astype(np.float32), two_one.astype(np.float32))


def _by_length(expected: NDArray[np.float64], lengths: NDArray[np.float64], chance: float) -> NDArray[np.float64]:
    """Normal density of the length ratio of translations over that of any two sentences of these documents."""
    chance = max(chance, 1.2 * LENGTH_SPREAD)
    squares = np.log((lengths + SHORT) / (expected[:, None] + SHORT)) ** 2
    return np.asarray(math.log(chance / LENGTH_SPREAD) - squares * (1 / LENGTH_SPREAD**2 - 1 / chance**2) / 2)


def _both(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both halves must fit: the weaker counts fully, the stronger half."""
    return np.minimum(one, other) + np.maximum(one, other) / 2


def _begins(side: Sequence[Sentence]) -> NDArray[np.bool_]:
    return np.array([n == 0 or s.paragraph != side[n - 1].paragraph for n, s in enumerate(side)], bool)


def _joined(numbers: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    return [one | other for one, other in pairwise(numbers)]


def _by_numbers(a: Sequence[frozenset[str]], b: Sequence[frozenset[str]]) -> NDArray[np.float64]:
    """Negative log-odds for each number that only one of two sentences has."""
    counts_a, counts_b = (np.array([len(numbers) for numbers in side], int) for side in (a, b))
    unshared = counts_a[:, None] + counts_b
    for i in np.flatnonzero(counts_a).tolist():
        for j in np.flatnonzero(counts_b).tolist():
            unshared[i, j] -= 2 * len(a[i] & b[j])
    return np.asarray(MISSING_NUMBER * np.minimum(unshared, MAX_MISSING))


def _by_words(a: Sequence[Words], b: Sequence[Words], lexicon: Lexicon) -> NDArray[np.float64]:
    """Sum over the words of one sentence of the log-odds of their best translation in the other."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for j, sentence in enumerate(b):
        for word in sentence:
            places[word].append(j)
    total = np.zeros((len(a), len(b)))
    for i, sentence in enumerate(a):
        for word in sentence:
            best: dict[int, float] = {}
            for translation, gain in lexicon.translations(word).items():
                for j in places.get(translation, ()):
                    best[j] = max(gain, best.get(j, 0.0))
            total[i, list(best)] += list(best.values())
    return total


def _by_closeness(nearness: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.clip(CLOSENESS * (nearness - USUAL), -6.0, MAX_WORD_EVIDENCE))
