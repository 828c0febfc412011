"""What came of buckets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class BucketResult(msgspec.Struct):
    """What came of a bucket; its file says that the bucket is done."""

    planned: int = 0
    """Pages of the plan."""
    read: int = 0
    """Pages in a language of the pairs."""
    left_out: dict[str, int] = {}
    """Pages that could not be read, by reason."""
    examples: dict[str, str] = {}
    """One of them for each reason."""
    pairs: dict[str, dict[str, int]] = {}
    """Pairs of documents by languages and method."""

    def leave_out(self, reason: str, page: str) -> None:
        """Count *page*, which could not be read."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.examples.setdefault(reason, page)


def result_file(out: Path, number: int) -> Path:
    """Where the :class:`BucketResult` of a bucket is kept, once it is done."""
    return out / "done" / f"{number}.json"


def add_up(results: Iterable[BucketResult]) -> BucketResult:
    """The sum of *results*."""
    total = BucketResult()
    for result in results:
        total.planned += result.planned
        total.read += result.read
        total.left_out = dict(Counter(total.left_out) + Counter(result.left_out))
        total.examples = result.examples | total.examples
        for pair, methods in result.pairs.items():
            total.pairs[pair] = dict(Counter(total.pairs.get(pair, {})) + Counter(methods))
    return total
