"""A uniform sample of things that come one after the other, the same for the same things."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Sample(Generic[T]):
    """At most *size* of all things that were offered, each with the same chance (reservoir sampling)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(0)
        self.offered = 0
        self.drawn: list[T] = []

    def offer(self, make: Callable[[], T]) -> None:
        """Draw what *make* returns, or leave it; it is only made if it is drawn."""
        self.offered += 1
        place = self._random.randrange(self.offered)
        if len(self.drawn) < self._size:
            self.drawn.append(make())
        elif place < self._size:
            self.drawn[place] = make()
