"""The members of a gzip file: a record of a ``.warc.gz`` or a line of a ``.jsonl.gz`` is one of them."""

from __future__ import annotations

import os
import sys
import zlib
from typing import TYPE_CHECKING, NamedTuple

from .ranges import NoRecord
from .records import MAX_HEAD, MAX_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 16
_PIECE = 1 << 20
"""Bytes that are unpacked at a time, as a chunk may hold a thousand times as much."""


class Member(NamedTuple):
    """A complete gzip member."""

    offset: int
    end: int
    """Offset of the byte after the member."""
    start: bytes
    """The first bytes of the content."""
    size: int
    """Bytes of content."""


def read_members(fd: int, keep: int = MAX_HEAD, max_skipped: int = sys.maxsize) -> Iterator[Member]:
    """Yield the members of a file in order; stop at the first that is incomplete or damaged.

    *keep* is the number of bytes in ``Member.start``; the default suffices for the header of a record. To find the end
    of a member that is longer than a record can be, it is unpacked; *max_skipped* limits the bytes of all of these.
    """
    offset = position = 0
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
                return
            data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            size += len(content)
            start += content[: max(keep - len(start), 0)]
            if size - MAX_RECORD > max_skipped:
                return
        max_skipped -= max(size - MAX_RECORD, 0)
        end = position - len(data)
        yield Member(offset, end, bytes(start), size)
        offset = end


def read_member(fd: int, offset: int) -> bytes:
    """Return the content of the member at ``offset``; NoRecord if it is damaged, or longer than a record can be."""
    inflate = zlib.decompressobj(31)
    content = bytearray()
    while not inflate.eof:
        data = inflate.unconsumed_tail
        if not data:
            data = os.pread(fd, _CHUNK, offset)
            offset += len(data)
        try:
            content += inflate.decompress(data, MAX_RECORD + 1 - len(content))
        except zlib.error as error:
            raise NoRecord("damaged record") from error
        if len(content) > MAX_RECORD:
            raise NoRecord("too long")
        if not data:
            raise NoRecord("damaged record")
    return bytes(content)
