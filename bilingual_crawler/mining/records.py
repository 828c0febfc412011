"""The records named by rows of a table: in file order, near ones with one request."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.warc import ArchiveError, NoRecord, check_place, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from bilingual_crawler.mining.ranges import Ranges
    from bilingual_crawler.storage.archive import WarcFile

GAP = 256 << 10
"""Bytes between two records that cost less than a request: 20 requests per second at 5 MB per second."""
MAX_SPAN = 8 << 20
"""Maximum bytes of one request for several records."""
_THREADS = 4


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A page of the plan, and the place of its record."""

    url: str
    domain: str
    language: str
    file: str
    offset: int
    length: int | None
    """None for a record of a crawl, which is read from the file itself."""
    digest: str | None
    unit: int

    def __str__(self) -> str:
        return f"{self.url} ({self.file} at {self.offset})"


def read_records(rows: Iterable[PlanRow], ranges: Ranges | None) -> Iterator[tuple[PlanRow, bytes | NoRecord]]:
    """Yield the record of each row, or why it has none, in file order; raises Unavailable.

    *ranges* holds the files of rows with a length; None if no row has one.
    """
    ordered = sorted(rows, key=lambda row: (row.file, row.offset))
    yield from _read_crawls([row for row in ordered if row.length is None])
    indexed = [row for row in ordered if row.length is not None]
    if not indexed:
        return
    assert ranges
    good = []
    for row in indexed:
        try:
            check_place(row.file, row.offset, row.length or 0)
        except NoRecord as reason:
            yield row, reason
        else:
            good.append(row)
    with ThreadPoolExecutor(_THREADS) as threads:
        waiting: deque[Future[list[tuple[PlanRow, bytes | NoRecord]]]] = deque()
        for span in _spans(good):
            waiting.append(threads.submit(_read_span, span, ranges))
            if len(waiting) > 2 * _THREADS:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _read_crawls(rows: Iterable[PlanRow]) -> Iterator[tuple[PlanRow, bytes | NoRecord]]:
    name, file = "", None
    for row in rows:
        if row.file != name:
            name, file = row.file, _open(row.file)
        try:
            if file is None:
                raise NoRecord("no such file")
            yield row, file.read(row.offset)
        except NoRecord as reason:
            yield row, reason


def _open(file: str) -> WarcFile | None:
    try:
        return open_warc(Path(file))
    except ArchiveError:
        return None


def _spans(rows: Iterable[PlanRow]) -> Iterator[list[PlanRow]]:
    span: list[PlanRow] = []
    for row in rows:
        assert row.length is not None
        if span:
            last = span[-1]
            near = row.file == last.file and row.offset - _end(last) <= GAP
            if not near or _end(row) - span[0].offset > MAX_SPAN:
                yield span
                span = []
        span.append(row)
    if span:
        yield span


def _end(row: PlanRow) -> int:
    assert row.length is not None
    return row.offset + row.length


def _read_span(span: Sequence[PlanRow], ranges: Ranges) -> list[tuple[PlanRow, bytes | NoRecord]]:
    start = span[0].offset
    try:
        data = ranges.get(span[0].file, start, max(map(_end, span)) - start)
    except NoRecord as reason:
        return [(row, reason) for row in span]
    found: list[tuple[PlanRow, bytes | NoRecord]] = []
    for row in span:
        member = data[row.offset - start : _end(row) - start]
        try:
            if len(member) != row.length:
                raise NoRecord("clipped range")
            found.append((row, unpack(member)))
        except NoRecord as reason:
            found.append((row, reason))
    return found
