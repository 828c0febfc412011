"""Caches of what is computed from URLs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Others = TypeVarTuple("Others")
Result = TypeVar("Result")

MAX_LENGTH = 256
"""Characters of a URL of which anything is kept; a cache of tens of thousands of URLs of 2,000 characters, and of what
was made of them, would take hundreds of megabytes."""


def url_cache(size: int) -> Callable[[Callable[[str, *Others], Result]], Callable[[str, *Others], Result]]:
    """Keep the last *size* results of a function whose first argument is a URL or host, but none of a long one."""

    def decorate(function: Callable[[str, *Others], Result]) -> Callable[[str, *Others], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(url: str, /, *others: *Others) -> Result:
            return (cached if len(url) <= MAX_LENGTH else function)(url, *others)

        return call

    return decorate
