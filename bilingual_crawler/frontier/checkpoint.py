"""States of an LMDB environment that outlive the death of the machine.

Without waiting for the disk at every commit, the pages of a commit reach it in any order, and a power cut can leave a
root whose tree is not there. So from time to time the committed state is pinned by a reader, which keeps LMDB from
writing over any of its pages; when all of them are on the disk, the page that holds its root is copied aside. After a
restart of the machine that copy counts.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "checkpoint"
DATA = "data.mdb"
_TRANSACTION = struct.Struct("=Q")
_TRANSACTION_AT = 144
"""Where a meta page, of which LMDB has two and uses them in turn, holds the number of its transaction."""
_PAGE_NUMBER = struct.Struct("=Q")


def boot() -> str:
    """Another text after each start of the machine; empty where that cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def restore(folder: Path) -> None:
    """Before the environment in *folder* is opened: if the machine was restarted, go back to the last checkpoint."""
    saved = folder / NAME
    if not saved.exists():
        return
    written_in, meta = msgpack.unpackb(saved.read_bytes())
    if boot() in ("", written_in):
        return
    with (folder / DATA).open("r+b") as file:
        for number in range(2):
            file.write(_PAGE_NUMBER.pack(number) + meta[_PAGE_NUMBER.size :])
        file.flush()
        os.fsync(file.fileno())


class Checkpoints:
    """Makes checkpoints of an environment that is opened without ``sync``."""

    def __init__(self, env: Any, folder: Path) -> None:
        """If there is one from an earlier process, a new one is made at once: nobody pins the old one any more."""
        self._env = env
        self._folder = folder
        self._pins: list[Any] = []
        self._safe: Any = None
        if (folder / NAME).exists():
            self.begin()()

    def begin(self) -> Callable[[], None]:
        """Pin what is committed now; the result, to be called in any thread, waits until it is safe on the disk."""
        while self._safe and self._pins[0] is not self._safe:
            self._pins.pop(0).abort()
        pin = self._env.begin()
        self._pins.append(pin)
        meta = self._meta(pin.id())
        return lambda: self._complete(pin, meta)

    def end(self) -> None:
        """All is on the disk, and the environment is about to be closed."""
        for pin in self._pins:
            pin.abort()
        self._pins, self._safe = [], None
        (self._folder / NAME).unlink(missing_ok=True)

    def _complete(self, pin: Any, meta: bytes) -> None:
        self._env.sync(True)
        new = self._folder / f"{NAME}.new"
        with new.open("wb") as file:
            file.write(msgpack.packb((boot(), meta)))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._folder / NAME)
        to_disk(self._folder)
        self._safe = pin

    def _meta(self, transaction: int) -> bytes:
        size: int = self._env.stat()["psize"]
        with (self._folder / DATA).open("rb") as file:
            pages = [file.read(size) for _ in range(2)]
        return next(page for page in pages if _TRANSACTION.unpack_from(page, _TRANSACTION_AT)[0] == transaction)


def to_disk(path: Path) -> None:
    """Wait until what was written to a file, or the names in a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
