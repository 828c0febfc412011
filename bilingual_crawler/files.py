"""Files that are complete, or not there; folders that one process uses."""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LockedError(Exception):
    """The folder is in use; the message names the process."""


class FolderLock:
    """An advisory lock on an existing folder, until it is closed or the process dies.

    Others read and write in the folder as before; only a second lock is refused, in this process, too. Raises
    LockedError, or OSError if *folder* cannot be written.
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

    def close(self) -> None:
        self._file.close()


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield the path to write to; what is there at the end becomes *file*.

    An old *file* stays until then, and after an error. Processes that write the same file do not meet.
    """
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
