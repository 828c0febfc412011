"""Long work in the event loop, in parts between which everything else has its turn."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.frontier.batched import batched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    Item = TypeVar("Item")

PART = 100
"""Items of a part: the links of most pages, in some 20 ms."""
REST = 4.0
"""Pause after a part, in times of what the part took."""
MAX_REST = 0.2
"""Seconds of the longest pause."""


class Turns:
    """Bounds the share of the event loop that all large pages and sitemaps of a crawl take together."""

    def __init__(self) -> None:
        self._resting = asyncio.Lock()

    async def parts(self, items: Iterable[Item]) -> AsyncIterator[list[Item]]:
        """*items* in lists of up to 100; the first one comes at once, and at least one comes, be it empty.

        Between two lists the caller rests four times as long as it has worked. Only one caller rests at a time.
        """
        worked: float | None = None
        for part in batched(items, PART):
            if worked is not None:
                async with self._resting:
                    await asyncio.sleep(min(MAX_REST, REST * worked))
            begun = perf_counter()
            yield part
            worked = perf_counter() - begun
        if worked is None:
            yield []
