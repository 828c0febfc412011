"""Helper processes keep their limits for every job; the calling process is never in danger."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.waits import wait_for

from bilingual_crawler.pages.jobs import PageJob, RobotsJob, SitemapJob
from bilingual_crawler.pages.sandbox import pool
from bilingual_crawler.pages.sandbox.jobs import Job, Limits, SandboxError
from bilingual_crawler.pages.sandbox.pool import close, environment, submit

LIMITS = Limits(0.5, 100)
LOADED: list[bytearray] = []


@dataclass(frozen=True)
class Work(Job[int]):
    returns: ClassVar[Any] = int
    what: str

    @property
    def limits(self) -> Limits:
        return LIMITS

    def prepare(self) -> None:
        if self.what == "slow to prepare":
            end = time.process_time() + 2 * LIMITS.seconds
            while time.process_time() < end:
                pass
        if self.what == "much to load" and not LOADED:
            LOADED.append(bytearray(300_000_000))

    def run(self) -> int:
        match self.what:
            case "python loop":
                while True:
                    pass
            case "C loop":
                re.match("(a+)+$", "a" * 40 + "b")
            case "slow":
                time.sleep(2)
            case "short":
                time.sleep(0.02)
            case "many bytes":
                return len(b"x" * 200_000_000)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "abort":
                os.abort()
            case "null pointer":
                ctypes.string_at(0)
            case "exception":
                raise ValueError("no luck")
            case "text":
                return -1
            case "another type":
                return "text"  # type: ignore[return-value]
        return os.getpid()


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("python loop", "time"),
        ("C loop", "time"),
        ("many bytes", "memory"),
        ("abort", "crash"),
        ("null pointer", "crash"),
        ("exception", "crash"),
        ("another type", "crash"),
        # twice, as what kills a helper may be another's fault
        ("killed", "memory"),
    ],
)
def test_a_job_that_goes_too_far_ends_alone(what: str, kind: str) -> None:
    with pytest.raises(SandboxError, match="killed twice" if what == "killed" else None) as caught:
        submit(Work(what)).result(60)
    assert caught.value.kind == kind
    assert submit(Work("")).result(60) != os.getpid()


def test_quick_jobs_share_a_helper_until_it_is_ended() -> None:
    close()
    first = submit(Work("")).result(60)
    futures = [submit(Work("")) for _ in range(50)]
    wait(futures)
    assert {future.result() for future in futures} == {first}
    close()
    assert not is_helper(first)
    assert submit(Work("")).result(60) != first


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_another_helper_starts_if_jobs_wait_long() -> None:
    close()
    slow = [submit(Work("slow")) for _ in range(3)]
    assert 1 < len({future.result(60) for future in slow}) <= (os.cpu_count() or 1)


@pytest.mark.slow
def test_a_helper_that_something_ended_between_two_jobs_costs_none_of_them() -> None:
    for _ in range(3):
        helper = submit(Work("")).result(60)
        os.kill(helper, signal.SIGKILL)
        os.waitid(os.P_PID, helper, os.WEXITED | os.WNOWAIT)
    assert submit(Work("")).result(60)


def test_a_job_whose_helper_is_killed_from_outside_runs_again() -> None:
    helpers = {future.result(60) for future in [submit(Work("")) for _ in range(50)]}
    running = submit(Work("slow"))
    time.sleep(0.5)
    for helper in helpers:
        with suppress(ProcessLookupError):
            os.kill(helper, signal.SIGKILL)
    assert running.result(60) not in helpers


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_another_helper_starts_for_many_short_jobs_that_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    close()
    monkeypatch.setattr(pool, "_OVERLOAD", 0.5)
    work = ((number, submit(Work("short"))) for number in range(100))
    done = [(number, future.result(60)) for number, future in pool.ahead(work)]
    assert [number for number, _ in done] == list(range(100))
    assert len({helper for _, helper in done}) > 1


def test_jobs_of_a_closing_pool_are_done_and_new_ones_start_another() -> None:
    close()
    slow = submit(Work("slow"))
    time.sleep(0.1)
    closing = threading.Thread(target=close)
    closing.start()
    time.sleep(0.1)
    assert submit(Work("")).result(60) != slow.result(60)
    closing.join()


def test_an_answer_that_could_not_be_received_is_not_that_of_the_next_job(monkeypatch: pytest.MonkeyPatch) -> None:
    close()
    failing = [MemoryError()]
    receive = Connection.recv_bytes

    def receive_later(pipe: Connection) -> bytes:
        if failing:
            raise failing.pop()
        return receive(pipe)

    assert submit(Work("")).result(60)
    monkeypatch.setattr(Connection, "recv_bytes", receive_later)
    with pytest.raises(MemoryError):
        submit(Work("text")).result(60)
    assert submit(Work("")).result(60) > 0


def test_what_is_loaded_once_counts_in_no_limit_and_does_not_wear_a_helper_out() -> None:
    assert submit(Work("slow to prepare")).result(60)
    helpers = os.cpu_count() or 1
    started = {future.result(60) for future in [submit(Work("")) for _ in range(4 * helpers)]}
    answered = {submit(Work("much to load")).result(60) for _ in range(4 * helpers)}
    assert len(started | answered) <= helpers


def is_helper(pid: int) -> bool:
    try:
        return b"sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_forked_process_has_helpers_of_its_own_which_end_with_it(tmp_path: Path) -> None:
    pid_file, ours = tmp_path / "pid", submit(Work("")).result(60)
    child = os.fork()
    if not child:
        pid_file.write_text(str(submit(Work("")).result(30)))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    helper = int(pid_file.read_text())
    assert helper != ours
    wait_for(lambda: not is_helper(helper), seconds=20)


BOMBS = {
    "formatting": "<p>" + "".join(f"<b i={n}>" for n in range(4000)) + "</p>" + "<p>x</p>" * 4000,
    "crossed": "<span></x>" * 150_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(300_000)) + ">x",
    "deep": "<div>" * 1_000_000,
    "comments": "<p>x</p>" + "<!--" * 75_000,
    "links": "".join(f"<a href={n}>{n}</a>" for n in range(120_000)),
    "lines": "<p>x" * 400_000,
}


def read_bombs() -> None:
    """Print, for each bomb, the seconds that this process worked for it, how it ended, and the text of a page after."""
    for name, html in BOMBS.items():
        before = time.process_time()
        failure = submit(PageJob(html.encode(), "text/html", "https://example.org/")).exception(120)
        taken = time.process_time() - before
        end = "read" if failure is None else failure.kind if isinstance(failure, SandboxError) else repr(failure)
        after = submit(PageJob(b"<p>yes", "text/html", "https://example.org/")).result(60).text
        print(name, taken, end, after, sep="\t")


def test_a_page_costs_what_it_may_and_no_more() -> None:
    """In a process of its own, where threads and garbage of other tests do not count."""
    code = "from tests.test_sandbox import read_bombs; read_bombs()"
    run = subprocess.run([sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    assert [name for name, *_ in lines] == list(BOMBS)
    assert [name for name, _, end, _ in lines if end not in ("read", "time", "memory")] == []
    assert [name for name, taken, *_ in lines if float(taken) > 1] == [], "this process had to work"
    assert {after for *_, after in lines} == {"yes"}


@pytest.mark.parametrize(
    "body",
    [
        b"\n" * 512_000,
        b"user-agent" + b" " * 512_000 + b"x",
        b"".join(b"User-agent: a%d\n" % n for n in range(14_000)) + b"Disallow: /a\n" * 14_000,
        b"".join(b"User-agent: *\n" for _ in range(14_000)) + b"Disallow: /a\n" * 14_000,
    ],
)
def test_a_robots_txt_is_read_in_linear_time(body: bytes) -> None:
    robots = submit(RobotsJob(body, "https://a.example/robots.txt", "bilingual-crawler")).result(60)
    assert robots.rules.count("User-agent") <= 1


def test_a_sitemap_that_is_a_bomb_when_unpacked_is_cut() -> None:
    body = b"<urlset>" + b"<url><loc>https://example.org/</loc></url>" * 1_000_000
    assert len(submit(SitemapJob(body, "https://example.org/sitemap.xml")).result(120).links) == 1
