"""The best sequence of beads of two documents, by dynamic programming."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bilingual_crawler.scoring.linear import logistic

LARGEST = 5  # maximum sentences of a bead, both sides together
ALONE, WEIGHT = 0.1, 20  # expected share of sentences without a translation, and the weight of this prior, in sentences
END = math.log(0.25)
"""Log-odds of a sentence without a translation before the first bead or after the last: half a page may be alone."""
SHAPES = tuple((p, q) for p in range(1, LARGEST) for q in range(1, LARGEST - p + 1))
"""Sentences of the first and of the second document in a bead."""


def sums(rows: Any, size: int) -> Any:
    """Sum each *size* consecutive rows of an array: ``(n, m)`` to ``(n - size + 1, m)``."""
    count = rows.shape[0] - size + 1
    return reduce(add, (rows[start : start + count] for start in range(size)))


BeadScores: TypeAlias = Mapping[tuple[int, int], NDArray[np.float32]]
"""Shape (p, q) to the log-odds of its beads, ``(n - p + 1, m - q + 1)``, by the first sentences of both sides."""


@dataclass(frozen=True, slots=True)
class Bead:
    """Consecutive sentences of both sides that are translations: half-open ranges, and the confidence (0 to 1)."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float


def best_beads(scores: BeadScores) -> list[Bead]:
    """The beads with the highest sum of log-odds, in order; unaligned sentences are left out.

    A sentence without a translation costs the logarithm of the share of such sentences, which a first alignment
    estimates. Time and memory are in proportion to the product of both numbers of sentences.
    """
    beads = [bead for bead in beads_at_price(scores, math.log(ALONE)) if bead.score > 0.5]
    aligned = sum(bead.a[1] - bead.a[0] + bead.b[1] - bead.b[0] for bead in beads)
    sentences = sum(scores[1, 1].shape)
    if beads:
        # ends without a translation tell nothing of what is between
        sentences = beads[-1].a[1] - beads[0].a[0] + beads[-1].b[1] - beads[0].b[0]
    alone = (sentences - aligned + ALONE * WEIGHT) / (sentences + WEIGHT)
    return beads_at_price(scores, math.log(alone))


def beads_at_price(scores: BeadScores, gap: float) -> list[Bead]:
    """The same if a sentence without a translation has the log-odds *gap*, at both ends at least :data:`END`."""
    n, m = scores[1, 1].shape
    shapes = [*scores, (1, 0), (0, 1)]
    skip_a, skip_b = len(scores), len(scores) + 1
    moves = np.full((n + 1, m + 1), skip_b, np.uint8)
    end = max(gap, END)
    gaps = np.array([end, *[gap] * (m - 1), end])
    slope, end_slope = gap * np.arange(m + 1), end * np.arange(m + 1)
    sums = np.full((n + 1, m + 1), -np.inf)
    sums[0] = end_slope
    for i in range(1, n + 1):
        options = np.full((len(shapes) - 1, m + 1), -np.inf)
        options[skip_a] = sums[i - 1] + gaps
        for move, ((p, q), table) in enumerate(scores.items()):
            if i >= p:
                options[move, q:] = sums[i - p, : m + 1 - q] + table[i - p]
        best = options.max(0)
        # each skipped sentence of a row costs the same, so the best path that skips up to a place is a running maximum
        slope = end_slope if i == n else slope
        sums[i] = np.maximum.accumulate(best - slope) + slope
        moves[i] = np.where(sums[i] > best + 1e-9, skip_b, options.argmax(0))
    beads, i, j = [], n, m
    while i or j:
        p, q = shapes[int(moves[i, j])]
        i, j = i - p, j - q
        if p and q:
            beads.append(Bead((i, i + p), (j, j + q), round(logistic(float(scores[p, q][i, j])), 4)))
    return beads[::-1]
