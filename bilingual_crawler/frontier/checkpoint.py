"""Checkpoints of an LMDB environment, which survive a power cut.

Commits do not wait for the disk, so their pages reach it in any order, and a power cut can leave a root without its
tree. A checkpoint pins the committed state with a reader, which keeps LMDB from overwriting its pages. When all of them
are on the disk, the page with the root is copied aside. After a restart of the machine that copy is the root.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import msgspec

from bilingual_crawler.frontier.backoff import NO_DESCRIPTOR, own_shortage
from bilingual_crawler.frontier.frontier import StoreError
from bilingual_crawler.storage.files import replacing, to_disk

NAME = "checkpoint"
DATA = "data.mdb"
_WORD = struct.Struct("=Q")
_TRANSACTION_AT = 144  # offset of the transaction number in a meta page. LMDB has two meta pages and uses them in turn.


def boot() -> str:
    """Identifier of the current boot of the machine; empty if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def restore(folder: Path) -> None:
    """Go back to the last checkpoint if the machine was restarted, before the environment is opened; or StoreError."""
    saved = folder / NAME
    if not saved.exists():
        return
    try:
        written_in, meta = msgspec.msgpack.decode(saved.read_bytes(), type=tuple[str, bytes])
    except msgspec.DecodeError as error:
        fix = "delete it to go on with the frontier as it is"
        raise StoreError(f"{saved}: not a checkpoint ({error}); {fix}") from error
    if boot() in ("", written_in):
        return
    with (folder / DATA).open("r+b") as file:
        for number in range(2):
            # a page begins with its number
            file.write(_WORD.pack(number) + meta[_WORD.size :])
    to_disk(folder / DATA)


class LmdbCheckpoints:
    """Makes checkpoints, one at a time, of an environment without ``sync``.

    An environment that is not new needs a checkpoint before the first write, because no reader pins the pages of the
    last one any more. After a failed checkpoint no other is made, as the system reports a failed write only once.
    """

    def __init__(self, env: Any, folder: Path) -> None:
        self._env = env
        self._folder = folder
        self._pins: list[Any] = []
        self._safe: Any = None
        self._failed: StoreError | None = None

    def begin(self, first: Callable[[], None] = lambda: None) -> Callable[[], None]:
        """Pin the committed state. The result, for any thread, calls *first* and waits until the state is on the disk.

        Both raise StoreError if *first* or the disk fails; OSError if no file can be opened: the next one has all.
        """
        if self._failed:
            raise self._failed
        for pin in self._pins:
            if pin is not self._safe:
                pin.abort()
        pin = self._env.begin()
        self._pins = [pin] if self._safe is None else [self._safe, pin]
        size: int = self._env.stat()["psize"]
        with (self._folder / DATA).open("rb") as file:
            pages = [file.read(size) for _ in range(2)]
        meta = next(page for page in pages if _WORD.unpack_from(page, _TRANSACTION_AT)[0] == pin.id())
        return lambda: self._complete(pin, meta, first)

    def end(self) -> None:
        """Note that everything is on the disk, before the environment is closed."""
        if self._failed:
            return
        for pin in self._pins:
            pin.abort()
        (self._folder / NAME).unlink(missing_ok=True)
        to_disk(self._folder)

    def _complete(self, pin: Any, meta: bytes, first: Callable[[], None]) -> None:
        try:
            first()
            self._env.sync(True)
            with replacing(self._folder / NAME) as new:
                new.write_bytes(msgspec.msgpack.encode((boot(), meta)))
                to_disk(new)
            to_disk(self._folder)
        except (OSError, lmdb.Error) as error:
            if own_shortage(error) in NO_DESCRIPTOR:
                raise
            message = f"{self._folder}: not all could be brought to the disk ({error}); make room and resume"
            self._failed = StoreError(message)
            raise self._failed from error
        self._safe = pin
