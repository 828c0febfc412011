"""Crawls by several workers that one command starts, on real sites, with their own Redis."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from contextlib import ExitStack, chdir, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from support.components import program
from support.crawls import summary
from support.several_sites import PAGES, asked, documents, every_document, hosts
from support.webserver import ABOUT_SITE, ALIGNED, bilingual_site, run_scrapy, serve, start_scrapy, varied

from bilingual_crawler.reporting.results import read_summary
from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.storage.records import read_json_lines, read_tsv
from bilingual_crawler.workers.run import WorkerProcess

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from support.webserver import Site

ARGUMENTS = ("crawl", "bilingual", "-a", "pair=eng-spa")
PAIRS_OF_SITE = PAGES + 1
WORKERS = ("-s", "BILINGUAL_WORKERS=2")


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    program("redis-server", package="redis-server")
    pages = varied(bilingual_site(PAGES))
    moved = {"/old": "/en/page-1.html"}
    with ExitStack() as stack:
        yield [
            stack.enter_context(serve(pages, redirects=moved, address=f"127.0.0.{n + 2}", delay=0.02)) for n in range(4)
        ]


def command(sites: Sequence[Site], *more: str) -> tuple[str, ...]:
    seeds = "seeds=" + ",".join(f"{site.url}/" for site in sites)
    return (*ARGUMENTS, "-a", seeds, "-s", "BILINGUAL_OUTPUT_DIR=out", *more)


def pairs(folder: Path) -> set[tuple[str, str]]:
    return {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "pairs.tsv")}


def every_pair(sites: Sequence[Site]) -> set[tuple[str, str]]:
    return {(url, url.replace("/en/", "/es/")) for url in every_document(list(sites)) if "/en/" in url}


def wait_until_asked(sites: Sequence[Site], count: int, process: subprocess.Popen[str]) -> None:
    while asked(list(sites)).total() < count:
        time.sleep(0.05)
        assert process.poll() is None, process.communicate()


def family(process: subprocess.Popen[str]) -> tuple[list[psutil.Process], psutil.Process]:
    """The workers that *process* has started, by the locks on their folders, and its Redis."""
    parent = psutil.Process(process.pid)
    (redis,) = (child for child in parent.children() if child.name() == "redis-server")
    locks = sorted(Path(parent.cwd(), "out").glob("worker-*/.lock"))
    holders = [int(lock.read_text().split()[0]) for lock in locks]
    # the lock of a worker that was killed names it until the next one has begun
    while not all(map(psutil.pid_exists, holders)):
        time.sleep(0.05)
        holders = [int(lock.read_text().split()[0]) for lock in locks]
    return [psutil.Process(holder) for holder in holders], redis


def end(process: subprocess.Popen[str], status: int = 0) -> str:
    _, log = process.communicate(timeout=300)
    assert process.returncode == status, log
    assert "Traceback" not in log
    return log


def test_workers_bring_what_one_process_brings_into_one_folder(tmp_path: Path, sites: list[Site]) -> None:
    # the slower one of two starts comes while there are sites left
    more = ("-s", "DOWNLOAD_DELAY=0.2", "-s", "LOGSTATS_INTERVAL=0.5", *ALIGNED)
    log = end(start_scrapy(tmp_path, *command(sites, *more, *WORKERS)))
    assert documents(tmp_path) == every_document(sites)
    assert max(asked(sites).values()) == 1
    assert pairs(tmp_path) == every_pair(sites)
    out = tmp_path / "out"
    assert min(len(hosts_of(out / f"worker-{number}")) for number in (1, 2)) >= 1
    counts = summary(tmp_path)
    assert counts["pairs"] == PAIRS_OF_SITE * len(sites)
    assert counts["documents"] == {"eng": PAIRS_OF_SITE * len(sites), "spa": PAIRS_OF_SITE * len(sites)}
    assert counts["aligned"] == "auto"
    assert counts["finish_reason"] == "finished"
    assert counts["queued"] == 0
    assert counts["bytes"] == sum(read_summary(out / f"worker-{number}")["bytes"] for number in (1, 2))
    times = [row["time"] for row in read_tsv(out / "crawl.tsv")]
    assert times == sorted(times)
    assert hosts(tmp_path) == {site.url.split("/")[2] for site in sites}
    for record in read_json_lines(out / "documents.jsonl.gz"):
        archived = open_warc(out / record["warc_file"], LeftOut()).read(record["warc_offset"])
        assert record["url"].encode() in archived
    assert (out / "report.html").exists()
    assert "BILINGUAL_WORKERS = " in (out / "crawl.toml").read_text()
    assert log.count("Outputs: ") == 1
    assert "queued, " in log
    alone = tmp_path / "alone"
    alone.mkdir()
    end(start_scrapy(alone, *command(sites, *ALIGNED)))
    assert documents(alone) == documents(tmp_path)
    assert pairs(alone) == pairs(tmp_path)


def test_a_stop_while_all_documents_are_aligned_names_what_the_pairs_are(tmp_path: Path, sites: list[Site]) -> None:
    crawl = start_scrapy(tmp_path, *command(sites, *ALIGNED, *WORKERS), fresh=True)
    aligning = False
    while not aligning:
        assert crawl.poll() is None, crawl.communicate()
        for tasks in Path(f"/proc/{crawl.pid}/task").iterdir():
            # a thread or child that has just ended has no files any more
            with suppress(OSError):
                for child in (tasks / "children").read_text().split():
                    aligning |= b"at_end" in Path(f"/proc/{child}/cmdline").read_bytes()
        time.sleep(0.01)
    crawl.send_signal(signal.SIGINT)
    log = end(crawl)
    assert "pairs.tsv has the pairs that the workers found on the way: the crawl was stopped" in log
    assert summary(tmp_path)["finish_reason"] == "shutdown"


def hosts_of(folder: Path) -> set[str]:
    return {row["url"].split("/")[2] for row in read_tsv(folder / "crawl.tsv")}


def test_a_worker_that_finds_no_redis_when_it_starts_is_started_again(tmp_path: Path) -> None:
    once = "import pathlib, sys; started = pathlib.Path('started'); again = started.exists(); started.touch(); "
    worker = WorkerProcess(tmp_path / "worker-1", [sys.executable, "-c", f"{once}sys.exit(0 if again else 2)"])
    with chdir(tmp_path):
        worker.start()
        while worker.runs():
            time.sleep(0.02)
        assert worker.revive() == "worker-1 could not start, and starts again"
        while worker.runs():
            time.sleep(0.02)
    assert worker.revive() == ""
    assert not worker.broken


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_redis_come_back(tmp_path: Path, sites: list[Site]) -> None:
    crawl = start_scrapy(tmp_path, *command(sites, "-s", "DOWNLOAD_DELAY=0.1", *WORKERS))
    wait_until_asked(sites, 20, crawl)
    family(crawl)[0][0].kill()
    wait_until_asked(sites, 40, crawl)
    family(crawl)[1].kill()
    log = end(crawl)
    assert log.count("was killed by SIGKILL, and starts again") == 1
    assert log.count("The Redis of the workers has ended, and starts again") == 1
    assert documents(tmp_path) == every_document(sites)
    assert sum(n > 1 for n in asked(sites).values()) <= 16


@pytest.mark.slow
def test_all_end_with_a_killed_parent_and_the_same_command_goes_on(tmp_path: Path, sites: list[Site]) -> None:
    whole = command(sites, "-s", "DOWNLOAD_DELAY=0.1", "-s", "JOBDIR=job", *ALIGNED, *WORKERS)
    crawl = start_scrapy(tmp_path, *whole)
    wait_until_asked(sites, 30, crawl)
    workers, redis = family(crawl)
    assert len(workers) == 2
    early = run_scrapy(tmp_path, "report", "out")
    assert early.returncode == 2
    assert f"out is in use by process {crawl.pid}" in early.stderr
    crawl.send_signal(signal.SIGKILL)
    crawl.communicate()
    _, alive = psutil.wait_procs([*workers, redis], timeout=10)
    assert not alive
    reported = run_scrapy(tmp_path, "report", "out")
    assert reported.returncode == 0, reported.stderr
    counts = summary(tmp_path)
    assert counts["finish_reason"] == "unfinished"
    assert sum(counts["documents"].values()) == len(documents(tmp_path)) > 0
    end(start_scrapy(tmp_path, *whole))
    assert documents(tmp_path) == every_document(sites)
    assert pairs(tmp_path) == every_pair(sites)
    assert sum(n > 1 for n in asked(sites).values()) <= 16


@pytest.mark.slow
def test_a_stop_is_in_order_and_more_workers_go_on(tmp_path: Path, sites: list[Site]) -> None:
    one_job = command(sites, "-s", "DOWNLOAD_DELAY=0.1", "-s", "JOBDIR=job")
    crawl = start_scrapy(tmp_path, *one_job, *WORKERS)
    wait_until_asked(sites, 30, crawl)
    workers, redis = family(crawl)
    crawl.send_signal(signal.SIGINT)
    end(crawl)
    assert not any(one.is_running() for one in (*workers, redis))
    counts = summary(tmp_path)
    assert counts["finish_reason"] == "shutdown"
    assert counts["queued"] > 0
    # what the run has brought is joined
    assert len(documents(tmp_path)) == sum(counts["documents"].values()) > 0
    refused = run_scrapy(tmp_path, *one_job)
    assert refused.returncode == 2
    assert "JOBDIR=job: holds a crawl of several workers: give BILINGUAL_WORKERS" in refused.stderr
    (tmp_path / "out" / "worker-2").rename(tmp_path / "elsewhere")
    refused = run_scrapy(tmp_path, *one_job, *WORKERS)
    assert refused.returncode == 2
    assert "worker-2 is missing, which a resume needs; put it back" in refused.stderr
    (tmp_path / "elsewhere").rename(tmp_path / "out" / "worker-2")
    end(start_scrapy(tmp_path, *one_job, "-s", "BILINGUAL_WORKERS=3"))
    assert documents(tmp_path) == every_document(sites)
    assert max(Counter({url: n for url, n in asked(sites).items() if not url.endswith(ABOUT_SITE)}).values()) == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("-s", "BILINGUAL_WORKERS=0"), "BILINGUAL_WORKERS=0: give a whole number of 1 or more"),
        (("-s", "BILINGUAL_WORKERS=many"), "BILINGUAL_WORKERS=many: give a whole number of 1 or more"),
        ((*WORKERS, "-s", "BILINGUAL_FRONTIER=redis://127.0.0.1:9/0"), "leave BILINGUAL_FRONTIER out"),
        ((*WORKERS, "-s", "BILINGUAL_STATUS=8010"), "leave BILINGUAL_STATUS out"),
        ((*WORKERS, "-s", "BILINGUAL_POLITENESS=address"), "BILINGUAL_POLITENESS may be domain or host"),
        ((*WORKERS, "-o", "items.jl"), "leave FEEDS and -o out"),
        ((*WORKERS, "-a", "_job=1"), "a job of Scrapyd is one process"),
    ],
)
def test_what_workers_cannot_do_is_refused_at_the_start(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    program("redis-server", package="redis-server")
    refused = run_scrapy(tmp_path, *ARGUMENTS, "-a", "seeds=http://127.0.0.1:9/", *more)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_redis_that_cannot_start_again_stops_the_crawl(tmp_path: Path, sites: list[Site]) -> None:
    crawl = start_scrapy(tmp_path, *command(sites, "-s", "DOWNLOAD_DELAY=0.1", "-s", "JOBDIR=job", *WORKERS))
    wait_until_asked(sites, 20, crawl)
    _, redis = family(crawl)
    data = tmp_path / "job" / "workers" / "redis" / "appendonlydir"
    redis.suspend()
    data.rename(tmp_path / "aside")
    data.write_text("no folder")
    redis.kill()
    log = end(crawl, 1)
    assert "Stopping, a resume goes on from here: redis-server does not start: " in log
    assert summary(tmp_path)["finish_reason"] == "write_error"
    data.unlink()
    (tmp_path / "aside").rename(data)
    end(start_scrapy(tmp_path, *command(sites, "-s", "JOBDIR=job", *WORKERS)))
    assert documents(tmp_path) == every_document(sites)


@pytest.mark.parametrize("name", ["pairs.tsv", "unpaired.tsv"])
def test_a_table_that_cannot_be_joined_is_named_before_the_crawl(tmp_path: Path, name: str) -> None:
    program("redis-server", package="redis-server")
    out = tmp_path / "out"
    (out / "worker-1").mkdir(parents=True)
    row = {"pairs.tsv": "a\tb\t0,5\turl\teng-fra", "unpaired.tsv": "a\tlow_score\tb\t0,5\teng-fra"}[name]
    columns = {"pairs.tsv": "url_a\turl_b\tscore\tmethod\tpair", "unpaired.tsv": "url\treason\tnearest\tscore\tpair"}
    (out / name).write_text(f"{columns[name]}\n{row}\n")
    (out / "summary.json").write_text('{"pair": "eng-spa", "finish_reason": "unfinished"}')
    seeds = ("-a", "seeds=http://127.0.0.1:9/", "-s", "BILINGUAL_OUTPUT_DIR=out", *WORKERS)
    for refused in (run_scrapy(tmp_path, *ARGUMENTS, *seeds), run_scrapy(tmp_path, "report", "out")):
        assert refused.returncode == 2
        assert f"{name} cannot be read: could not convert string to float" in refused.stderr.splitlines()[-1]


def test_a_discovery_has_no_workers(tmp_path: Path) -> None:
    program("redis-server", package="redis-server")
    refused = run_scrapy(
        tmp_path, "crawl", "discovery", "-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:9/", *WORKERS
    )
    assert refused.returncode == 2
    assert "BILINGUAL_WORKERS: sites are looked for by one process" in refused.stderr


def test_without_redis_server_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    refused = run_scrapy(tmp_path, *ARGUMENTS, "-a", "seeds=http://127.0.0.1:9/", *WORKERS, fresh=True)
    assert refused.returncode == 2
    assert "redis-server, which is not on the PATH: apt-get install redis-server" in refused.stderr


def test_a_crawl_of_one_process_is_not_gone_on_with_by_workers(tmp_path: Path, sites: list[Site]) -> None:
    one_job = command(sites[:1], "-s", "JOBDIR=job")
    end(start_scrapy(tmp_path, *one_job))
    refused = run_scrapy(tmp_path, *one_job, *WORKERS)
    assert refused.returncode == 2
    assert "JOBDIR=job: holds a crawl of one process: leave BILINGUAL_WORKERS out" in refused.stderr
