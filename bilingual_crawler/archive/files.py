"""WARC files for random access: plain, one gzip member per record, or unpacked into a temporary file."""

from __future__ import annotations

import gzip
import lzma
import os
import tempfile
import weakref
import zlib
from typing import IO, TYPE_CHECKING, Protocol

from .errors import ArchiveError
from .members import read_member, read_members
from .records import MAX_HEAD, RecordHead, parse_head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 1 << 16
_UNPACK_CHUNK = 1 << 20
_TRAILER = 4
"""Bytes after a record's block: two line ends."""
_NOT_WARC = "not a WARC; give a .warc, .warc.gz or .warc.xz file, or a folder of them"
_GZIP, _XZ, _WARC = b"\x1f\x8b", b"\xfd7zXZ\x00", b"WARC/"


class WarcFile(Protocol):
    """A WARC file whose records are read by offset."""

    path: Path
    cut: bool
    """Whether the file ends, or is damaged, inside a record; known after ``heads``."""

    def heads(self) -> Iterator[tuple[int, RecordHead]]:
        """Yield offset and header of every complete record."""

    def read(self, offset: int) -> bytes:
        """Return the record at ``offset``, header included."""


def open_warc(path: Path) -> WarcFile:
    """Open a ``.warc``, ``.warc.gz`` or ``.warc.xz`` file; the content decides which. ArchiveError if it is none of
    them.

    Files without access by offset (xz, and gzip with several records in a member) are unpacked once into an unnamed
    temporary file. This needs disk space of their unpacked size.
    """
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise ArchiveError(path, f"cannot be read ({error.strerror})") from error
    try:
        return _read_as_found(path, file)
    except BaseException:
        file.close()
        raise


def _read_as_found(path: Path, file: IO[bytes]) -> WarcFile:
    magic = file.read(6)
    file.seek(0)
    if magic == _XZ:
        return _unpack(path, file, lzma.LZMAFile(file))
    if magic.startswith(_GZIP):
        if _has_member_per_record(file, path):
            return GzipWarc(path, file)
        file.seek(0)
        return _unpack(path, file, gzip.GzipFile(fileobj=file))
    if not magic.startswith(_WARC[: len(magic)]):
        raise ArchiveError(path, _NOT_WARC)
    return PlainWarc(path, file)


class PlainWarc:
    """Records one after the other without compression."""

    def __init__(self, path: Path, file: IO[bytes], *, cut: bool = False) -> None:
        self.path = path
        self.cut = cut
        self._fd = file.fileno()
        weakref.finalize(self, file.close)

    def heads(self) -> Iterator[tuple[int, RecordHead]]:
        """Yield offset and header of every complete record."""
        size, at = os.fstat(self._fd).st_size, 0
        while at < size:
            data = os.pread(self._fd, 4096, at)
            blank = len(data) - len(data.lstrip(b"\r\n"))
            if blank:
                at += blank
                continue
            head = parse_head(data)
            if head is None or head.block + 32 > len(data):
                head = parse_head(os.pread(self._fd, MAX_HEAD, at))
            if head is None or at + head.end > size:
                self.cut = True
                return
            yield at, head
            at += head.end

    def read(self, offset: int) -> bytes:
        """Return the record at ``offset``, header included."""
        data = os.pread(self._fd, _CHUNK, offset)
        head = parse_head(data)
        if head is not None and head.end > len(data):
            data += os.pread(self._fd, head.end - len(data), offset + len(data))
        return data[: head.end] if head else b""


class GzipWarc:
    """One gzip member per record."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self.cut = False
        self._fd = file.fileno()
        weakref.finalize(self, file.close)

    def heads(self) -> Iterator[tuple[int, RecordHead]]:
        """Yield offset and header of the record in every complete member."""
        end = 0
        for member in read_members(self._fd):
            head = parse_head(member.start)
            if head is not None and head.end <= member.size:
                yield member.offset, head
            if member.size and (head is None or not head.end <= member.size <= head.end + _TRAILER):
                self.cut = True
            end = member.end
        self.cut = self.cut or end < os.fstat(self._fd).st_size

    def read(self, offset: int) -> bytes:
        """Return the record at ``offset``, header included."""
        return read_member(self._fd, offset)


def _has_member_per_record(file: IO[bytes], path: Path) -> bool:
    """Whether the first member holds one record; unpacks only this record."""
    inflate = zlib.decompressobj(31)
    content, size = b"", 0
    head: RecordHead | None = None
    file.seek(0)
    while not inflate.eof and (data := file.read(_CHUNK)):
        try:
            piece = inflate.decompress(data)
        except zlib.error:
            break
        size += len(piece)
        if head is None:
            content += piece
            head = parse_head(content)
            if content and head is None and (not content.startswith(_WARC) or len(content) > MAX_HEAD):
                raise ArchiveError(path, _NOT_WARC)
        if head is not None and size > head.end + _TRAILER:
            return False
    return True


def _unpack(path: Path, file: IO[bytes], stream: lzma.LZMAFile | gzip.GzipFile) -> PlainWarc:
    spool = tempfile.TemporaryFile(prefix="bilingual-replay-", buffering=0)  # noqa: SIM115
    cut = False
    with file, stream:
        while True:
            try:
                # read1, because read would lose the data before the damage
                data = stream.read1(_UNPACK_CHUNK)
            except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
                cut = True
                break
            if not data:
                break
            spool.write(data)
    warc = PlainWarc(path, spool, cut=cut)
    if not os.pread(spool.fileno(), 5, 0).startswith(_WARC) and not cut:
        raise ArchiveError(path, _NOT_WARC)
    return warc
