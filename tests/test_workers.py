"""Crawls by several workers on real sites: one command starts them with their own Redis, or they share one."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import redis
from support.components import program
from support.crawls import each, end, refused, succeeds, summary
from support.redis_server import RedisServer, redis_server
from support.webserver import ABOUT_SITE, ALIGNED, Site, bilingual_site, run_scrapy, serve, start_scrapy, varied

from bilingual_crawler.reporting.results import read_summary
from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.storage.records import read_json_lines, read_tsv
from bilingual_crawler.workers.run import WorkerProcess

ARGUMENTS = ("crawl", "bilingual", "-a", "pair=eng-spa")
NOWHERE = ("-a", "seeds=http://127.0.0.1:9/")
WORKERS = ("-s", "BILINGUAL_WORKERS=2")
PAGES = 8


@contextmanager
def serve_several(count: int) -> Iterator[list[Site]]:
    """The same site at so many addresses."""
    pages, moved = varied(bilingual_site(PAGES)), {"/old": "/en/page-1.html"}
    with ExitStack() as stack:
        hosts = (f"127.0.0.{number}" for number in range(2, 2 + count))
        yield [stack.enter_context(serve(pages, redirects=moved, address=host, delay=0.02)) for host in hosts]


def wait_until_asked(sites: list[Site], count: int, process: subprocess.Popen[str]) -> None:
    """While the crawl of *process* goes on."""
    while asked(sites).total() < count:
        time.sleep(0.05)
        assert process.poll() is None, process.communicate()


def documents(folder: Path) -> set[str]:
    return {record["url"] for record in read_json_lines(folder / "out" / "documents.jsonl.gz")}


def hosts(folder: Path) -> set[str]:
    return {row["url"].split("/")[2] for row in read_tsv(folder / "out" / "crawl.tsv")}


def every_document(sites: list[Site]) -> set[str]:
    pages = bilingual_site(PAGES)
    return {f"{site.url}{path}" for site in sites for path in pages if path.startswith(("/en/", "/es/"))}


def asked(sites: list[Site]) -> Counter[str]:
    return Counter({site.url + path: n for site in sites for path, n in site.asked.items() if path not in ABOUT_SITE})


@pytest.fixture(autouse=True)
def has_redis() -> None:
    program("redis-server", package="redis-server")


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    with serve_several(5) as sites:
        yield sites


def command(sites: Sequence[Site], *more: str) -> tuple[str, ...]:
    seeds = "seeds=" + ",".join(f"{site.url}/" for site in sites)
    return (*ARGUMENTS, "-a", seeds, "-s", "BILINGUAL_OUTPUT_DIR=out", *more)


def pairs(folder: Path) -> set[tuple[str, str]]:
    return {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "pairs.tsv")}


def every_pair(sites: list[Site]) -> set[tuple[str, str]]:
    return {(url, url.replace("/en/", "/es/")) for url in every_document(sites) if "/en/" in url}


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


def test_workers_bring_what_one_process_brings_into_one_folder(tmp_path: Path, sites: list[Site]) -> None:
    # the slower one of two starts comes while there are sites left
    more = ("-s", "DOWNLOAD_DELAY=0.2", "-s", "LOGSTATS_INTERVAL=0.5", *ALIGNED)
    log = end(start_scrapy(tmp_path, *command(sites, *more, *WORKERS)))
    assert documents(tmp_path) == every_document(sites)
    assert max(asked(sites).values()) == 1
    assert pairs(tmp_path) == every_pair(sites)
    out = tmp_path / "out"
    assert all(list(read_tsv(out / f"worker-{number}" / "crawl.tsv")) for number in (1, 2))
    counts = summary(tmp_path)
    each_language = (PAGES + 1) * len(sites)
    assert counts["pairs"] == each_language
    assert counts["documents"] == {"eng": each_language, "spa": each_language}
    assert counts["aligned"] == "auto"
    assert counts["finish_reason"] == "finished"
    assert counts["queued"] == 0
    assert counts["bytes"] == sum(read_summary(out / f"worker-{number}")["bytes"] for number in (1, 2))
    times = [row["time"] for row in read_tsv(out / "crawl.tsv")]
    assert times == sorted(times)
    assert hosts(tmp_path) == {site.url.split("/")[2] for site in sites}
    for record in read_json_lines(out / "documents.jsonl.gz"):
        assert record["url"].encode() in open_warc(out / record["warc_file"], LeftOut()).read(record["warc_offset"])
    assert (out / "report.html").exists()
    assert "BILINGUAL_WORKERS = " in (out / "crawl.toml").read_text()
    assert log.count("Outputs: ") == 1
    assert "queued, " in log


def test_a_stop_while_all_documents_are_aligned_names_what_the_pairs_are(tmp_path: Path, sites: list[Site]) -> None:
    crawl = start_scrapy(tmp_path, *command(sites[:2], *ALIGNED, *WORKERS), fresh=True)
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
    assert "pairs.tsv has the pairs that the workers found on the way: the crawl was stopped" in end(crawl)
    assert summary(tmp_path)["finish_reason"] == "shutdown"


def test_a_worker_that_finds_no_redis_when_it_starts_is_started_again(tmp_path: Path) -> None:
    once = "import pathlib, sys; started = pathlib.Path('started'); again = started.exists(); started.touch(); "
    worker = WorkerProcess(tmp_path / "worker-1", [sys.executable, "-c", f"{once}sys.exit(0 if again else 2)"])
    with chdir(tmp_path):
        worker.start()
        for said in ("worker-1 could not start, and starts again", ""):
            while worker.runs():
                time.sleep(0.02)
            assert worker.revive() == said
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
    assert f"out is in use by process {crawl.pid}" in refused(tmp_path, "report", "out")
    crawl.send_signal(signal.SIGKILL)
    crawl.communicate()
    _, alive = psutil.wait_procs([*workers, redis], timeout=10)
    assert not alive
    succeeds(tmp_path, "report", "out")
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
    assert "JOBDIR=job: holds a crawl of several workers: give BILINGUAL_WORKERS" in refused(tmp_path, *one_job)
    (tmp_path / "out" / "worker-2").rename(tmp_path / "elsewhere")
    assert "worker-2 is missing, which a resume needs; put it back" in refused(tmp_path, *one_job, *WORKERS)
    (tmp_path / "elsewhere").rename(tmp_path / "out" / "worker-2")
    end(start_scrapy(tmp_path, *one_job, "-s", "BILINGUAL_WORKERS=3"))
    assert documents(tmp_path) == every_document(sites)
    assert max(n for url, n in asked(sites).items() if not url.endswith(ABOUT_SITE)) == 1


@pytest.mark.parametrize(
    ("spider", "more", "message"),
    [
        ("bilingual", ("-s", "BILINGUAL_WORKERS=0"), "BILINGUAL_WORKERS=0: give a whole number of 1 or more"),
        ("bilingual", ("-s", "BILINGUAL_WORKERS=many"), "BILINGUAL_WORKERS=many: give a whole number of 1 or more"),
        ("bilingual", (*WORKERS, "-s", "BILINGUAL_FRONTIER=redis://a:9/0"), "leave BILINGUAL_FRONTIER out"),
        ("bilingual", (*WORKERS, "-s", "BILINGUAL_STATUS=8010"), "leave BILINGUAL_STATUS out"),
        ("bilingual", (*WORKERS, "-s", "BILINGUAL_POLITENESS=address"), "BILINGUAL_POLITENESS may be domain or host"),
        ("bilingual", (*WORKERS, "-o", "items.jl"), "leave FEEDS and -o out"),
        ("bilingual", (*WORKERS, "-a", "_job=1"), "a job of Scrapyd is one process"),
        ("discovery", WORKERS, "BILINGUAL_WORKERS: sites are looked for by one process"),
    ],
)
def test_what_workers_cannot_do_is_refused(tmp_path: Path, spider: str, more: tuple[str, ...], message: str) -> None:
    assert message in refused(tmp_path, "crawl", spider, *ARGUMENTS[2:], *NOWHERE, *more)
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
    assert "Stopping, a resume goes on from here: redis-server does not start: " in end(crawl, 1)
    assert summary(tmp_path)["finish_reason"] == "write_error"
    data.unlink()
    (tmp_path / "aside").rename(data)
    end(start_scrapy(tmp_path, *command(sites, "-s", "JOBDIR=job", *WORKERS)))
    assert documents(tmp_path) == every_document(sites)


TABLES = {
    "pairs.tsv": "url_a\turl_b\tscore\tmethod\tpair\na\tb\t0,5\turl\teng-fra\n",
    "unpaired.tsv": "url\treason\tnearest\tscore\tpair\na\tlow_score\tb\t0,5\teng-fra\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_cannot_be_joined_is_named_before_the_crawl(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    (out / "worker-1").mkdir(parents=True)
    (out / name).write_text(TABLES[name])
    (out / "summary.json").write_text('{"pair": "eng-spa", "finish_reason": "unfinished"}')
    for command in ((*ARGUMENTS, *NOWHERE, "-s", "BILINGUAL_OUTPUT_DIR=out", *WORKERS), ("report", "out")):
        assert f"{name} cannot be read: could not convert string to float" in refused(tmp_path, *command)


def test_without_redis_server_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    result = run_scrapy(tmp_path, *ARGUMENTS, *NOWHERE, *WORKERS, fresh=True)
    assert result.returncode == 2
    assert "redis-server, which is not on the PATH: apt-get install redis-server" in result.stderr


def test_a_crawl_of_one_process_is_not_gone_on_with_by_workers(tmp_path: Path, sites: list[Site]) -> None:
    one_job = command(sites[:1], "-s", "JOBDIR=job")
    succeeds(tmp_path, *one_job)
    said = refused(tmp_path, *one_job, *WORKERS)
    assert "JOBDIR=job: holds a crawl of one process: leave BILINGUAL_WORKERS out" in said


# workers that share a Redis -------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


def start_worker(
    folder: Path, sites: list[Site], frontier: RedisServer | str, *settings: str, fresh: bool = False
) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    url = frontier if isinstance(frontier, str) else frontier.url
    outputs = (f"BILINGUAL_FRONTIER={url}", f"BILINGUAL_OUTPUT_DIR={folder / 'out'}")
    arguments = each("-a", "pair=eng-spa", "policy=gain", "seeds=" + ",".join(f"{site.url}/" for site in sites))
    return start_scrapy(folder, "crawl", "bilingual", *arguments, *each("-s", *outputs, *settings), fresh=fresh)


def test_workers_share_a_budget_of_bytes_and_pages(tmp_path: Path, sites: list[Site], server: RedisServer) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    more = ("DOWNLOAD_DELAY=0.1", "BILINGUAL_MAX_BYTES=60000")
    for worker in [start_worker(folder, sites, server, *more) for folder in folders]:
        end(worker)
    one, two = map(documents, folders)
    assert not one & two
    assert max(asked(sites).values()) == 1
    received = [summary(folder)["bytes"] for folder in folders]
    assert min(received) > 0
    assert int(redis.Redis(port=server.port).hget("bilingual:crawl:named", "bytes ") or 0) == sum(received)
    assert 60_000 <= sum(received) < 110_000
    assert {summary(folder)["finish_reason"] for folder in folders} == {"byte_budget"}


def test_a_worker_whose_name_a_crash_has_cut_off_gets_another_and_one_that_comes_too_late_has_not_failed(
    tmp_path: Path, sites: list[Site], server: RedisServer
) -> None:
    name = tmp_path / "job" / "worker"
    name.parent.mkdir()
    name.touch()
    end(start_worker(tmp_path / "early", sites[:1], server, f"JOBDIR={name.parent}"))
    assert name.read_text()
    asked = sites[0].asked.total()
    end(start_worker(tmp_path / "late", sites[:1], server))
    assert sites[0].asked.total() == asked
    assert not documents(tmp_path / "late")


@pytest.mark.slow
def test_the_work_of_a_killed_worker_is_taken_over(tmp_path: Path, sites: list[Site], server: RedisServer) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    killed, survivor = (start_worker(folder, sites, server) for folder in folders)
    while not (folders[0] / "out" / "documents.jsonl.gz").exists() or len(documents(folders[0])) < 5:
        time.sleep(0.1)
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    end(survivor)
    one, two = map(documents, folders)
    assert one | two == every_document(sites)
    fetched = asked(sites)
    assert max(fetched.values()) <= 2
    assert sum(n > 1 for n in fetched.values()) <= 16
    found = pairs(folders[1])
    assert found
    # the documents of the other worker, of which this one has learnt, are in none of its pairs
    assert {url for pair in found for url in pair} <= two
    assert summary(folders[1])["pairs"] == len(found)


@pytest.mark.slow
def test_a_killed_worker_and_its_killed_redis_come_back(tmp_path: Path, sites: list[Site], server: RedisServer) -> None:
    folder = tmp_path / "one"
    jobdir = f"JOBDIR={folder / 'job'}"
    killed = start_worker(folder, sites, server, jobdir)
    wait_until_asked(sites, 20, killed)
    killed.kill()
    killed.communicate()
    again = start_worker(folder, sites, server, jobdir)
    wait_until_asked(sites, 40, again)
    server.stop()
    time.sleep(2)
    server.start()
    log = end(again)
    assert "is back after" in log
    assert log.count("does not answer") == 1
    assert documents(folder) == every_document(sites)
    assert sum(n > 1 for n in asked(sites).values()) <= 16


def test_a_redis_that_is_restarted_empty_ends_the_crawl_with_an_error(tmp_path: Path, sites: list[Site]) -> None:
    with redis_server(tmp_path, appendonly="no") as server:
        worker = start_worker(tmp_path / "one", sites, server, "DOWNLOAD_DELAY=0.1")
        wait_until_asked(sites, 20, worker)
        server.stop()
        server.start()
        log = end(worker, 1)
    assert log.count("Stopping: Redis at 127.0.0.1:") == 1
    assert "a resume goes on from here" not in log
    assert summary(tmp_path / "one")["finish_reason"] == "frontier_lost"
    assert 0 < len(documents(tmp_path / "one")) < len(every_document(sites))


@pytest.mark.slow
def test_a_stop_does_not_wait_for_a_redis_that_is_gone(tmp_path: Path, sites: list[Site], server: RedisServer) -> None:
    worker = start_worker(tmp_path / "one", sites, server, "DOWNLOAD_DELAY=0.1")
    wait_until_asked(sites, 20, worker)
    server.stop()
    time.sleep(2)
    worker.send_signal(signal.SIGINT)
    begun = time.monotonic()
    log = end(worker)
    assert time.monotonic() - begun < 200
    assert "a resume goes on from here" in log
    server.start()
    end(start_worker(tmp_path / "two", sites, server, "DOWNLOAD_DELAY=0.1"))
    assert documents(tmp_path / "one") | documents(tmp_path / "two") == every_document(sites)


def test_a_full_redis_is_waited_for(tmp_path: Path, sites: list[Site], server: RedisServer) -> None:
    worker = start_worker(tmp_path / "one", sites, server, "DOWNLOAD_DELAY=0.1")
    wait_until_asked(sites, 20, worker)
    client = redis.Redis(port=server.port)
    client.config_set("maxmemory", 1)
    time.sleep(2)
    client.config_set("maxmemory", 0)
    assert end(worker).count("does not answer") == 1
    assert documents(tmp_path / "one") == every_document(sites)


@pytest.mark.slow
def test_a_password_in_the_query_is_in_no_output_and_no_command_line(tmp_path: Path, sites: list[Site]) -> None:
    commands: set[str] = set()
    with redis_server(tmp_path, requirepass="sesame") as server:
        folder = tmp_path / "one"
        place = f"{server.url}?password=sesame#crawl"
        settings = ("BILINGUAL_STATUS=127.0.0.1:0", "DOWNLOAD_DELAY=0.1")
        worker = start_worker(folder, sites[:1], place, *settings, fresh=True)
        process = psutil.Process(worker.pid)
        given = process.cmdline()
        while worker.poll() is None:
            children: list[psutil.Process] = []
            with suppress(psutil.NoSuchProcess):
                children = process.children(recursive=True)
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    # a child has the command line of its parent, which the user gave, until its program is loaded
                    if (line := child.cmdline()) != given:
                        commands.add(" ".join(line))
            time.sleep(0.2)
        log = end(worker)
    assert documents(folder)
    assert any("bilingual_crawler.pages.sandbox" in command for command in commands)
    written = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert b"?password=\xe2\x80\xa6" in written["summary.json"]
    assert "crawl.toml" in written
    assert not [name for name, text in written.items() if b"sesame" in text]
    assert "sesame" not in log
    assert not [command for command in commands if "sesame" in command]


def test_a_wrong_address_ends_with_what_to_do_and_no_password(tmp_path: Path, sites: list[Site]) -> None:
    for url, said in (
        ("redis://:secret@127.0.0.1:9/0", "Redis at 127.0.0.1:9 cannot be used"),
        ("postgres://u:secret@127.0.0.1/0", "choose one of redis, rediss, unix"),
    ):
        _, log = start_worker(tmp_path, sites, url).communicate(timeout=300)
        assert said in log
        assert "secret" not in log
