"""One worker process, which ends with the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from bilingual_crawler.pages.sandbox.pool import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
LOG = "worker.log"  # what a worker writes on standard output and standard error, in its output folder
NO_PAGE = 1  # exit status of a crawl without a page, as one of several workers may have, or whose summary says why
NOT_STARTED = 2  # exit status of a crawl that could not start: its Redis was away, as the arguments are checked
MAX_DEATHS = 10  # of a worker; each page kills two workers at most, so there is another cause


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its *parent* (process id) ends; other systems than Linux cannot."""
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def start(command: Sequence[str], log_file: Path, **more: Any) -> subprocess.Popen[bytes]:
    """Start *command*, whose outputs go to the end of *log_file*; Ctrl-C does not reach it, the parent passes it on."""
    with log_file.open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **more
        )


class WorkerProcess:
    """A process that runs *command* with its output *folder*; it is started again after a death."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self.broken = False  # whether it has ended in a way that another start would not change

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._process = start(self._command, self.folder / LOG, env=environment())

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Send SIGTERM: the first ends the crawl in order, the second at once."""
        if self._process and self.runs():
            self._process.terminate()

    def revive(self) -> str:
        """Start the process again if it was killed, or could not start; return what happened, empty if nothing new."""
        if self.broken or self._process is None or self.runs() or self._process.returncode in (0, NO_PAGE):
            return ""
        status = self._process.returncode
        if status > 0 and status != NOT_STARTED:
            self.broken = True
            return f"{self.folder.name} ended with exit status {status}; {self.folder / LOG} says why"
        happened = "could not start" if status > 0 else f"was killed by {signal.Signals(-status).name}"
        self._deaths += 1
        if self._deaths > MAX_DEATHS:
            self.broken = True
            what = f"{happened} for the {self._deaths}th time; the other workers go on without it"
            return f"{self.folder.name} {what}; {self.folder / LOG} says why"
        self.start()
        return f"{self.folder.name} {happened}, and starts again"
