"""Back-off: pauses of a failing host, and when it is given up."""

import errno
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cachetools import LRUCache

STRANGER_FAILURES = 3  # failures in a row before a host that never answered is given up: mostly it no longer exists
_HOSTS = 100_000
_MAX_DOUBLINGS = 60
_OWN_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EADDRNOTAVAIL))
NO_DESCRIPTOR = ("EMFILE", "ENFILE")
"""Shortages in which a file was not even opened."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A pause of a host after a failed request."""

    seconds: float
    failed: bool = True
    """Whether a request was sent, which uses up a try of the URL."""
    after_others: bool = False
    """Whether the other URLs of the slot come first."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Pauses of failing hosts in seconds, and the failures in a row before they are given up.

    The first pause is *start*; it doubles up to *longest*, or by ``Retry-After`` up to *longest_asked*.
    """

    start: float = 2.0
    longest: float = 600.0
    longest_asked: float = 3600.0
    failures: float = 10


@dataclass(slots=True)
class _Health:
    alive: bool = False
    failures: int = 0
    answers: int = 0
    """Answers of all hosts before the first of these failures."""
    until: float = -math.inf
    given_up: bool = False


_UNKNOWN = _Health()


class Backoff:
    """Counts failures in a row per host. A failure during a pause belongs to an earlier request and is not counted."""

    def __init__(self, patience: Patience, clock: Callable[[], float]) -> None:
        self._patience = patience
        self._clock = clock
        self._answers = 0
        self._hosts: LRUCache[str, _Health] = LRUCache(_HOSTS)

    def answered(self, host: str) -> None:
        self._answers += 1
        self._hosts[host] = _Health(alive=True)

    def failed(
        self,
        host: str,
        *,
        alive: bool = False,
        retry_after: float | None = None,
        others_should_answer: Callable[[], bool] = lambda: False,
    ) -> float | None:
        """Seconds of the pause for *host*; None if it is given up.

        *alive*: the host did answer. *retry_after*: seconds that its ``Retry-After`` header demands.
        *others_should_answer*: whether requests go to hosts that answered before, too. If none of them answers, the
        network may be down, and a host that never answered gets as many tries.
        """
        self._answers += alive
        health = self._hosts.setdefault(host, _Health())
        if health.given_up:
            return None
        health.alive |= alive
        now = self._clock()
        if now < health.until:
            return health.until - now
        if not health.failures:
            health.answers = self._answers
        health.failures += 1
        is_hopeless_stranger = not health.alive and health.failures >= STRANGER_FAILURES
        health.given_up = health.failures >= self._patience.failures or (
            is_hopeless_stranger and not (self.is_silence(host) and others_should_answer())
        )
        if health.given_up:
            return None
        rest = min(self._patience.longest, self._patience.start * 2.0 ** min(health.failures - 1, _MAX_DOUBLINGS))
        rest = max(rest, min(retry_after or 0.0, self._patience.longest_asked))
        health.until = now + rest
        return rest

    def is_silence(self, host: str) -> bool:
        """Whether no host has answered since the first failure in the current row of *host*."""
        health = self._hosts.get(host)
        return health is not None and health.answers == self._answers

    def failures(self, host: str) -> int:
        return self._hosts.get(host, _UNKNOWN).failures

    def forget(self, host: str) -> None:
        self._hosts.pop(host, None)

    def given_up(self, host: str) -> bool:
        return self._hosts.get(host, _UNKNOWN).given_up


def own_shortage(error: BaseException | None) -> str | None:
    """The resource of this machine whose exhaustion raised *error*, such as ``EMFILE``; None for other errors.

    Libraries wrap the error of the system in their own.
    """
    while error is not None:
        number = getattr(error, "errno", None) or getattr(error, "osError", None)
        if number in _OWN_SHORTAGES:
            return errno.errorcode[number]
        error = error.__cause__ or error.__context__
    return None


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds that a ``Retry-After`` header demands (a number or an HTTP date); None if it is invalid."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
