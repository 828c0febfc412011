"""One WARC record that was cut out of its file, by offset and length."""

from __future__ import annotations

import zlib
from pathlib import PurePosixPath

from bilingual_crawler.archive.records import MAX_RECORD, parse_head

_MAX_OFFSET = 1 << 63


class NoRecord(Exception):
    """Why a place in an archive gives no record."""


def check_place(file: str, offset: int, length: int, limit: int = MAX_RECORD) -> None:
    """NoRecord unless *length* bytes from *offset*, at most *limit*, may be a record of *file* below some folder."""
    if length > limit:
        raise NoRecord("too long")
    path = PurePosixPath(file)
    if not 0 <= offset < _MAX_OFFSET or length <= 0 or path.is_absolute() or ".." in path.parts:
        raise NoRecord("not a place in an archive")


def unpack(member: bytes, limit: int = MAX_RECORD) -> bytes:
    """The record, of at most *limit* bytes, in a gzip *member* or as it is; NoRecord if it is none, or incomplete."""
    return complete(member if member.startswith(b"WARC/") else _inflate(member, limit))


def complete(record: bytes) -> bytes:
    """*record*; NoRecord if it has no valid header, or is shorter than that says."""
    head = parse_head(record)
    if head is None or head.end > len(record):
        raise NoRecord("damaged record")
    return record


def _inflate(member: bytes, limit: int) -> bytes:
    inflate = zlib.decompressobj(31)
    try:
        record = inflate.decompress(member, limit)
    except zlib.error as error:
        raise NoRecord("damaged record") from error
    if inflate.unconsumed_tail:
        raise NoRecord("too long")
    if not inflate.eof:
        raise NoRecord("damaged record")
    return record
