"""Repair a WARC file whose writer was killed."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import zlib
from typing import TYPE_CHECKING

from .members import read_members

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

_TAIL = 1 << 14
_MAGIC = b"\x1f\x8b\x08"


def cut_partial_member(path: Path) -> int:
    """Cut a ``.warc.gz`` after its last complete member; return the bytes removed, usually 0.

    A file without any complete member is deleted. OSError if another crawl is writing the file.
    """
    size = path.stat().st_size
    with path.open("r+b") as file:
        claim(file.fileno(), path)
        if _ends_with_record(file.fileno(), size):
            return 0
        end = 0
        for member in read_members(file.fileno()):
            end = member.end
        file.truncate(end)
        os.fsync(file.fileno())
    if end == 0:
        path.unlink()
    return size - end


def claim(fd: int, path: Path) -> None:
    """Lock a file until it is closed; OSError if another crawl holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(errno.EBUSY, "another crawl is writing to this folder", str(path)) from error
    except OSError:
        logger.debug(f"{path} is on a file system without locks")


def _ends_with_record(fd: int, size: int) -> bool:
    """Whether the file ends with a complete small record. If so, a long file need not be read."""
    tail = os.pread(fd, _TAIL, max(0, size - _TAIL))
    at = tail.rfind(_MAGIC)
    while at >= 0:
        inflate = zlib.decompressobj(31)
        try:
            content = inflate.decompress(tail[at:])
        except zlib.error:
            content = b""
        if content.startswith(b"WARC/"):
            return inflate.eof and not inflate.unused_data
        at = tail.rfind(_MAGIC, 0, at)
    return False
