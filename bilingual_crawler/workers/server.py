"""The Redis server of one crawl, which nobody else can reach."""

from __future__ import annotations

import os
import subprocess
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import redis

from bilingual_crawler.frontier.entry import State
from bilingual_crawler.frontier.frontier import StoreError
from bilingual_crawler.frontier.redis_store import prefix_of
from bilingual_crawler.workers.processes import die_with

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bilingual_crawler.storage.files import FolderLock

PROGRAM = "redis-server"
LOG = "redis.log"
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
        options: dict[str, Any] = {
            "port": 0,
            "unixsocket": self._socket,
            "unixsocketperm": 700,
            "dir": self._folder,
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / LOG).open("ab") as log:
                self._process = subprocess.Popen(
                    [PROGRAM, *(part for name, value in options.items() for part in (f"--{name}", str(value)))],
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
            lines = (self._folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
            raise StoreError(f"{PROGRAM} does not start: {(lines or ['no reason given'])[-1].strip()}")
