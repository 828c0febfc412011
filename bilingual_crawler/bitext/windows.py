"""Sums over consecutive sentences."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any


def sums(rows: Any, size: int) -> Any:
    """The sum of each *size* consecutive rows of an array, or of a sparse matrix; *size* is at most their number."""
    count = rows.shape[0] - size + 1
    return reduce(add, (rows[start : start + count] for start in range(size)))
