"""Candidate pairs out of an index, never all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bilingual_crawler.pairing.channels import Channel

BUDGET = 20_000
"""Products of weights that may be spent on each document; commoner tokens are left out of the search."""
BLOCK = 2_000
"""Documents that are searched at a time."""


def nearest(
    channels: Sequence[Channel], count: int, on_progress: Callable[[float], None] = lambda share: None
) -> sparse.csr_array:
    """For each document of both sides its *count* most similar ones of the other; similarities summed over channels."""
    left = sparse.csr_array(sparse.hstack([channel.a for channel in channels]))
    right = sparse.csr_array(sparse.hstack([channel.b for channel in channels]))
    left, right = _affordable(left, right)
    forward = _search(left, right, count, lambda share: on_progress(share / 2))
    backward = _search(right, left, count, lambda share: on_progress((1 + share) / 2)).T.tocsr()
    return sparse.csr_array(forward.maximum(backward))


def _affordable(left: sparse.csr_array, right: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Only the columns with the shortest lists of documents, as many as the budget allows."""
    cost = np.diff(left.tocsc().indptr).astype(np.int64) * np.diff(right.tocsc().indptr)
    order = np.argsort(cost, kind="stable")
    kept = np.sort(order[np.cumsum(cost[order]) <= BUDGET * (left.shape[0] + right.shape[0])])
    return left[:, kept], right[:, kept]


def _search(
    left: sparse.csr_array, right: sparse.csr_array, count: int, on_progress: Callable[[float], None]
) -> sparse.csr_array:
    transposed = right.T.tocsr()
    rows, columns, values = [], [], []
    for start in range(0, left.shape[0], BLOCK):
        product = (left[start : start + BLOCK] @ transposed).tocsr()
        for row in range(product.shape[0]):
            begin, end = product.indptr[row], product.indptr[row + 1]
            found, near = product.indices[begin:end], product.data[begin:end]
            if len(near) > count:
                best = np.argpartition(-near, count)[:count]
                found, near = found[best], near[best]
            rows.append(np.full(len(found), start + row))
            columns.append(found)
            values.append(near)
        on_progress(min(1.0, (start + BLOCK) / left.shape[0]))
    shape = (left.shape[0], right.shape[0])
    if not rows:
        return sparse.csr_array(shape, dtype=np.float32)
    places = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(values), places), shape=shape)
