"""The best monotone alignment of the sentences of two documents, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.scoring.logistic import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.bitext.evidence import BeadScores

GAP = -0.7
"""Log-odds of a sentence that has no translation."""
MERGED = -1.5
"""Log-odds of a bead of two sentences and one."""
_ONE_ONE, _SKIP_A, _SKIP_B, _ONE_TWO, _TWO_ONE = range(5)
_STEPS = {_ONE_ONE: (1, 1), _SKIP_A: (1, 0), _SKIP_B: (0, 1), _ONE_TWO: (1, 2), _TWO_ONE: (2, 1)}


@dataclass(frozen=True, slots=True)
class Bead:
    """Consecutive sentences of both sides that are translations: half-open ranges, and the confidence (0 to 1)."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float


def best_beads(evidence: BeadScores) -> list[Bead]:
    """The beads with the highest sum of log-odds, in order; unaligned sentences are left out.

    One-one, one-two and two-one (Gale and Church 1993), in time and memory in proportion to the product of both numbers
    of sentences.
    """
    n, m = evidence.one_one.shape
    moves = np.full((n + 1, m + 1), _SKIP_A, np.uint8)
    moves[0] = _SKIP_B
    slope = GAP * np.arange(m + 1)
    scores = np.full((n + 1, m + 1), -np.inf)
    scores[0] = slope
    for i in range(1, n + 1):
        options = np.full((5, m + 1), -np.inf)
        options[_SKIP_A] = scores[i - 1] + GAP
        options[_ONE_ONE, 1:] = scores[i - 1, :-1] + evidence.one_one[i - 1]
        options[_ONE_TWO, 2:] = scores[i - 1, :-2] + evidence.one_two[i - 1] + MERGED
        if i > 1:
            options[_TWO_ONE, 1:] = scores[i - 2, :-1] + evidence.two_one[i - 2] + MERGED
        best = options.max(0)
        # each skipped sentence costs GAP, so the best path that skips up to a place is a running maximum
        scores[i] = np.maximum.accumulate(best - slope) + slope
        moves[i] = np.where(scores[i] > best + 1e-9, _SKIP_B, options.argmax(0))
    return _trace(moves, evidence)


def _trace(moves: NDArray[np.uint8], evidence: BeadScores) -> list[Bead]:
    i, j = evidence.one_one.shape
    beads = []
    while i or j:
        move = int(moves[i, j])
        step_a, step_b = _STEPS[move]
        i, j = i - step_a, j - step_b
        if move in (_ONE_ONE, _ONE_TWO, _TWO_ONE):
            table = {_ONE_ONE: evidence.one_one, _ONE_TWO: evidence.one_two, _TWO_ONE: evidence.two_one}[move]
            odds = float(table[i, j]) + (0 if move == _ONE_ONE else MERGED)
            beads.append(Bead((i, i + step_a), (j, j + step_b), round(logistic(odds), 4)))
    return beads[::-1]
