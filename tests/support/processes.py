"""What a process and all that it has started take of the memory."""

import threading
from contextlib import suppress
from itertools import count
from typing import Self

import psutil

from support.fork_server import is_server

INTERVAL = 0.1
"""Seconds between two looks."""
STEP = 1 << 20
"""Bytes by which a process has grown or shrunk if what it shares is counted before the fifth look."""


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
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        counted: dict[int, int] = {}
        for number in count():
            if self._over.wait(INTERVAL):
                break
            with suppress(psutil.Error):
                started = self._process.children(recursive=True)
                family = [one for one in started if not (is_server(one.pid) or one.pid in self._before)]
                watched = family if self._below else [self._process, *family]
                resident = {one.pid: _memory(one, "rss") for one in watched}
                same = resident.keys() == counted.keys()
                if number % 5 and same and all(abs(size - counted[pid]) < STEP for pid, size in resident.items()):
                    continue
                # the kernel visits every page for this
                self.most = max(self.most, sum(_memory(one, "pss") for one in watched))
                counted = resident


def _memory(process: psutil.Process, kind: str) -> int:
    try:
        return int(getattr(process.memory_info() if kind == "rss" else process.memory_full_info(), kind))
    except psutil.Error:
        return 0
