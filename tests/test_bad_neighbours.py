"""Hosts of which one page would end a crawl, each beside an honest site of 51 pages."""

import gzip
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.crawls import documents, outcomes, start_crawl, summary
from support.processes import PeakMemory
from support.scripted import Answer, Scripted, scripted
from support.webserver import TEXT, bilingual_site, html, varied

from bilingual_crawler.storage.records import read_tsv

PAGES = 24
HONEST = {path: page for path, page in varied(bilingual_site(PAGES)).items() if path != "/"}
COMMENTS = "/en/comments.html"
MINUTES = 8
MEGABYTES = 900


def compressed(text: str, kind: str = "text/html") -> Answer:
    return Answer(gzip.compress(text.encode()), kind=kind, headers={"Content-Encoding": "gzip"})


BAD: dict[str, dict[str, Answer]] = {
    "newlines": {"/robots.txt": compressed("\n" * 512_000, "text/plain"), "/": Answer(html("en", "home", ""))},
    "formatting": {"/": Answer("".join(f"<b i={n}>" for n in range(4000)) + f"<p>{TEXT['en']}" * 4000)},
    "end-tags": {"/": compressed("<span></x>" * 150_000)},
    "attributes": {"/": Answer("<p " + " ".join(f"a{n}=1" for n in range(300_000)) + f">{TEXT['en']}")},
    "comments": {},
}
"""What the other host serves, by path; of ``comments`` it is a page of the honest site."""
LEFT = {"end-tags": "unreadable-time"}
"""How a page is counted that cannot be read within the limits."""


@contextmanager
def neighbours() -> Iterator[tuple[Scripted, dict[str, Scripted]]]:
    """The honest site, and the bad ones by name."""
    pages = {path: Answer(page) for path, page in HONEST.items()}
    pages[COMMENTS] = Answer(html("en", "comments", f"<p>{TEXT['en']}") + "<!--" * 75_000)
    pages["/en/"] = Answer(HONEST["/en/"].replace("<h1>", f"<a href={COMMENTS}>comments</a><h1>"))
    with ExitStack() as stack:
        missing = Answer(status=404)
        honest = stack.enter_context(scripted(lambda path: pages.get(path, missing)))
        bad = {
            name: stack.enter_context(
                scripted(lambda path, served=BAD[name]: served.get(path, missing), f"127.0.0.{number}")  # type: ignore[misc]
            )
            for number, name in enumerate(BAD, 2)
            if BAD[name]
        }
        yield honest, bad


def start(folder: Path, honest: Scripted, bad: dict[str, Scripted]) -> subprocess.Popen[str]:
    seeds = ",".join((*(f"{site.url}/" for site in bad.values()), f"{honest.url}/fi/"))
    process: subprocess.Popen[str] = start_crawl(folder, seeds, "-s", "JOBDIR=job", fresh=True)
    return process


def end(process: subprocess.Popen[str]) -> str:
    """Let the crawl and its alignment end by themselves; returns the log."""
    with PeakMemory(process.pid) as peak:
        _, log = process.communicate(timeout=60 * MINUTES)
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    assert peak.most < MEGABYTES << 20
    return log


def check(folder: Path, honest: Scripted, bad: dict[str, Scripted]) -> None:
    assert len(HONEST) == 51
    assert set(HONEST) <= set(honest.paths())
    names = ("", *(f"page-{number}.html" for number in range(PAGES)))
    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "pairs.tsv")}
    assert {(f"{honest.url}/en/{name}", f"{honest.url}/es/{name}") for name in names} <= pairs
    told = summary(folder)
    assert told["finish_reason"] == "finished"
    found = {name: outcomes(folder, site.url)["/"] for name, site in bad.items()}
    assert found.items() >= LEFT.items()
    unreadable = Counter(outcome for outcome in found.values() if outcome.startswith("unreadable"))
    assert {kind: count for kind, count in told["dropped"].items() if kind.startswith("unreadable")} == unreadable


@pytest.mark.slow
def test_bad_hosts_cost_an_honest_one_nothing(tmp_path: Path) -> None:
    with neighbours() as (honest, bad):
        log = end(start(tmp_path, honest, bad))
        check(tmp_path, honest, bad)
    assert f"{honest.url}{COMMENTS}" in documents(tmp_path)
    assert log.count(" could not be read: ") == len(LEFT)


@pytest.mark.slow
def test_a_killed_crawl_among_bad_hosts_goes_on(tmp_path: Path) -> None:
    with neighbours() as (honest, bad):
        process = start(tmp_path, honest, bad)
        while len(honest.asked) < 30 or not all("/" in site.paths() for site in bad.values()):
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        end(start(tmp_path, honest, bad))
        check(tmp_path, honest, bad)
        assert max(site.paths().count("/") for site in bad.values()) <= 2
