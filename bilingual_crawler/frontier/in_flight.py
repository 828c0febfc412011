"""The URLs in flight, in a small file that survives the death of the process."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SIZE = 16
_NONE = bytes(_SIZE)
_ROOM = 4096


class InFlight:
    """The digests of the URLs in flight.

    The file is mapped into memory, so a mark survives the process without a system call. Marks of an earlier process
    are deleted.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._map: mmap.mmap | None = None
        self._free: list[int] = []

    def mark(self, digest: bytes) -> int:
        """Add a URL; the result is the argument of :meth:`clear`. Raises OSError if the disk is full."""
        if not self._free:
            self._grow()
        assert self._map
        at = self._free.pop()
        self._map[at : at + _SIZE] = digest
        return at

    def clear(self, mark: int) -> None:
        assert self._map
        self._map[mark : mark + _SIZE] = _NONE
        self._free.append(mark)

    def close(self) -> None:
        """Delete the file: the process ends in order."""
        if self._map:
            self._map.close()
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _grow(self) -> None:
        """Double the file by writing zeros, because on a full disk a page that was never written would be fatal."""
        size = self._file.seek(0, 2)
        room = size or _ROOM
        self._file.write(bytes(room))
        self._file.flush()
        if self._map:
            self._map.close()
        self._map = mmap.mmap(self._file.fileno(), size + room)
        self._free.extend(range(size, size + room, _SIZE))


def left_in_flight(path: Path) -> list[bytes]:
    """The digests that a dead process has left at *path*."""
    left = path.read_bytes() if path.exists() else b""
    digests = (left[at : at + _SIZE] for at in range(0, len(left), _SIZE))
    return [digest for digest in digests if digest != _NONE]
