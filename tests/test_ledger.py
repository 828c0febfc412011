"""The counts of a crawl agree after stops of every kind, and a stop says what it does."""

import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings
from support.crawls import each, succeeds, summary
from support.scripted import Answer, scripted
from support.waits import wait_for
from support.webserver import bilingual_site, scrapy_command, scrapy_environment, start_scrapy

import bilingual_crawler
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.reporting.ledger import CrawlTally, is_fetched
from bilingual_crawler.reporting.results import read_results
from bilingual_crawler.reporting.summary import changed_settings, print_summary
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 30
SITE = bilingual_site(PAGES)
TRAP = "<a href=/a/b/a/b/a/b/a/b/>deeper</a>"
QUICK = ("BILINGUAL_BACKOFF_START=0.1", "LOG_LEVEL=INFO")


def command(url: str) -> tuple[str, ...]:
    arguments = each("-a", "pair=eng-spa", f"seeds={url}/en/", "policy=bfs")
    return ("crawl", "bilingual", *arguments, *each("-s", "JOBDIR=job", "BILINGUAL_OUTPUT_DIR=out", *QUICK))


def check(folder: Path) -> dict[str, Any]:
    """Every number of the summary is a part of what stands before it, and the files say the same."""
    found = summary(folder)
    rows = {row["url"]: row for row in reversed(list(read_tsv(folder / "out" / "crawl.tsv")))}.values()
    documents = sum(found["documents"].values())
    assert found["tried"] == len(rows) == documents + sum(found["dropped"].values())
    assert found["fetched"] == sum(is_fetched(row) for row in rows)
    assert found["html"] == sum(found["languages"].values()) == sum(bool(row["language"]) for row in rows)
    assert found["tried"] >= found["fetched"] >= found["html"] >= documents >= 2 * found["pairs"]
    assert found["candidates"] == found["pairs"] + sum(found["refused"].values())
    assert found["left_over"] == documents - 2 * found["pairs"] >= sum(found["unpaired"].values())
    results = read_results(folder / "out")
    assert results.curve[-1][0] == found["fetched"] == sum(counts.fetched for counts in results.hosts.values())
    assert results.pair_count == found["pairs"]
    return found


@contextmanager
def flaky_site(seconds: Callable[[], float] = lambda: 0.05) -> Iterator[Any]:
    """Its first answer for a page is a failure, every page links into a trap, and an answer takes *seconds*."""
    failures = {"/en/page-0.html": 1}

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer("User-agent: *\nDisallow: /es/page-1.html", kind="text/plain")
        time.sleep(seconds())
        if failures.get(path):
            failures[path] -= 1
            return Answer(status=503)
        return Answer(SITE[path].replace("<h1>", f"{TRAP}<h1>")) if path in SITE else Answer(status=404)

    with scripted(answer) as site:
        yield site


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_numbers_agree_after_a_stop_and_after_a_resume(tmp_path: Path, how: signal.Signals) -> None:
    def far_enough() -> bool:
        return (tmp_path / "out/summary.json").exists() and bool(
            summary(tmp_path)["failures"] and summary(tmp_path)["traps"] and summary(tmp_path)["pairs"]
        )

    with flaky_site() as site:
        process = start_scrapy(tmp_path, *command(site.url))
        wait_for(far_enough)
        process.send_signal(how)
        _, log = process.communicate(timeout=300)
        before = summary(tmp_path)
        assert before["finish_reason"] == ("shutdown" if how is signal.SIGINT else "unfinished")
        succeeds(tmp_path, "report", "out")
        stopped = check(tmp_path)
        assert (stopped["failures"], stopped["traps"]) == (before["failures"], before["traps"])
        assert 0 < stopped["pairs"] < PAGES
        assert stopped["queued"] > 0
        if how is signal.SIGINT:
            assert "The crawl can be resumed" in log
        succeeds(tmp_path, *command(site.url))
        done = check(tmp_path)
    expected = {"finish_reason": "finished", "pairs": PAGES, "queued": 0, "left_over": 1}
    assert {name: done[name] for name in expected} == expected
    assert done["dropped"]["robots"] == 1
    assert done["failures"] == stopped["failures"] == {"503": 1}, "it was before the stop"
    assert sum(done["traps"].values()) > sum(stopped["traps"].values()) > 0
    assert done["bytes"] > stopped["bytes"] > 0
    [unpaired] = read_tsv(tmp_path / "out/unpaired.tsv")
    assert unpaired["url"].endswith("/en/page-1.html")


