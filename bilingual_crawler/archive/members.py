"""The members of a gzip file: a record of a ``.warc.gz`` or a line of a ``.jsonl.gz`` is one of them."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, NamedTuple

from .records import MAX_HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 16


class Member(NamedTuple):
    """A complete gzip member."""

    offset: int
    end: int
    """Offset of the byte after the member."""
    start: bytes
    """The first bytes of the content."""
    size: int
    """Bytes of content."""


def read_members(fd: int, keep: int = MAX_HEAD) -> Iterator[Member]:
    """Yield the members of a file in order; stop at the first that is incomplete or damaged.

    *keep* is the number of bytes in ``Member.start``; the default suffices for the header of a record.
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
                content = inflate.decompress(data)
            except zlib.error:
                return
            data = inflate.unused_data
            size += len(content)
            start += content[: max(keep - len(start), 0)]
        end = position - len(data)
        yield Member(offset, end, bytes(start), size)
        offset = end


def read_member(fd: int, offset: int) -> bytes:
    """Return the content of the member at ``offset``."""
    inflate = zlib.decompressobj(31)
    parts = []
    while not inflate.eof and (data := os.pread(fd, _CHUNK, offset)):
        parts.append(inflate.decompress(data))
        offset += len(data)
    return b"".join(parts)
