"""Near-duplicates among the documents of one side."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PERMUTATIONS = 64
BAND = 4
"""Values of a signature that must agree for two documents to be compared at all."""
SIMILAR = 0.95
"""Jaccard similarity of the lines of two near-duplicates."""


def near_duplicates(lines: Sequence[NDArray[np.uint32]]) -> NDArray[np.intp]:
    """Group number of each document, given the hashes of its lines: found by MinHash with banding, then compared.

    Documents without lines are in no group with others.
    """
    random = np.random.default_rng(1)
    factors = random.integers(1, 1 << 61, PERMUTATIONS, dtype=np.uint64) | np.uint64(1)
    offsets = random.integers(0, 1 << 61, PERMUTATIONS, dtype=np.uint64)
    signatures = np.empty((len(lines), PERMUTATIONS), dtype=np.uint32)
    for row, one in enumerate(lines):
        if len(one):
            mixed = one.astype(np.uint64)[:, None] * factors + offsets
            signatures[row] = (mixed >> np.uint64(32)).min(axis=0)
        else:
            signatures[row] = random.integers(0, 1 << 32, PERMUTATIONS, dtype=np.uint32)
    groups = np.arange(len(lines))
    for start in range(0, PERMUTATIONS, BAND):
        band = np.ascontiguousarray(signatures[:, start : start + BAND]).view(f"V{4 * BAND}").ravel()
        order = np.argsort(band, kind="stable")
        for first, second in itertools.pairwise(order):
            same = band[first] == band[second] and _root(groups, first) != _root(groups, second)
            if same and _jaccard(lines[first], lines[second]) >= SIMILAR:
                groups[_root(groups, second)] = _root(groups, first)
    return np.array([_root(groups, place) for place in range(len(lines))], dtype=np.intp)


def _jaccard(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    common = len(np.intersect1d(one, other))
    return common / max(1, len(np.union1d(one, other)))


def _root(groups: NDArray[np.intp], place: int) -> int:
    while groups[place] != place:
        groups[place] = groups[groups[place]]
        place = groups[place]
    return int(place)
