"""``itertools.batched`` of Python 3.12."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """*items* in lists of *size*; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
