"""Files that grow while a crawl runs: gzip members (WARC records, JSON lines) and TSV logs."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import sys
import zlib
from dataclasses import fields
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from bilingual_crawler.storage.files import LeftOut, lines_within, open_packed, open_regular, replacing
from bilingual_crawler.storage.warc import MAX_HEAD, MAX_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from _typeshed import DataclassInstance

logger = logging.getLogger(__name__)

_CHUNK = 1 << 16
_MEMBER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
MAX_DAMAGES = 1000  # damaged places of a file behind which its next member is looked for
_PIECE = 1 << 20  # bytes that are unpacked at a time, as a chunk may hold a thousand times as much
DOCUMENTS = "documents.jsonl.gz"
PROFILES = ".profiles.jsonl.gz"
"""What the alignment compares of each document, kept while the crawl reads it."""
CRAWL = "crawl.tsv"
PAIRS = "pairs.tsv"
UNPAIRED = "unpaired.tsv"
SITES = "sites.tsv"
SUMMARY = "summary.json"
BITEXT = "bitext"
DESCRIPTION = "crawl.toml"
MAX_ROW = 1 << 16  # bytes of a row of a table: room for a dozen URLs of the longest kind
LINE_TOO_LONG, NO_RECORD, CUT_FILE = "line_too_long", "no_record", "cut_file"
"""Reasons why a line, or the rest of a file, is left out."""


class Member(NamedTuple):
    """A complete gzip member from *offset* to before *end*; the first bytes of its content, and the size of all."""

    offset: int
    end: int
    start: bytes
    size: int


def read_members(
    fd: int, keep: int = MAX_HEAD, max_skipped: int = sys.maxsize, *, go_on: bool = False
) -> Iterator[Member]:
    """Yield the members of a file in order, up to the first that is incomplete or, unless they *go_on*, damaged.

    *keep*: bytes in ``Member.start``, by default enough for the header of a record. *max_skipped*: bytes that may be
    unpacked of members longer than a record, to find their end.
    """
    offset = position = damages = 0
    data = b""
    while True:
        inflate = zlib.decompressobj(31)
        start, size = bytearray(), 0
        while not inflate.eof:
            if not data:
                data = os.pread(fd, _CHUNK, position)
                position += len(data)
                if not data:
                    return
            try:
                content = inflate.decompress(data, _PIECE)
            except zlib.error:
                damages += 1
                begins = find_all(fd, _MEMBER, offset + 1, overlap=3)
                following = next(begins, None) if go_on and damages <= MAX_DAMAGES else None
                if following is None:
                    return
                offset = position = following
                inflate, data, size = zlib.decompressobj(31), b"", 0
                start.clear()
                continue
            data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            size += len(content)
            start += content[: max(keep - len(start), 0)]
            if size - MAX_RECORD > max_skipped:
                return
        max_skipped -= max(size - MAX_RECORD, 0)
        end = position - len(data)
        yield Member(offset, end, bytes(start), size)
        offset = end


def members_end(file: IO[bytes]) -> int:
    """Offset of the byte after the last complete gzip member of *file*."""
    return max((member.end for member in read_members(file.fileno(), keep=0)), default=0)


def find_all(fd: int, pattern: re.Pattern[bytes], at: int, overlap: int) -> Iterator[int]:
    """The places from *at* where *pattern* matches, which needs at most *overlap* bytes before its last one."""
    while data := os.pread(fd, _CHUNK, at):
        for found in pattern.finditer(data):
            yield at + found.start()
        if len(data) < _CHUNK:
            return
        at += len(data) - overlap


class Records:
    """Appends whole records to a file after the byte *end*; OSError, without the incomplete record, on a full disk."""

    def __init__(self, path: Path, end: int) -> None:
        self._file = path.open("ab", buffering=0)
        if lost := self._file.tell() - end:
            logger.warning(f"{path} is damaged after {end} bytes: what follows ({lost} bytes) is cut off")
        self._file.truncate(end)
        self.end = end

    def append(self, record: bytes) -> None:
        rest = memoryview(record)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self.end)
            raise
        self.end += len(record)

    def sync(self) -> None:
        """Bring the file to the disk, wherever it was moved since."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class Row(Protocol):
    def as_row(self) -> dict[str, Any]: ...


class GzipJsonLines(Records):
    """Appends JSON objects to a gzip file, one member per line; opening cuts off a tail that a crash has damaged."""

    def __init__(self, path: Path) -> None:
        with path.open("ab+") as file:
            end = members_end(file)
        super().__init__(path, end)

    def write(self, record: Row | dict[str, Any]) -> None:
        row = record if isinstance(record, dict) else record.as_row()
        line = json.dumps(row, ensure_ascii=False) + "\n"
        self.append(gzip.compress(line.encode("utf-8", "surrogatepass"), 6, mtime=0))


