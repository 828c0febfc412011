"""Caches for functions of URLs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Others = TypeVarTuple("Others")
Result = TypeVar("Result")

MAX_LENGTH = 256
"""Characters of the longest URL whose results are cached. Tens of thousands of URLs of 2,000 characters, with their
results, would take hundreds of megabytes."""


def url_cache(size: int) -> Callable[[Callable[[str, *Others], Result]], Callable[[str, *Others], Result]]:
    """Cache the last *size* results of a function whose first argument is a URL or host, except those of long URLs."""

    def decorate(function: Callable[[str, *Others], Result]) -> Callable[[str, *Others], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(url: str, /, *others: *Others) -> Result:
            return (cached if len(url) <= MAX_LENGTH else function)(url, *others)

        return call

    return decorate
