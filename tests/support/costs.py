"""What a call costs this thread: wall time, other threads and a pause of the garbage collector do not count."""

import time
from collections.abc import Callable

ATTEMPTS = 3
"""Garbage of other tests may be collected during one of them."""


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of this thread for *work*."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Whether *work* takes less than these processor seconds in one of `ATTEMPTS`."""
    return any(processor_seconds(work) < seconds for _ in range(ATTEMPTS))
