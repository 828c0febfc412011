"""A job for a helper process that reports its use of time and memory, also to an observer outside."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bilingual_crawler.pages.sandbox.jobs import Job, Limits


def memory(pid: int | str = "self") -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Measured(Job[float]):
    """Do *job* and return the seconds of processor time that it took.

    What the helper had used before is in a file of *folder* with its process id as long as the job lasts.
    """

    returns: ClassVar[Any] = float
    job: Job[Any]
    folder: str
    name: str

    @property
    def limits(self) -> Limits:
        return self.job.limits

    def prepare(self) -> None:
        self.job.prepare()
        limits = self.limits
        note = Path(self.folder, f"{os.getpid()}.new")
        note.write_text(f"{self.name} {time.process_time()} {memory()} {limits.seconds} {limits.megabytes}")
        note.replace(self._note)

    def run(self) -> float:
        before = time.process_time()
        try:
            self.job.run()
            return time.process_time() - before
        finally:
            self._note.unlink(missing_ok=True)

    @property
    def _note(self) -> Path:
        return Path(self.folder, str(os.getpid()))
