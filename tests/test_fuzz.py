"""A small run of the fuzzer, with pages of the example site."""

import os
import random
from pathlib import Path

import pytest
from support.components import program
from support.waits import wait_for

from benchmarks import fuzz, fuzz_http
from benchmarks.mutations import BOMBS, MUTATIONS

CRAWLED = 50


@pytest.mark.slow
def test_changed_and_hostile_pages_crash_nothing_and_break_no_limit() -> None:
    rng, originals = random.Random(1), fuzz.example_pages()
    kinds = [*BOMBS.items(), *[*MUTATIONS.items()] * 10]
    rows = fuzz.read_all((name, mutate(rng, rng.choice(originals))) for name, mutate in kinds)
    assert {name: row.pages for name, row in rows.items()} == dict.fromkeys(BOMBS, 1) | dict.fromkeys(MUTATIONS, 10)
    assert max(row.slowest for row in rows.values()) > 0
    assert any(row.ended for row in rows.values())
    assert not [crash for row in rows.values() for crash in row.crashes]
    assert not [breach for row in rows.values() for breach in row.breaches]


@pytest.mark.slow
def test_a_crawl_of_such_pages_and_its_alignment_end_with_the_honest_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "HONEST_PAGES", 15)
    outcomes, wrong = fuzz.crawl_and_align(fuzz.fuzzed(random.Random(2), fuzz.example_pages(), CRAWLED))
    assert not wrong
    assert sum(counts.total() for counts in outcomes.values()) > CRAWLED / 2


def test_the_watch_notices_a_helper_that_goes_on(tmp_path: Path) -> None:
    """This process stands for a helper that has had no processor time when its job began."""
    rows = {"bomb": fuzz.Row()}
    watch = fuzz.Watch(tmp_path, rows)
    try:
        sum(number for number in range(30_000_000))
        (tmp_path / str(os.getpid())).write_text("bomb/1/PageJob 0 0 0.1 1")
        wait_for(lambda: rows["bomb"].breaches, seconds=20)
    finally:
        watch.close()
    assert list(rows["bomb"].breaches) == ["bomb/1/PageJob"]


def test_what_curl_reads_is_read() -> None:
    program("curl", package="curl")
    rows, missed = fuzz_http.run(60, seed=4)
    assert not missed
    assert sum(counts["curl"] for counts in rows.values()) > 30
