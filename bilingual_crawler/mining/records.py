"""The records that rows of a table name, by range reads of archive files in a folder, on S3, or a web server."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import urllib3
from pyarrow import fs
from urllib3.exceptions import HTTPError

from bilingual_crawler.mining.stored import MiningError
from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.warc import ArchiveError, NoRecord, check_place, unpack

TRIES = 5
TIMEOUT = 30.0  # seconds to wait for the next bytes of a server, and for a whole range
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds without requests after a refusal; each further one in a row doubles them."""
_BUSY = frozenset((403, 408, 429, 500, 502, 503, 504))
"""Statuses of an overloaded server; Common Crawl answers 403 and 503 to too many requests."""
_CHUNK = 1 << 16


class Unavailable(Exception):
    """The archive does not answer now; a later run may succeed."""


class StoredRanges:
    """Files below *base*, a folder or ``s3://bucket/folder``; raises MiningError for others."""

    def __init__(self, base: str) -> None:
        try:
            system, path = fs.FileSystem.from_uri(base) if "://" in base else (fs.LocalFileSystem(), base)
            if system.get_file_info(path).type != fs.FileType.Directory:
                raise FileNotFoundError("no such folder")
        except (OSError, ValueError) as error:
            remedy = "give the folder below which the files of the table lie, or an s3:// or https:// address"
            raise MiningError(f"--base-url {base}: {error}; {remedy}") from error
        self._files = fs.SubTreeFileSystem(path, system)

    def get(self, file: str, offset: int, length: int) -> bytes:
        """Read *length* bytes from *offset*, fewer at the end of a file; raises NoRecord or Unavailable."""
        try:
            with self._files.open_input_file(file) as opened:
                return bytes(opened.read_at(min(length, max(opened.size() - offset, 0)), offset))
        except FileNotFoundError as error:
            raise NoRecord("no such file") from error
        except OSError as error:
            raise Unavailable(f"{file}: {error}") from error


class HttpRanges:
    """Files below the address *base*; the requests of all threads begin at least 1 / *rate* seconds apart. A server
    that asks for fewer (403, 429, 503, ``Retry-After``) gets none for a while.
    """

    def __init__(self, base: str, rate: float, user_agent: str) -> None:
        self._base, self._interval = base.rstrip("/"), 1 / rate
        # UTF-8 on the wire, as Scrapy sends it
        headers = {"User-Agent": user_agent.encode().decode("latin-1"), "Accept-Encoding": "identity"}
        self._pool = urllib3.PoolManager(maxsize=8, retries=False, timeout=TIMEOUT, headers=headers)
        self._next = time.monotonic()
        self._refused = 0
        self._lock = threading.Lock()

    def get(self, file: str, offset: int, length: int) -> bytes:
        problem, longest = "", b""
        for _ in range(TRIES):
            self._wait()
            try:
                headers = {**self._pool.headers, "Range": f"bytes={offset}-{offset + length - 1}"}
                url = f"{self._base}/{quote(file)}"
                with self._pool.request("GET", url, headers=headers, preload_content=False, redirect=False) as answer:
                    if answer.status == 206:
                        body = self._read(answer, length)
                        expected = _left(answer.headers.get("Content-Range", ""), offset, length)
                        if len(body) >= expected:
                            return body
                        longest = max(longest, body, key=len)
                        continue
                    problem = f"HTTP {answer.status}"
                    if answer.status == 200:
                        raise NoRecord("server does not cut files")
                    if answer.status not in _BUSY:
                        raise NoRecord(problem)
                    self._rest(answer.headers.get("Retry-After", ""))
            except (HTTPError, OSError) as error:
                problem = f"no answer ({type(error).__name__})"
                self._rest("")
        if longest:
            return longest
        raise Unavailable(f"{file} at {offset}: {problem}")

    def _wait(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                left = self._next - now
                if left <= 0:
                    self._next = now + self._interval
                    return
            time.sleep(left)

    def _rest(self, retry_after: str) -> None:
        """Pause all requests: exponential back-off, at least *retry_after* seconds."""
        with self._lock:
            pause = min(FIRST_PAUSE * 2**self._refused, LONGEST_PAUSE)
            if retry_after.isdecimal():
                pause = min(max(pause, float(retry_after)), 10 * LONGEST_PAUSE)
            self._refused += 1
            self._next = max(self._next, time.monotonic() + pause)

    def _read(self, answer: urllib3.BaseHTTPResponse, length: int) -> bytes:
        until = time.monotonic() + TIMEOUT
        body = bytearray()
        for chunk in answer.stream(_CHUNK):
            body += chunk
            if len(body) >= length or time.monotonic() > until:
                break
        with self._lock:
            self._refused = 0
        return bytes(body[:length])


def _left(content_range: str, offset: int, length: int) -> int:
    """The bytes of the file in the range, by the header ``Content-Range``."""
    size = content_range.rpartition("/")[2]
    return min(length, max(int(size) - offset, 0)) if size.isdecimal() else length


Ranges: TypeAlias = StoredRanges | HttpRanges


@cache
def open_ranges(base: str, rate: float, user_agent: str) -> Ranges:
    """Open the files below *base*, once per process, so that all threads keep the rate together."""
    return HttpRanges(base, rate, user_agent) if base.startswith(("http://", "https://")) else StoredRanges(base)


GAP = 256 << 10  # bytes between two records that cost less than a request: 20 requests per second at 5 MB per second
MAX_SPAN = 8 << 20
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

    @property
    def end(self) -> int:
        return self.offset + (self.length or 0)

    def __str__(self) -> str:
        return f"{self.url} ({self.file} at {self.offset})"


def read_records(rows: Iterable[PlanRow], ranges: Ranges | None) -> Iterator[tuple[PlanRow, bytes | NoRecord]]:
    """Yield the record of each row, or why it has none, in file order; raises Unavailable."""
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
        for reading in waiting:
            yield from reading.result()


def _read_crawls(rows: Iterable[PlanRow]) -> Iterator[tuple[PlanRow, bytes | NoRecord]]:
    for name, of_file in groupby(rows, key=attrgetter("file")):
        try:
            file = open_warc(Path(name))
        except ArchiveError:
            yield from ((row, NoRecord("no such file")) for row in of_file)
            continue
        for row in of_file:
            try:
                yield row, file.read(row.offset)
            except NoRecord as reason:
                yield row, reason


def _spans(rows: Iterable[PlanRow]) -> Iterator[list[PlanRow]]:
    """Cut *rows* in file order into those that one request reads."""
    span: list[PlanRow] = []
    for row in rows:
        near = span and row.offset - span[-1].end <= GAP and row.end - span[0].offset <= MAX_SPAN
        if span and not (near and row.file == span[-1].file):
            yield span
            span = []
        span.append(row)
    if span:
        yield span


def _read_span(span: Sequence[PlanRow], ranges: Ranges) -> list[tuple[PlanRow, bytes | NoRecord]]:
    start = span[0].offset
    try:
        data = ranges.get(span[0].file, start, max(row.end for row in span) - start)
    except NoRecord as reason:
        return [(row, reason) for row in span]
    found: list[tuple[PlanRow, bytes | NoRecord]] = []
    for row in span:
        member = data[row.offset - start : row.end - start]
        try:
            if len(member) != row.length:
                raise NoRecord("clipped range")
            found.append((row, unpack(member)))
        except NoRecord as reason:
            found.append((row, reason))
    return found