class Terminal:
    """``scrapy`` with its standard error on a terminal."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        master, slave = pty.openpty()
        environment = {**scrapy_environment(), "TERM": "xterm", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            scrapy_command(*arguments), cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=slave
        )
        os.close(slave)
        self._master = master
        self._shown = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 1 << 16):
                self._shown += data
        except OSError:
            pass  # the other end was closed
        os.close(self._master)

    @property
    def shown(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._shown.decode())

    def wait(self, seconds: float = 60) -> int:
        status = self.process.wait(seconds)
        self._thread.join()
        return status


@pytest.mark.slow
def test_the_live_line_counts_all_runs_and_says_that_the_crawl_stops(tmp_path: Path) -> None:
    line = re.compile(r"(\d+) pages, (\d+) documents, (\d+) pairs, (\d+) queued, [\d.]+ pages/s")
    slow = threading.Event()
    with flaky_site(lambda: 1.5 if slow.is_set() else 0.05) as site:
        first = Terminal(tmp_path, *command(site.url))
        wait_for(lambda: any(int(pages) > 10 for pages, *_ in line.findall(first.shown)))
        # the line is drawn four times a second: the last transfers must take longer
        slow.set()
        time.sleep(0.3)
        first.process.send_signal(signal.SIGINT)
        assert first.wait() == 0
        slow.clear()
        assert re.search(r"stopping, transfers left: \d, the crawl can be resumed", first.shown)
        before = check(tmp_path)
        second = Terminal(tmp_path, *command(site.url))
        assert second.wait() == 0
        after = check(tmp_path)
    for pages, documents, pairs, queued in (map(int, found) for found in line.findall(second.shown)):
        assert before["fetched"] <= pages <= after["fetched"]
        assert sum(before["documents"].values()) <= documents <= sum(after["documents"].values())
        assert before["pairs"] <= pairs <= after["pairs"]
        assert queued <= after["tried"] - pages + 1
    assert len(line.findall(second.shown)) > 2


def test_told_twice_a_crawl_ends_at_once_with_a_true_summary(tmp_path: Path) -> None:
    released = threading.Event()

    def answer(path: str) -> Answer:
        if path == "/es/":
            released.wait(60)
        return Answer(SITE[path]) if path in SITE else Answer(status=404)

    with scripted(answer) as site:
        terminal = Terminal(tmp_path, *command(site.url), "-s", "CONCURRENT_REQUESTS=2")
        wait_for(lambda: "/es/" in site.paths() and len(site.paths()) > 5)
        terminal.process.send_signal(signal.SIGINT)
        wait_for(lambda: "stopping, transfers left: 1" in terminal.shown)
        assert terminal.process.poll() is None
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait(20)
        assert not released.is_set()
        assert check(tmp_path)["finish_reason"] == "shutdown"
        assert f"{site.url}/es/" not in {row["url"] for row in read_tsv(tmp_path / "out/crawl.tsv")}
        assert not (tmp_path / "out/report.html").exists()
        assert "scrapy report" in terminal.shown
        released.set()
        succeeds(tmp_path, *command(site.url))
    assert check(tmp_path)["pairs"] == PAGES + 1
    records = [record["url"] for record in read_json_lines(tmp_path / "out/documents.jsonl.gz")]
    assert len(records) == len(set(records)) == 2 * PAGES + 2
    assert (tmp_path / "out/report.html").exists()


def test_an_address_counts_once_and_a_redirect_is_no_page() -> None:
    tally = CrawlTally(LanguagePairs.parse("eng-hrv"))
    lines = [
        ("1", "200", "/a", "eng", "document"), ("2", "200", "/b", "bos", "document"),
        ("3", "301", "/c", "", "redirect"), ("4", "302", "/d", "", "redirect-nowhere"), ("5", "0", "/e", "", "robots"),
        ("6", "200", "/f", "fin", "other-language", "hrv"), ("7", "404", "/g", "", "http-404"),
    ]  # fmt: skip
    columns = ("time", "status", "url", "language", "outcome", "declared")
    assert all(tally.note(dict(zip(columns, line, strict=False))) for line in lines)
    assert not tally.note(dict(zip(columns, ("8", "200", "/a", "eng", "document", "hrv"), strict=True)))
    assert tally.contradicted == {"hrv fin": 1}
    assert (tally.tried, tally.fetched, tally.html) == (7, 4, 3)
    assert tally.documents == {"eng": 1, "hrv": 1}
    assert tally.dropped.total() == 5
    assert (tally.first, tally.last) == ("1", "8")


def test_a_summary_is_one_fact_a_line_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = {f"a-reason-with-a-long-name-{number}": 10 - number for number in range(8)}
    nothing_left = {"remaining": 0.0, "share": 1.0, "low": 1.0, "high": 1.0}
    crawl = {"pair": "eng-spa", "output_dir": "x" * 200, "tried": 90, "dropped": reasons, "queued": 12}
    print_summary({**crawl, "estimate": nothing_left})
    lines = capsys.readouterr().err.splitlines()
    [line] = [line for line in lines if "addresses tried" in line]
    assert line.split()[0] == "90"
    assert "long-name-5 5, …)" in line
    assert lines[-1] == f"Outputs: {'x' * 200}"
    assert "      12  addresses are still queued" in lines
    assert not [line for line in lines if "sites" in line]


def test_a_summary_tells_version_and_changed_settings_without_passwords() -> None:
    settings = Settings()
    settings.setmodule("bilingual_crawler.settings")
    assert changed_settings(settings) == {}
    settings.setdict({"DOWNLOAD_DELAY": "0.25", "BILINGUAL_LINK_SOURCES": ["a", "area"], "LOG_LEVEL": "DEBUG"})
    assert changed_settings(settings) == {"BILINGUAL_LINK_SOURCES": "a,area", "DOWNLOAD_DELAY": "0.25"}
    secrets = "username=me&password=secret&SSL_PassWord=secret2"
    for given, shown in (
        ("redis://me:secret@node:6379/1#crawl", "redis://node:6379/1#crawl"),
        (f"rediss://node:6379/1?{secrets}#crawl", "rediss://node:6379/1?username=me&password=…&SSL_PassWord=…#crawl"),
    ):
        settings.set("BILINGUAL_FRONTIER", given)
        assert changed_settings(settings)["BILINGUAL_FRONTIER"] == shown
    assert re.fullmatch(r"\d+\.\d+\.\d+", bilingual_crawler.__version__)
