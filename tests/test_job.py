"""A job folder, and a crawl in Redis, belong to a pair, a scope and seeds."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from support.redis_server import redis_server
from support.webserver import bilingual_site, run_scrapy, serve, start_scrapy, varied

from bilingual_crawler.storage.files import FolderLock
from bilingual_crawler.storage.records import read_json_lines, read_tsv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from support.webserver import Site

PAGES = 4


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(varied(bilingual_site(PAGES))) as site:
        yield site


class Job:
    """A crawl with what it keeps in a job folder or in Redis."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.folder = folder
        self._settings = [part for one in settings for part in ("-s", one)]

    def command(self, seeds: str, *more: str, pair: str = "eng-spa", out: str = "out") -> tuple[str, ...]:
        arguments = ("-a", f"pair={pair}", "-a", f"seeds={seeds}", *more, "-s", f"BILINGUAL_OUTPUT_DIR={out}")
        return ("crawl", "bilingual", *arguments, *self._settings)

    def run(self, seeds: str, *more: str, pair: str = "eng-spa", out: str = "out") -> CompletedProcess[str]:
        return run_scrapy(self.folder, *self.command(seeds, *more, pair=pair, out=out))

    def pairs(self) -> int:
        return len(list(read_tsv(self.folder / "out" / "pairs.tsv")))


def test_a_job_folder_of_another_crawl_is_refused_and_its_results_stay(tmp_path: Path, site: Site) -> None:
    job = Job(tmp_path, "JOBDIR=job")
    seeds = f"{site.url}/en/,{site.url}/es/"
    assert job.run(seeds).returncode == 0
    assert job.pairs() == PAGES + 1
    asked = site.asked.total()
    for change, message in (
        (job.run(seeds, pair="eng-fra"), "JOBDIR=job: holds a crawl with pair=eng-spa, not eng-fra"),
        (job.run(seeds, pair="spa-eng"), "JOBDIR=job: holds a crawl with pair=eng-spa, not spa-eng"),
        (job.run(seeds, "-a", "scope=host"), "JOBDIR=job: holds a crawl with scope=site, not host"),
        (job.run(seeds, "-s", "BILINGUAL_SCOPE_PREFIXES=a.org"), "BILINGUAL_SCOPE_PREFIXES="),
        (job.run(seeds, "-s", "BILINGUAL_POLITENESS=host"), "with BILINGUAL_POLITENESS=domain, not host: give domain"),
        (job.run(f"{site.url}/en/"), f"holds a crawl with the seed {site.url}/es/: give all of its seeds"),
        (job.run("http://127.0.0.1:9/"), "holds a crawl with the seed"),
    ):
        assert change.returncode == 2
        assert message in change.stderr
        assert "Traceback" not in change.stderr
    assert site.asked.total() == asked
    assert job.pairs() == PAGES + 1


def test_another_policy_and_more_seeds_go_on(tmp_path: Path, site: Site) -> None:
    job = Job(tmp_path, "JOBDIR=job")
    assert job.run(f"{site.url}/en/page-1.html", "-a", "max_pages=2").returncode == 0
    before = dict(site.asked)
    more = f"{site.url}/en/,{site.url}/en/page-1.html"
    # a job of an earlier version, and the slots of both are domains
    file = tmp_path / "job" / "job.json"
    values = json.loads(file.read_text())
    del values["politeness"]
    file.write_text(json.dumps(values))
    result = job.run(more, "-a", "policy=bfs", "-s", "BILINGUAL_POLITENESS=address")
    assert json.loads(file.read_text())["politeness"] == "address"
    assert result.returncode == 0, result.stderr
    assert job.pairs() == PAGES + 1
    assert site.asked["/en/page-1.html"] == before["/en/page-1.html"] == 1
    # the added seed is part of the job from now on
    assert job.run(f"{site.url}/en/page-1.html").returncode == 2


