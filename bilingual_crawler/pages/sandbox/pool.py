"""The pool of helper processes: start helpers, send them jobs, end those that break a limit."""

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
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from multiprocessing import Pipe
from typing import Any, TypeVar

import msgspec

from bilingual_crawler.pages.sandbox.helper import DONE, DONE_AND_LEFT, OUT_OF_MEMORY, UNWANTED
from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError

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
_OVERLOAD = 2.0  # seconds for which jobs wait without a break before a second helper starts; a third needs half of it
_max_jobs = os.cpu_count() or 1
_thread = threading.local()
_suspects = threading.Lock()  # held by the job that runs once more after its helper was killed


def submit(job: Job[Result]) -> Future[Result]:
    """Run *job* in a helper process; the future raises SandboxError if it fails, or the ContentError of the job."""
    return _pool.submit(job)


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


class _Pool:
    """Threads that run jobs, each in a helper of its own, in their order.

    One is enough for most crawls, as pages are read faster than they are downloaded, and a helper costs a second and
    100 MB. So the last thread is a reserve: it begins when jobs have waited without a break.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Job[Any], Future[Any]]] = deque()
        self._overloaded = math.inf  # since when jobs wait
        self._threads: list[threading.Thread] = []
        self._closing = False

    def submit(self, job: Job[Result]) -> Future[Result]:
        future: Future[Result] = Future()
        with self._changed:
            if not self._waiting:
                self._overloaded = time.monotonic()
            self._waiting.append((job, future))
            if not self._threads:
                self._add_thread()
                self._add_thread()  # the reserve
            self._changed.notify_all()
        return future

    def close(self) -> None:
        """Wait for all jobs, and for the end of the helpers."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _add_thread(self) -> None:
        if len(self._threads) < processes():
            patience = _OVERLOAD / len(self._threads) if self._threads else 0.0
            thread = threading.Thread(target=self._work, args=(patience,), name="sandbox", daemon=True)
            try:
                thread.start()
                self._threads.append(thread)
            except RuntimeError:
                if not self._threads:
                    raise

    def _work(self, patience: float) -> None:
        while task := self._next(patience):
            job, future = task
            patience = 0.0
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(_do(job))
                except BaseException as error:
                    future.set_exception(error)
            del task, job, future
        if helper := getattr(_thread, "helper", None):
            helper.end()

    def _next(self, patience: float) -> tuple[Job[Any], Future[Any]] | None:
        """Take the first job, once jobs have waited for *patience* seconds without a break; None if the pool closes."""
        with self._changed:
            while not self._closing or (self._waiting and not patience):
                left = self._overloaded + patience - time.monotonic()
                if self._waiting and left <= 0:
                    task = self._waiting.popleft()
                    if patience:
                        self._overloaded = time.monotonic()
                        self._add_thread()
                    if not self._waiting:
                        self._overloaded = math.inf
                    return task
                self._changed.wait(left if self._waiting else None)
            return None


_pool = _Pool()


def close() -> None:
    """Wait for all jobs, end the helpers and wait for their end; the next job starts new ones."""
    closing = _pool
    _forget()
    closing.close()


def _forget() -> None:
    """A forked process has helpers of its own."""
    global _pool
    _pool = _Pool()


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
    helper: _Helper | None = getattr(_thread, "helper", None)
    if helper is None or not helper.runs():
        helper = _Helper()
    _thread.helper = None
    answer = helper.ask(job)
    status, content = answer[:1], memoryview(answer)[1:]
    if status == OUT_OF_MEMORY:
        helper.end()
        raise SandboxError("memory", f"needs more than {job.limits.megabytes:.0f} MB")
    if status == DONE_AND_LEFT:
        helper.end()
    else:
        _thread.helper = helper
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
        self.end()
        raise SandboxError("time", "does not end")

    def end(self) -> int:
        """End the process; returns its exit status as :class:`subprocess.Popen` does."""
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
