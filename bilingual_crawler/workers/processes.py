"""The child processes of a crawl: its workers, and a Redis server that nobody else can reach."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import redis

from bilingual_crawler.frontier.entry import State
from bilingual_crawler.frontier.frontier import StoreError
from bilingual_crawler.frontier.redis_store import prefix_of
from bilingual_crawler.pages.sandbox.pool import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bilingual_crawler.storage.files import FolderLock

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
LOG = "worker.log"
"""What a worker writes on standard output and standard error, in its output folder."""
NO_PAGE = 1
"""Exit status of a crawl without a page, as one of several workers may have, or of one whose summary says why."""
NOT_STARTED = 2
"""Exit status of a crawl that could not start. The arguments were checked before: its Redis was away."""
MAX_DEATHS = 10
"""Deaths after which a worker is not started again: each page kills two workers at most, so there is another cause."""


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its *parent* (process id) ends; other systems than Linux cannot."""
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class WorkerProcess:
    """A process that runs *command* with its output *folder*; it is started again after a death."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self.broken = False
        """Whether it has ended in a way that another start would not change."""

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # the parent passes Ctrl-C on
            )

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
            return (
                f"{self.folder.name} {happened} for the {self._deaths}th time; the other workers go on without it;"
                f" {self.folder / LOG} says why"
            )
        self.start()
        return f"{self.folder.name} {happened}, and starts again"


PROGRAM = "redis-server"
SERVER_LOG = "redis.log"
ANSWER_SECONDS = 2.0
STOP_SECONDS = 60.0
"""Seconds in which the server must end when it is stopped; what it has answered is in its file before."""


class PrivateRedis:
    """A Redis server with a socket in *place*, a folder of this user alone, and its data in *folder*.

    *folder* may hold the data of an earlier run. An answer is sent after the change has reached the operating system,
    so ``kill -9`` loses nothing; a power cut may lose the last second. The server holds *locks* as well as this
    process: no second server opens its data. It ends when this process does.
    """

    def __init__(self, folder: Path, place: Path, locks: Sequence[FolderLock]) -> None:
        self._folder = folder
        self._socket = place / "redis.sock"
        self._locks = locks
        self.url = f"unix://{quote(str(self._socket))}"
        self._client = redis.Redis.from_url(self.url, socket_timeout=ANSWER_SECONDS, retry=None)
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False
        self._queued = 0

    def start(self) -> None:
        """Start the server; raises StoreError if that is not possible."""
        self._has_answered = False
        options = (
            *("--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700", "--dir", str(self._folder)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"),
        )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / SERVER_LOG).open("ab") as log:
                self._process = subprocess.Popen(
                    (PROGRAM, *options),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock.fileno() for lock in self._locks],
                    preexec_fn=partial(die_with, os.getpid()),
                    start_new_session=True,
                )
        except OSError as error:
            raise StoreError(f"{PROGRAM} cannot be started: {error}") from error

    def wait(self, interrupted: Callable[[], bool]) -> None:
        """Wait until the server has read its data and answers, or until *interrupted*; raises StoreError if it ends."""
        while not (interrupted() or self._ask()):
            self._check()
            time.sleep(0.05)

    def revive(self) -> bool:
        """Start the server again if it has ended; return whether it had. StoreError if it had not answered before."""
        if self._process is None or self._process.poll() is None:
            return False
        if not self._has_answered:
            self._check()
        self.start()
        return True

    def queued(self) -> int:
        """Return the number of URLs in the queue and in flight; the last known one while the server is away."""
        self._ask()
        return self._queued

    def stop(self) -> None:
        """End the server in order."""
        self._client.close()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self) -> bool:
        try:
            counts = self._client.hmget(
                f"{prefix_of(self.url)}counts", [str(int(State.QUEUED)), str(int(State.IN_FLIGHT))]
            )
        except redis.RedisError:
            return False
        self._queued = sum(int(count or 0) for count in counts)
        self._has_answered = True
        return True

    def _check(self) -> None:
        """Raise StoreError, with the last line of its log, if the server has ended."""
        if self._process and self._process.poll() is not None:
            lines = (self._folder / SERVER_LOG).read_text(encoding="utf-8", errors="replace").splitlines()
            raise StoreError(f"{PROGRAM} does not start: {(lines or ['no reason given'])[-1].strip()}")
