"""What processes take: memory, and the processor time of a command with everything that it starts.

    python -m benchmarks.processes RESULT COMMAND…

runs COMMAND, waits until it and all that it has started have ended, detached processes too, and writes their
:class:`Taken` to the file RESULT.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PR_SET_CHILD_SUBREAPER = 36
_BETWEEN = 0.1  # seconds between two looks at the memory


class Taken(NamedTuple):
    """What a command and all that it started took."""

    seconds: float
    """Processor time, user and system."""
    wall: float
    """Seconds until the last process has ended."""
    peak_mb: float
    """Highest sum of the proportional set sizes: memory that several processes share counts once."""


def own_memory(pid: int | str = "self") -> int:
    """Bytes of memory of a process that no file backs, as the mapped file of a store does."""
    return _kilobytes(Path(f"/proc/{pid}/status"), "RssAnon:") << 10


def measure(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Taken:
    """Run *command* in *folder*, its outputs in the file ``log`` there; RuntimeError with their end if it fails."""
    result, log = folder / "taken.json", folder / "log"
    # a process of its own waits for all of its children, and this one may have others, as servers
    watching = [sys.executable, __file__, str(result), *command]
    with log.open("w") as output:
        status = subprocess.run(watching, cwd=folder, stdout=output, stderr=output, env=environment).returncode
    if status:
        raise RuntimeError(f"{' '.join(command)} failed ({status}): {log.read_text(errors='replace')[-2000:]}")
    return Taken(*json.loads(result.read_text()))


def _watch(command: Sequence[str]) -> tuple[int, Taken]:
    """Return the exit status of *command*, and what it took."""
    # orphans become children of this process, whatever session they are in
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begun, peak, result = time.perf_counter(), 0, 0
    main = subprocess.Popen(command).pid
    while True:
        peak = max(peak, sum(map(_proportional, _descendants(os.getpid()))))
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == main:
            result = os.waitstatus_to_exitcode(status)
        if not pid:
            time.sleep(_BETWEEN)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, Taken(used.ru_utime + used.ru_stime, time.perf_counter() - begun, peak / 1024)


def _descendants(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = tasks.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def _proportional(pid: int) -> int:
    try:
        return _kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")
    except (OSError, IndexError):  # it has ended
        return 0


def _kilobytes(path: Path, name: str) -> int:
    return int(path.read_text().partition(f"\n{name}")[2].split()[0])


if __name__ == "__main__":
    code, taken = _watch(sys.argv[2:])
    Path(sys.argv[1]).write_text(json.dumps(taken))
    sys.exit(code)
