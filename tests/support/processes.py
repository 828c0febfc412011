"""What a process and all that it has started take of the memory."""

import threading
from contextlib import suppress
from typing import Self

import psutil

from support.fork_server import is_server

INTERVAL = 0.1
"""Seconds between two looks."""
STEP = 1 << 20
"""Bytes by which a process has grown or shrunk if its memory is counted again."""


class PeakMemory:
    """A context in which the process *pid* and all that it has started is watched, or only what it starts *below*.

    What is *below* already, such as a browser of an earlier test that is still ending, is not counted then.

    ``most`` is the most memory that they had together, in bytes; what several of them share counts once.
    """

    def __init__(self, pid: int, *, below: bool = False) -> None:
        self.most = 0
        self._process = psutil.Process(pid)
        self._before = {one.pid for one in self._process.children(recursive=True)} if below else set()
        self._below = below
        self._known: dict[int, tuple[int, int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(INTERVAL):
            with suppress(psutil.Error):
                started = self._process.children(recursive=True)
                family = [one for one in started if not (is_server(one.pid) or one.pid in self._before)]
                self.most = max(self.most, sum(map(self._share, family if self._below else (self._process, *family))))

    def _share(self, process: psutil.Process) -> int:
        """Counted again if what the process has, shared or not, has changed: the kernel visits every page for it."""
        try:
            resident = process.memory_info().rss
            if abs(resident - self._known.get(process.pid, (-STEP, 0))[0]) >= STEP:
                self._known[process.pid] = resident, process.memory_full_info().pss
        except psutil.Error:
            return 0
        return self._known[process.pid][1]
