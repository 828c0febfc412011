"""From scored candidates to one-to-one pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def greedy(
    a: NDArray[np.intp], b: NDArray[np.intp], scores: NDArray[np.float64], threshold: float = 0.0
) -> NDArray[np.intp]:
    """Indices of the candidates that make pairs: best first, each document once (CCAligned 2020, Algorithm 1).

    Candidates under *threshold* make none; of equal scores the first candidate wins.
    """
    order = np.argsort(-scores, kind="stable")
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    chosen = []
    for index in order[scores[order] >= threshold]:
        i, j = int(a[index]), int(b[index])
        if i not in taken_a and j not in taken_b:
            taken_a.add(i)
            taken_b.add(j)
            chosen.append(index)
    return np.array(chosen, dtype=np.intp)
