"""From scored candidates to one-to-one pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Matching = Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], float], NDArray[np.intp]]


def greedy(
    a: NDArray[np.intp], b: NDArray[np.intp], scores: NDArray[np.float64], threshold: float = 0.0
) -> NDArray[np.intp]:
    """Choose candidates best first, each document once (CCAligned 2020, Algorithm 1); returns their indices.

    *a*, *b*: places of the documents; *scores*: 0 to 1; all ``(candidates,)``. Candidates below *threshold* are
    refused; of equal scores the first wins.
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


def optimal(
    a: NDArray[np.intp], b: NDArray[np.intp], scores: NDArray[np.float64], threshold: float = 0.0
) -> NDArray[np.intp]:
    """Choose as :func:`greedy`, but maximise the sum of ``score - threshold``; up to some 10,000 documents per side."""
    # importing scipy.optimize takes a quarter of a second, and few use this matching
    from scipy.optimize import linear_sum_assignment

    places_a, rows = np.unique(a, return_inverse=True)
    places_b, columns = np.unique(b, return_inverse=True)
    gain = np.zeros((len(places_a), len(places_b)))
    index = np.full(gain.shape, -1, dtype=np.intp)
    good = np.flatnonzero(scores >= threshold)[::-1]
    # the last one stays where the same documents make several candidates: the best, of equals the first
    good = good[np.argsort(scores[good], kind="stable")]
    gain[rows[good], columns[good]] = scores[good] - threshold + 1e-9
    index[rows[good], columns[good]] = good
    chosen = index[linear_sum_assignment(gain, maximize=True)]
    chosen = chosen[chosen >= 0]
    return np.asarray(chosen[np.argsort(-scores[chosen], kind="stable")], dtype=np.intp)


MATCHINGS: dict[str, Matching] = {"greedy": greedy, "optimal": optimal}


def lead(scores: NDArray[np.float64], places: NDArray[np.intp], pages: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how far each candidate is ahead of its best rival for the same document; its score without a rival.

    *places*: the documents of one side; *pages*: the page of each document of the other side. Editions of one page are
    not rivals. All ``(candidates,)``.
    """
    if not len(scores):
        return np.zeros(0)
    best, second = np.full(places.max() + 1, -np.inf), np.zeros(places.max() + 1)
    np.maximum.at(best, places, scores)
    page = np.full(len(best), -1)
    first = np.flatnonzero(scores == best[places])[::-1]
    page[places[first]] = pages[first]
    others = pages != page[places]
    np.maximum.at(second, places[others], scores[others])
    return np.where(others, scores - best[places], scores - second[places])
