"""The program of a helper process: it does job after job until its pipe, whose file descriptor it gets, is closed."""

import os
import pickle
import resource
import signal
import sys
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits

DONE, DONE_AND_LEFT, OUT_OF_MEMORY, FAILED, UNWANTED = (bytes((code,)) for code in range(5))  # first byte of an answer
_GROWN = 128 << 20  # bytes by which a helper may grow; then a new helper replaces it


def serve(connection: Connection) -> None:
    """Answer jobs. The kernel ends the process if a job needs too much processor time."""
    grown = 0
    while True:
        try:
            job: Job[Any] = pickle.loads(connection.recv_bytes())
        except (EOFError, ConnectionError):
            return
        answer, growth = _answer(job)
        grown += growth
        if grown > _GROWN and answer[:1] == DONE:
            answer = DONE_AND_LEFT + answer[1:]
        try:
            connection.send_bytes(answer)
        except ConnectionError:
            return  # the crawl is gone
        if answer[:1] not in (DONE, FAILED, UNWANTED):
            return


def _answer(job: Job[Any]) -> tuple[bytes, int]:
    """The answer to *job*, and the bytes by which the process has grown."""
    before = _address_space()
    try:
        job.prepare()
        # data that is loaded once for all jobs does not count as growth
        before = _address_space()
        _limit(job.limits)
        answer = DONE + msgspec.msgpack.encode(job.run())
    except MemoryError:
        answer = OUT_OF_MEMORY
    except ContentError as error:
        answer = UNWANTED + msgspec.msgpack.encode((error.kind, error.message[:1000]))
    except Exception as error:
        answer = FAILED + f"{type(error).__name__}: {error}"[:1000].encode("utf-8", "replace")
    finally:
        # without limits until the next job
        signal.setitimer(signal.ITIMER_PROF, 0)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return answer, _address_space() - before


def _limit(limits: Limits) -> None:
    space = _address_space()
    if space:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = space + int(limits.megabytes * 1e6)
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    # without a handler the signal ends the process even inside C code
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)


def _address_space() -> int:
    """Bytes of address space; 0 if the system does not say."""
    try:
        # open for good: it is read thrice a job
        return int(os.pread(_statm(), 100, 0).split()[0]) * resource.getpagesize()
    except OSError:
        return 0


@cache
def _statm() -> int:
    return os.open("/proc/self/statm", os.O_RDONLY)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