def read_json_lines(path: Path, left_out: LeftOut | None = None) -> Iterator[dict[str, Any]]:
    """The objects of a file that :class:`GzipJsonLines` wrote, up to the last complete one; nothing without the file.

    *left_out* counts other lines, and a file that is cut off or damaged. OSError if *path* is no regular file.
    """
    left_out = LeftOut() if left_out is None else left_out
    if not path.exists():
        return
    end = 0
    with open_regular(path) as file:
        for member in read_members(file.fileno(), MAX_RECORD):
            end = member.end
            if member.size > MAX_RECORD:
                left_out.add(LINE_TOO_LONG, f"{path} at {member.offset}")
                continue
            for line in member.start.splitlines():
                record = as_object(line)
                if record is None or not isinstance(record.get("url"), str):
                    left_out.add(NO_RECORD, f"{path} at {member.offset}")
                else:
                    yield record
        if end < (size := os.fstat(file.fileno()).st_size):
            left_out.add(CUT_FILE, f"{path}: {size - end} bytes at its end, where it is cut off or damaged")


def as_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object in *line*; None for any other text."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class TsvLog(Records):
    """Appends dataclass objects as tab-separated rows under a header; opening cuts off a tail that a crash damaged."""

    def __init__(self, path: Path, record: type[DataclassInstance]) -> None:
        end = _sound(path) if path.exists() else 0
        super().__init__(path, end)
        if not end:
            self.write(_columns_of(record))

    def write(self, values: Iterable[object]) -> None:
        self.append(tsv_line(values).encode("utf-8", "surrogatepass"))

    def write_record(self, record: DataclassInstance) -> None:
        self.write(_values(record))


def _sound(path: Path) -> int:
    """Bytes of the complete lines at the start of a file; a power cut can leave zeros where a line was."""
    end = read = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sound, zero, _ = piece.partition(b"\0")
            if b"\n" in sound:
                end = read + sound.rindex(b"\n") + 1
            if zero:
                break
            read += len(piece)
    return end


def replace_tsv(path: Path, record: type[DataclassInstance], records: Iterable[DataclassInstance]) -> None:
    """Replace *path* by a table of *record* objects; the old file stays until the new one is complete."""
    with replacing(path) as part, part.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(tsv_line(_columns_of(record)))
        file.writelines(tsv_line(_values(one)) for one in records)


def _columns_of(record: type[DataclassInstance]) -> list[str]:
    return [field.name for field in fields(record)]


def _values(record: DataclassInstance) -> list[object]:
    # not astuple, which copies what it finds
    return [getattr(record, field.name) for field in fields(record)]


def tsv_line(values: Iterable[object]) -> str:
    """*values* as a line of a TSV file; blanks inside a value become single spaces."""
    return "\t".join(" ".join(str(value).split()) for value in values) + "\n"


def read_tsv(path: Path, *, unended: bool = False) -> Iterator[dict[str, str]]:
    """Complete rows of a TSV file, packed or not, with a header; none without the file. Rows too long are left out.

    Blank lines are no rows, and cells that a row lacks at its end are empty: editors cut off tabs there. With
    *unended*, a last line without an end is a row if it has all cells, as a crash leaves half a row. OSError if *path*
    is no regular file.
    """
    if not path.exists():
        return
    with open_packed(path) as file:
        lines = _rows(file, path, unended=unended)
        columns = _columns(next(lines, ""))
        for line in filter(str.strip, lines):
            cells = line.removesuffix("\n").split("\t")
            if line.endswith("\n") or len(cells) >= len(columns):
                yield dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=False))


def columns_of(path: Path) -> list[str]:
    """The cells of the first line of a TSV file; none without a line or without the file."""
    if not path.exists():
        return []
    with open_packed(path) as file:
        return _columns(line) if (line := next(_rows(file, path, unended=True), "")) else []


def _columns(line: str) -> list[str]:
    # an editor or spreadsheet may have put a byte order mark before it
    return line.removeprefix("\ufeff").rstrip("\n").split("\t")


def _rows(file: IO[bytes], path: Path, *, unended: bool) -> Iterator[str]:
    """The lines of *file* with their ends; the last one may lack its end if *unended*."""
    left_out = LeftOut()
    for number, line in enumerate(lines_within(file, MAX_ROW), 1):
        if line is None:
            left_out.add(LINE_TOO_LONG, f"{path}, line {number}")
        elif unended or line.endswith(b"\n"):
            try:
                # some editors end lines with \r\n
                yield line.replace(b"\r\n", b"\n").decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                left_out.add(NO_RECORD, f"{path}, line {number}")
