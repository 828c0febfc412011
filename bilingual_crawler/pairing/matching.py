"""From scored candidates to one-to-one pairs."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from bilingual_crawler.pairing.arrays import Floats, Places

Item = TypeVar("Item")


def disjoint(items: Iterable[Item], parts: Callable[[Item], set[Hashable]]) -> list[Item]:
    """Choose *items*, the first ones first, that have no part in common."""
    taken: set[Hashable] = set()
    chosen = []
    for item in items:
        if taken.isdisjoint(own := parts(item)):
            taken |= own
            chosen.append(item)
    return chosen


def greedy(a: Places, b: Places, scores: Floats, threshold: float = 0.0) -> Places:
    """Choose candidates best first, each document once (CCAligned 2020, Algorithm 1); returns their indices.

    *a*, *b*: places of the documents; *scores*: 0 to 1; all ``(candidates,)``. Of equal scores the first wins.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= threshold]
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    chosen = []
    for index, i, j in zip(order.tolist(), a[order].tolist(), b[order].tolist(), strict=True):
        if i not in taken_a and j not in taken_b:
            taken_a.add(i)
            taken_b.add(j)
            chosen.append(index)
    return np.array(chosen, dtype=np.intp)


def highest(values: Floats, places: Places) -> Floats:
    """Return the highest of *values* of each place, by *places* of ``(candidates,)``; -inf without one."""
    best = np.full(places.max(initial=-1) + 1, -np.inf)
    np.maximum.at(best, places, values)
    return best


def lead(scores: Floats, places: Places, pages: Places) -> Floats:
    """Return how far each candidate is ahead of its best rival for the same document; its score without a rival.

    *places*: documents of one side; *pages*: of the other, editions of one are no rivals. All ``(candidates,)``.
    """
    if not len(scores):
        return np.zeros(0)
    best, second = highest(scores, places), np.zeros(places.max() + 1)
    page = np.full(len(best), -1)
    first = np.flatnonzero(scores == best[places])[::-1]
    page[places[first]] = pages[first]
    others = pages != page[places]
    np.maximum.at(second, places[others], scores[others])
    return np.where(others, scores - best[places], scores - second[places])
