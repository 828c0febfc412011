from datetime import UTC, datetime
from typing import Any

import pytest
from support.frontiers import Clock

from bilingual_crawler.frontier.backoff import STRANGER_FAILURES, Backoff, Patience, retry_after

NOW = datetime(2026, 11, 21, 14, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Sat, 21 Nov 2026 14:02:00 GMT", 120),
        ("Sat, 21 Nov 2026 13:00:00 GMT", 0),
        ("Saturday, 21-Nov-26 14:00:30 GMT", 30),
        ("9" * 400, 999999999999),
        ("-5", None),
        ("1.5", None),
        ("\N{SUPERSCRIPT TWO}", None),
        ("soon", None),
        ("", None),
        ("1" + "0" * 30, 100000000000),
        ("Mon, 01 Jan 0001 00:00:00 +1200", 0),
        ("Fri, 31 Dec 9999 23:59:59 -1200", 251607074399),
        ("Sat, 21 Nov 99999999999999999999 14:00:00 GMT", None),
        ("Sat, 21 Nov 2026 14:00:00 +99999999999999999999", None),
        ("Sat, 21 Nov 2026 99999999999999:00:00 GMT", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


def fail(backoff: Backoff, clock: Clock, times: int, **how: Any) -> list[float | None]:
    """The rests after *times* failures of host a, each of which is taken before the next one."""
    rests = []
    for _ in range(times):
        rest = backoff.failed("a", **how)
        clock.now += rest or 0
        rests.append(rest)
    return rests


def test_rests_double_up_to_the_longest_until_the_host_is_given_up() -> None:
    clock = Clock()
    backoff = Backoff(Patience(start=2, longest=10, failures=6), clock)
    backoff.answered("a")
    assert fail(backoff, clock, 6) == [2, 4, 8, 10, 10, None]
    assert backoff.given_up("a")
    assert not backoff.given_up("b")


def test_an_answer_ends_the_row() -> None:
    clock = Clock()
    backoff = Backoff(Patience(failures=4), clock)
    for _ in range(10):
        assert fail(backoff, clock, 3, alive=True) == [2, 4, 8]
        backoff.answered("a")
    assert backoff.failed("a") == 2


def test_a_host_that_never_answered_is_given_up_soon() -> None:
    clock = Clock()
    assert fail(Backoff(Patience(), clock), clock, STRANGER_FAILURES).index(None) == STRANGER_FAILURES - 1


def test_requests_that_were_under_way_together_fail_once() -> None:
    clock = Clock()
    backoff = Backoff(Patience(failures=3), clock)
    backoff.answered("a")
    assert backoff.failed("a") == 2
    clock.now = 1.5
    assert backoff.failed("a") == 0.5
    assert backoff.failed("a") == 0.5
    clock.now = 2
    assert backoff.failed("a") == 4


def test_what_a_host_asks_for_is_given_up_to_a_limit() -> None:
    backoff = Backoff(Patience(longest_asked=100), Clock())
    assert backoff.failed("a", alive=True, retry_after=30) == 30
    assert backoff.failed("b", alive=True, retry_after=1e9) == 100
    assert backoff.failed("c", alive=True, retry_after=0) == 2


def test_a_host_that_never_answered_is_not_given_up_while_nobody_answers() -> None:
    clock = Clock()
    backoff = Backoff(Patience(failures=6), clock)
    backoff.answered("known")
    alone = {"others_should_answer": lambda: True}
    assert all(fail(backoff, clock, 1, **alone))
    assert backoff.failures("a") == 1
    assert all(fail(backoff, clock, STRANGER_FAILURES, **alone))
    assert backoff.is_silence("a")
    backoff.answered("known")
    assert not backoff.is_silence("a")
    assert fail(backoff, clock, 1, **alone) == [None]
    assert backoff.given_up("a")
