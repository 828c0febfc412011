"""A connection to Redis that survives outages of Redis, and runs named Lua scripts."""

from __future__ import annotations

import logging
import threading
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from bilingual_crawler import to_install
from bilingual_crawler.frontier.store import StoreError, StoreLost

try:
    import redis
    from redis import exceptions
except ImportError as error:
    raise StoreError(f"BILINGUAL_FRONTIER: Redis needs its client: {to_install('redis')}") from error

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
_LATER = frozenset(
    ("MISCONF", "OOM", "READONLY", "NOREPLICAS", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY")
)
"""Codes of temporary errors of a server: disk or memory full, starting, failing over."""
_LATER_CLASSES = (
    *(redis.ConnectionError, redis.TimeoutError, redis.OutOfMemoryError, redis.ReadOnlyError),
    *(exceptions.ClusterDownError, exceptions.TryAgainError),
)
"""Those of them for which the client has a class, and removes the code from the message."""
_LOST = "LOST"
"""Code of ``lua/common.lua``."""


class RedisLink:
    """Runs commands and the scripts of ``frontier/lua`` on the keys under *prefix*.

    A command without an answer is sent again until it is answered, or until :meth:`give_up`. So every command must be
    idempotent. Raises :class:`StoreError` if the server cannot be reached at the start, refuses the password, or is
    given up; and :class:`StoreLost` if it does not hold the crawl any more that was joined.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._where = f"Redis at {parts.hostname}:{parts.port or 6379}"
        self.prefix = f"bilingual:{parts.fragment or 'crawl'}:"
        try:
            self._redis = redis.Redis.from_url(
                url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=CONNECT_SECONDS, retry=None
            )
            self._redis.ping()
        except (redis.RedisError, TypeError, ValueError) as error:
            raise StoreError(f"BILINGUAL_FRONTIER: {self._where} cannot be used as a frontier: {error}") from error
        common, *scripts = _sources()
        self._scripts = {name: self._redis.register_script(common[1] + source) for name, source in scripts}
        self._given_up = threading.Event()
        self._life = ""
        self.interruptions = 0
        """Number of answers that may have been lost."""

    def join(self, worker: str, form: bytes) -> bytes:
        """Begin or go on with the crawl in the format *form*; returns the format stored."""
        stored: bytes
        stored, self._life = self.script("join", worker, form, uuid4().hex)
        return stored

    def script(self, name: str, *arguments: Any) -> Any:
        """Run a script; returns its answer."""
        return self._patiently(lambda: self._scripts[name](keys=[self.prefix, self._life], args=arguments))

    def command(self, name: str, key: str, *arguments: Any) -> Any:
        """Run a command on one key under the prefix; returns its answer."""
        return self._patiently(lambda: self._redis.execute_command(name, self.prefix + key, *arguments))  # type: ignore[no-untyped-call]

    def give_up(self) -> None:
        """Stop waiting for answers."""
        self._given_up.set()

    def close(self) -> None:
        self._redis.close()

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except redis.RedisError as error:
            self._check(error)
            logger.warning(f"{self._where} does not answer ({_said(error)}); the crawl waits for it")
        self.interruptions += 1
        begun, pause = time.monotonic(), FIRST_PAUSE
        while not self._given_up.wait(pause):
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                self._redis.ping()
                answer = ask()
            except redis.RedisError as error:
                self._check(error)
            else:
                logger.warning(f"{self._where} is back after {time.monotonic() - begun:.0f} s")
                return answer
        raise StoreError(f"{self._where} does not answer")

    def _check(self, error: redis.RedisError) -> None:
        """Raise StoreError for errors that are not temporary."""
        code = str(error).partition(" ")[0]
        if code == _LOST:
            raise StoreLost(
                f"{self._where} does not hold the crawl {self.prefix}* any more: it was emptied, or restarted without "
                "its data, and what was queued is lost. Have it keep its data (appendonly yes), then crawl again into "
                "another folder"
            ) from error
        passing = isinstance(error, _LATER_CLASSES) or code in _LATER
        if not passing or isinstance(error, redis.AuthenticationError):
            raise StoreError(f"{self._where}: {error}") from error
        if isinstance(error, redis.ReadOnlyError):
            # after a failover the name of the server leads to another one
            self._redis.connection_pool.disconnect()


def _said(error: redis.RedisError) -> str:
    """The first line of *error*, which may have none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _sources() -> list[tuple[str, str]]:
    """Name and text of the scripts, the common part first."""
    scripts = [
        file for file in files("bilingual_crawler.frontier").joinpath("lua").iterdir() if file.name.endswith(".lua")
    ]
    found = [(file.name.removesuffix(".lua"), file.read_text(encoding="utf-8")) for file in scripts]
    return sorted(found, key=lambda script: script[0] != "common")
