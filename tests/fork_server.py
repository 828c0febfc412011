"""``scrapy`` in a process that is forked from one that has imported what a crawl imports, so that it starts at once."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

OURS = {str(Path(__file__).parent), str(Path(__file__).parents[1])}
"""Folders that the tests add to the module search path."""

used = False
"""Whether ``scrapy`` is forked; benchmarks start a new interpreter."""
_context = multiprocessing.get_context("forkserver")
# the server has the folder from which the tests are run on its path
_context.set_forkserver_preload(["tests.crawl_loads"])


class Forked:
    """A forked ``scrapy`` in a process group of its own; what it has of :class:`subprocess.Popen` does the same."""

    def __init__(self, folder: Path, command: Sequence[str], environment: dict[str, str]) -> None:
        self.args = command
        pipes = [_context.Pipe(duplex=False) for _ in ("stdout", "stderr")]
        theirs = [their for _, their in pipes]
        self._process = _context.Process(target=_become, args=(folder, command, environment, *theirs))
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid
        atexit.register(self.kill)
        for their in theirs:
            their.close()
        self._said = ["", ""]
        self._readers = [
            threading.Thread(target=self._read, args=(n, ours), daemon=True) for n, (ours, _) in enumerate(pipes)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, number: int, pipe: Connection) -> None:
        with pipe, open(pipe.fileno(), encoding="utf-8", closefd=False) as file:
            self._said[number] = file.read()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote, once it and all that holds its outputs has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        for reader in self._readers:
            reader.join(end and max(0, end - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(end and max(0, end - time.monotonic()))
        out, err = self._said
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _become(
    folder: Path, command: Sequence[str], environment: dict[str, str], out: Connection, err: Connection
) -> None:
    """Become the process that *command*, ``python -m …``, is in *folder* and with *environment*."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    given = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [str(folder), *given, *(path for path in sys.path if path and path not in {*OURS, *given})]
    module, *sys.argv[1:] = command[2:]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        # multiprocessing ends a process without them
        atexit._run_exitfuncs()
