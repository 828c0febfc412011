"""What a process and all that it has started take of the memory."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

INTERVAL = 0.1
"""Seconds between two looks."""


def family(ancestor: int) -> set[int]:
    """Process ids of *ancestor* and of all its descendants."""
    parents = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found, more = {ancestor}, {ancestor}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found


def memory(pids: set[int]) -> int:
    """Bytes of the processes together; what several of them share counts once."""
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        if "Pss:" in rollup:
            total += int(rollup.partition("Pss:")[2].split()[0]) << 10
    return total


class PeakMemory:
    """A context in which the memory of *ancestor* and its descendants is watched; *most* is the most, in bytes."""

    def __init__(self, ancestor: int) -> None:
        self.most = 0
        self._ancestor = ancestor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(INTERVAL):
            self.most = max(self.most, memory(family(self._ancestor)))
