"""The pool of helper processes: start helpers, send them jobs, end those that break a limit."""

from __future__ import annotations

import functools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bilingual_crawler.pages.sandbox.helper import DONE, DONE_AND_LEFT, OUT_OF_MEMORY, UNWANTED
from bilingual_crawler.pages.sandbox.jobs import ContentError, SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from bilingual_crawler.pages.sandbox.jobs import Job, Limits

    Item = TypeVar("Item")
    Result = TypeVar("Result")


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs *module*, with :func:`environment`."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with its module search path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path)}


_PATIENCE = 30.0  # seconds for a silent helper, plus as many times the processor time of the job
_AHEAD = 4  # jobs for each process that `ahead` begins before their results are taken
_OVERLOAD = 2.0  # seconds for which jobs wait without a break before another helper starts
_max_jobs = os.cpu_count() or 1
_suspects = threading.Lock()  # held by the job that runs once more after its helper was killed
_helpers: set[_Helper] = set()  # all helpers, to be ended by `close`


def submit(job: Job[Result]) -> Future[Result]:
    """Run *job* in a helper process; the future raises SandboxError if it fails, or the ContentError of the job."""
    return _threads().submit(_do, job)


def ahead(work: Iterable[tuple[Item, Future[Result]]]) -> Iterator[tuple[Item, Future[Result]]]:
    """Yield *work*, items and their jobs, in order, while some jobs for each process are read ahead."""
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    for one in work:
        waiting.append(one)
        if len(waiting) > _AHEAD * processes():
            yield waiting.popleft()
    yield from waiting


def processes() -> int:
    """Number of jobs that run at a time."""
    return _max_jobs


def use(count: int) -> None:
    """Run at most *count* jobs, and threads of models, at a time in this process; before the first job."""
    global _max_jobs
    _max_jobs = count


class _Places:
    """A place for each helper, or for one to come. There is one, and twice as many if jobs wait without a break.

    Most pages are read faster than the crawl takes them, and a helper costs a second and 100 MB.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._free: list[_Helper | None] = [None]
        self._count, self._waiting = 1, 0
        self._overloaded = math.inf  # since when jobs have waited without a break

    def take(self) -> _Helper | None:
        """Wait for a place; return its helper, None if it has none yet."""
        with self._changed:
            self._waiting += 1
            while not self._free:
                self._overloaded = min(self._overloaded, time.monotonic())
                left = self._overloaded + _OVERLOAD - time.monotonic()
                if self._count < processes() and left <= 0:
                    more = min(self._count, processes() - self._count)
                    self._count += more
                    self._free += [None] * more
                    self._overloaded = math.inf
                    self._changed.notify(more)
                else:
                    self._changed.wait(left if self._count < processes() else None)
            self._waiting -= 1
            return self._free.pop()

    def leave(self, helper: _Helper | None) -> None:
        """Free the place of *helper*, None if it has ended."""
        with self._changed:
            self._free.append(helper)
            if not self._waiting:
                self._overloaded = math.inf
            self._changed.notify()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(processes(), thread_name_prefix="sandbox")


_places = _Places()


def close() -> None:
    """Wait for all jobs, end the helpers and wait for their end; the next job starts new ones."""
    if _threads.cache_info().currsize:
        _threads().shutdown()
        for helper in list(_helpers):
            helper.end()
        _forget()


def _forget() -> None:
    """A forked process has helpers of its own."""
    global _places
    _threads.cache_clear()
    _places = _Places()
    _helpers.clear()


os.register_at_fork(after_in_child=_forget)


def _do(job: Job[Result]) -> Result:
    """Run *job*, and once more, with no other such job, if its helper was killed, perhaps without its fault."""
    try:
        return _attempt(job)
    except _KilledError:
        with _suspects:
            return _attempt(job)


class _KilledError(SandboxError):
    """The helper was killed."""


def _attempt(job: Job[Result]) -> Result:
    places = _places
    helper = places.take()
    try:
        if helper is None or not helper.runs():
            helper = _Helper()
        answer = helper.ask(job)
        status, content = answer[:1], memoryview(answer)[1:]
        if status in (OUT_OF_MEMORY, DONE_AND_LEFT):
            helper.end()
    finally:
        places.leave(helper if helper in _helpers else None)
    if status == OUT_OF_MEMORY:
        raise SandboxError("memory", f"needs more than {job.limits.megabytes:.0f} MB")
    if status not in (DONE, DONE_AND_LEFT, UNWANTED):
        raise SandboxError("crash", str(content, "utf-8", "replace"))
    try:
        if status == UNWANTED:
            raise ContentError(*_decoder(tuple[str, str]).decode(content))
        return _decoder(job.returns).decode(content)  # type: ignore[no-any-return]
    except msgspec.DecodeError as error:
        raise SandboxError("crash", f"the helper process gave no result: {error}") from error


@functools.cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


class _Helper:
    """One helper process. It ends when this process does, since it reads from its pipe."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        self._process = subprocess.Popen(
            command("bilingual_crawler.pages.sandbox.helper", str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            env=environment(),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # only the crawl reacts to Ctrl-C, as it decides which jobs are finished
        )
        theirs.close()
        _helpers.add(self)

    def runs(self) -> bool:
        return self._process.poll() is None

    def ask(self, job: Job[Any]) -> bytes:
        """The answer; raises SandboxError if the process ended without one."""
        try:
            self._pipe.send_bytes(pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
            if self._pipe.poll(_PATIENCE * (1 + job.limits.seconds)):
                return self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise _reason(self.end(), job.limits) from None
        except BaseException:
            self.end()  # its answer may still be in the pipe
            raise
        self.end()
        raise SandboxError("time", "does not end")

    def end(self) -> int:
        """End the process; returns its exit status as :class:`subprocess.Popen` does."""
        _helpers.discard(self)
        self._pipe.close()
        try:
            return self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _reason(status: int, limits: Limits) -> SandboxError:
    if status == -signal.SIGPROF:
        return SandboxError("time", f"needs more than {limits.seconds:g} s of processor time")
    if status in (-signal.SIGKILL, -signal.SIGTERM):
        return _KilledError("memory", "its helper process was killed twice, perhaps as the system had no memory left")
    return SandboxError("crash", f"the helper process ended with status {status}")
