"""Crawls of several hosts by real ``scrapy crawl`` processes that share a frontier on a real Redis."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import redis
from support.crawls import each, end, summary
from support.redis_server import RedisServer, redis_server
from support.several_sites import asked, documents, every_document, serve_several, wait_until_asked
from support.webserver import Site, start_scrapy

from bilingual_crawler.storage.records import read_tsv

HOSTS = 6


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    with serve_several(HOSTS) as sites:
        yield sites


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


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "two"]


def test_workers_share_the_budget_of_bytes_and_fetch_nothing_twice(
    folders: list[Path], sites: list[Site], server: RedisServer
) -> None:
    more = ("DOWNLOAD_DELAY=0.1", "BILINGUAL_MAX_BYTES=60000")
    workers = [start_worker(folder, sites, server, *more) for folder in folders]
    for worker in workers:
        end(worker)
    one, two = map(documents, folders)
    assert not one & two
    assert max(asked(sites).values()) == 1
    received = [summary(folder)["bytes"] for folder in folders]
    assert min(received) > 0
    counted = redis.Redis(port=server.port).hget("bilingual:crawl:named", "bytes ")
    assert int(counted or 0) == sum(received)
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
def test_the_work_of_a_killed_worker_is_taken_over(folders: list[Path], sites: list[Site], server: RedisServer) -> None:
    killed, survivor = (start_worker(folder, sites, server) for folder in folders)
    while not (folders[0] / "out" / "documents.jsonl.gz").exists() or len(documents(folders[0])) < 5:
        time.sleep(0.1)
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    end(survivor)
    one, two = map(documents, folders)
    assert one | two == every_document(sites)
    fetched = asked(sites)
    assert max(fetched.values()) <= 2
    assert sum(n > 1 for n in fetched.values()) <= 16
    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(folders[1] / "out" / "pairs.tsv")}
    assert pairs
    # the documents of the other worker, of which this one has learnt, are in none of its pairs
    assert {url for pair in pairs for url in pair} <= two
    assert summary(folders[1])["pairs"] == len(pairs)


@pytest.mark.slow
def test_a_killed_worker_comes_back_and_redis_is_killed_under_it(
    tmp_path: Path, sites: list[Site], server: RedisServer
) -> None:
    folder = tmp_path / "one"
    jobdir = f"JOBDIR={folder / 'job'}"
    killed = start_worker(folder, sites, server, jobdir)
    wait_until_asked(sites, 20, killed)
    killed.send_signal(signal.SIGKILL)
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
    log = end(worker)
    assert log.count("does not answer") == 1
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
