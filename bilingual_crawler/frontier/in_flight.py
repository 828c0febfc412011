"""What is in flight, in a small file that a process leaves behind when it dies."""

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

    The file is mapped into memory: what is written there survives the process without a system call for each URL. What
    another process left in it is gone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._map: mmap.mmap | None = None
        self._free: list[int] = []

    def mark(self, digest: bytes) -> int:
        """Note a URL; the result is for :meth:`clear`. Raises OSError if there is no room for more."""
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
        """The process ends in good order."""
        if self._map:
            self._map.close()
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _grow(self) -> None:
        """Double the file by writing zeros: where the disk is full, a page that was never written would be fatal."""
        size = self._file.seek(0, 2)
        room = size or _ROOM
        self._file.write(bytes(room))
        self._file.flush()
        if self._map:
            self._map.close()
        self._map = mmap.mmap(self._file.fileno(), size + room)
        self._free.extend(range(size, size + room, _SIZE))


def left_in_flight(path: Path) -> list[bytes]:
    """The digests that a process which died has left at *path*."""
    left = path.read_bytes() if path.exists() else b""
    digests = (left[at : at + _SIZE] for at in range(0, len(left), _SIZE))
    return [digest for digest in digests if digest != _NONE]
