"""Waiting for what other processes do."""

import time
from collections.abc import Callable


def wait_for(happened: Callable[[], object], what: str = "", seconds: float = 300, pause: float = 0.05) -> None:
    """Return when *happened* is true; fail, and say *what* has not, if it is not within so many *seconds*."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(pause)