def test_a_crawl_whose_outputs_are_gone_is_refused_until_its_folder_is_named(tmp_path: Path, site: Site) -> None:
    job = Job(tmp_path, "JOBDIR=job")
    seeds = f"{site.url}/en/,{site.url}/es/"
    site.delay = 0.3
    crawl = start_scrapy(tmp_path, *job.command(seeds, "-s", "CONCURRENT_REQUESTS=1", "-O", "feed.jsonl"))
    site.wait_until_asked(6)
    (tmp_path / "out").rename(tmp_path / "moved")
    _, log = crawl.communicate(timeout=300)
    assert crawl.returncode == 1, log
    assert "Stopping, a resume goes on from here: [Errno 2] No such file or directory" in log
    site.delay = 0.0
    asked = site.asked.total()
    refused = job.run(seeds)
    assert refused.returncode == 2
    assert f"JOBDIR=job: its crawl writes into {tmp_path / 'out'}, which is gone" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out").exists()
    assert site.asked.total() == asked
    (tmp_path / "job" / "output_dir").write_text(f"{tmp_path / 'moved'}\n")
    # nor is a feed written over
    refused = job.run(seeds, "-O", "feed.jsonl")
    assert refused.returncode == 2
    assert "feed.jsonl: has the documents of earlier runs" in refused.stderr
    assert job.run(seeds, "-o", "feed.jsonl").returncode == 0
    assert len(list(read_tsv(tmp_path / "moved" / "pairs.tsv"))) == PAGES + 1
    documents = {record["url"] for record in read_json_lines(tmp_path / "moved" / "documents.jsonl.gz")}
    assert {json.loads(line)["url"] for line in (tmp_path / "feed.jsonl").read_text().splitlines()} == documents


def test_a_crawl_in_redis_of_another_pair_is_refused(tmp_path: Path, site: Site) -> None:
    with redis_server(tmp_path) as server:
        job = Job(tmp_path, f"BILINGUAL_FRONTIER={server.url}#maltese")
        assert job.run(f"{site.url}/en/").returncode == 0
        for result, message in (
            (
                job.run(f"{site.url}/en/", pair="eng-fra", out="two"),
                "bilingual:maltese:*: holds a crawl with pair=eng-spa",
            ),
            (job.run(f"{site.url}/es/", out="two"), f"holds a crawl with the seed {site.url}/en/"),
        ):
            assert result.returncode == 2
            assert message in result.stderr
        assert not (tmp_path / "two").exists()
        # another crawl on the same server is independent
        other = Job(tmp_path, f"BILINGUAL_FRONTIER={server.url}#french").run(
            f"{site.url}/en/", pair="eng-fra", out="two"
        )
        assert other.returncode == 0, other.stderr


@pytest.mark.slow
def test_the_same_command_beside_a_crawl_is_refused_and_the_crawl_goes_on(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(30)), delay=1.0) as site:
        command = ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={site.url}/", "-s", "JOBDIR=job")
        first = start_scrapy(tmp_path, *command, "-s", "BILINGUAL_OUTPUT_DIR=out")
        try:
            site.wait_until_asked(6)
            for folder in ("out", "another"):
                second = run_scrapy(tmp_path, *command, "-s", f"BILINGUAL_OUTPUT_DIR={folder}")
                assert second.returncode == 2
                assert f"JOBDIR=job: is in use by process {first.pid} on " in second.stderr
                assert "Traceback" not in second.stderr
            site.delay = 0.0
            # the folder of a running crawl is read as before
            report = run_scrapy(tmp_path, "report", "out")
            assert report.returncode == 0, report.stderr
            _, log = first.communicate(timeout=300)
        finally:
            first.kill()
        assert first.returncode == 0, log
        assert len(documents(tmp_path / "out")) == 2 * 30 + 2
        assert run_scrapy(tmp_path, *command).returncode == 0, "the lock ends with the crawl"


def test_two_crawls_into_one_new_folder_write_each_document_once(tmp_path: Path, site: Site) -> None:
    command = ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={site.url}/", "-s", "BILINGUAL_OUTPUT_DIR=out")
    site.delay = 0.2
    crawls = [start_scrapy(tmp_path, *command) for _ in range(2)]
    logs = [crawl.communicate(timeout=300)[1] for crawl in crawls]
    assert sorted(crawl.returncode for crawl in crawls) == [0, 2], logs
    assert len(documents(tmp_path / "out")) == 2 * PAGES + 2


def test_an_output_folder_in_use_is_refused(tmp_path: Path, site: Site) -> None:
    (tmp_path / "out").mkdir()
    arguments = ("-a", "pair=eng-spa", "-a", f"seeds={site.url}/", "-s", "BILINGUAL_OUTPUT_DIR=out")
    with FolderLock(tmp_path / "out"):
        refused = run_scrapy(tmp_path, "crawl", "bilingual", *arguments)
    assert refused.returncode == 2
    assert f"BILINGUAL_OUTPUT_DIR={tmp_path / 'out'}: is in use by process {os.getpid()} on " in refused.stderr
    assert not site.asked
    # a lock that a dead process has left is none
    assert run_scrapy(tmp_path, "crawl", "bilingual", *arguments).returncode == 0


def documents(folder: Path) -> list[str]:
    """The URLs of the documents, each of which is there once."""
    urls = [record["url"] for record in read_json_lines(folder / "documents.jsonl.gz")]
    assert len(urls) == len(set(urls))
    return urls
