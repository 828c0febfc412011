"""Files that are complete, or not there; files of others, read within bounds; folders that one process uses."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import logging
import lzma
import os
import socket
import stat
import sys
import zlib
from collections import Counter
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Self, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _typeshed import WriteableBuffer

logger = logging.getLogger(__name__)

DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)  # errors that reading a packed file may raise
GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
MAX_SKIPPED = 16 << 30  # bytes of what is too long that are read of a file, to find what follows it
_CHUNK = 1 << 16
_XZ_MEMORY = 256 << 20  # bytes that the dictionary of an xz file may take; ``xz -9`` takes 65 MB


class LockedError(Exception):
    """The folder is in use; the message names the process."""


class FolderLock:
    """An advisory lock on an existing folder, until it is closed or the process dies; a second one is refused.

    Raises LockedError, in the same process, too, or OSError if *folder* cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        # opened so that the name of the holder stays in it
        self._file = (folder / ".lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read(100)
            self._file.close()
            raise LockedError(f"is in use by process {holder}" if holder else "is in use") from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()} on {socket.gethostname()}")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def fileno(self) -> int:
        """The file descriptor: a process that inherits it holds the lock as well."""
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield the path to write to; what is there at the end becomes *file*. After an error, an old *file* stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, text: str, errors: str = "strict") -> None:
    """Replace the file *path* by *text*, which is on the disk then; a crash leaves the old file or the new one."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", errors=errors)
        to_disk(part)


class LeftOut(Counter[str]):
    """Counts of what a reader left out, by reason; the first of each reason is logged."""

    def add(self, reason: str, what: str) -> None:
        if not self[reason]:
            logger.warning(f"{what}: left out ({reason}); others like it are only counted")
        self[reason] += 1


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading, unbuffered; OSError if *path* is a pipe or a device, which might never end."""
    # without this flag the open itself waits until somebody writes to a pipe
    file = open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def open_packed(path: Path) -> IO[bytes]:
    """Open a file as :func:`open_regular` does, and unpack it if it is gzip, xz or zstd. See :data:`DAMAGE`."""
    return unpacked(open_regular(path))


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """The content of *file*, unpacked while it is read if it is gzip, xz or zstd."""
    magic = file.read(len(XZ))
    file.seek(0)
    if magic == XZ:
        return cast("IO[bytes]", io.BufferedReader(_Xz(file)))
    if magic.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if magic.startswith(ZSTD):
        return cast("IO[bytes]", zstd.ZstdFile(file))
    return cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", file)))


class _Xz(io.RawIOBase):
    """The content of xz streams; unlike ``lzma.open``, it allows no dictionary of any size."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            packed = b""
            if self._decoder.eof:
                packed = (self._decoder.unused_data or self._file.read(_CHUNK)).lstrip(b"\0")
                if not packed:
                    return 0
                self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
            elif self._decoder.needs_input:
                packed = self._file.read(_CHUNK)
                if not packed:
                    raise EOFError("the file ends before its content")
            if content := self._decoder.decompress(packed, len(view)):
                view[: len(content)] = content
                return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def lines_within(file: IO[bytes], limit: int) -> Iterator[bytes | None]:
    """The lines of *file* with their ends; None for one of *limit* bytes or more, which is not held in memory.

    EOFError after :data:`MAX_SKIPPED` bytes of such lines, which a packed file may claim to have without end.
    """
    room = MAX_SKIPPED
    while line := file.readline(limit):
        if len(line) < limit or line.endswith(b"\n"):
            yield line
            continue
        yield None
        while line and not line.endswith(b"\n"):
            line = file.readline(_CHUNK)
            room -= len(line)
            if room < 0:
                raise EOFError(f"it has lines of more than {MAX_SKIPPED >> 30} GB")


def read_within(path: Path, limit: int) -> bytes:
    """The content of a regular file, unpacked; ValueError if it has more than *limit* bytes, OSError as usual."""
    with open_packed(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"longer than {limit >> 20} MB")
    return content
