"""A job folder, and a crawl in Redis, belong to a pair, a scope and seeds."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import each, end, pairs, refused, succeeds
from support.redis_server import redis_server
from support.webserver import Site, bilingual_site, serve, start_scrapy, varied

from bilingual_crawler.storage.files import FolderLock
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 4


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(varied(bilingual_site(PAGES))) as site:
        yield site


def command(seeds: str, *settings: str, pair: str = "eng-spa", out: str = "out") -> tuple[str, ...]:
    """What begins a crawl, or goes on with it, if *settings* name what it keeps."""
    arguments = each("-a", f"pair={pair}", f"seeds={seeds}")
    return ("crawl", "bilingual", *arguments, *each("-s", f"BILINGUAL_OUTPUT_DIR={out}", *settings))


JOB = "JOBDIR=job"


def test_a_job_folder_of_another_crawl_is_refused_and_its_results_stay(tmp_path: Path, site: Site) -> None:
    english, both = f"{site.url}/en/", f"{site.url}/en/,{site.url}/es/"
    succeeds(tmp_path, *command(both, JOB))
    assert len(pairs(tmp_path, site)) == PAGES + 1
    asked = site.asked.total()
    for another, message in (
        (command(both, JOB, pair="eng-fra"), "JOBDIR=job: holds a crawl with pair=eng-spa, not eng-fra"),
        (command(both, JOB, pair="spa-eng"), "JOBDIR=job: holds a crawl with pair=eng-spa, not spa-eng"),
        ((*command(both, JOB), "-a", "scope=host"), "JOBDIR=job: holds a crawl with scope=site, not host"),
        (command(both, JOB, "BILINGUAL_SCOPE_PREFIXES=a.org"), "BILINGUAL_SCOPE_PREFIXES="),
        (command(both, JOB, "BILINGUAL_POLITENESS=host"), "with BILINGUAL_POLITENESS=domain, not host: give domain"),
        (command(english, JOB), f"holds a crawl with the seed {site.url}/es/: give all of its seeds"),
        (command("http://127.0.0.1:9/", JOB), "holds a crawl with the seed"),
    ):
        assert message in refused(tmp_path, *another)
    assert site.asked.total() == asked
    assert len(pairs(tmp_path, site)) == PAGES + 1


def test_another_policy_and_more_seeds_go_on(tmp_path: Path, site: Site) -> None:
    one, more = f"{site.url}/en/page-1.html", f"{site.url}/en/,{site.url}/en/page-1.html"
    succeeds(tmp_path, *command(one, JOB), "-a", "max_pages=2")
    before = dict(site.asked)
    # a job of an earlier version, and the slots of both are domains
    file = tmp_path / "job" / "job.json"
    values = json.loads(file.read_text())
    del values["politeness"]
    file.write_text(json.dumps(values))
    succeeds(tmp_path, *command(more, JOB, "BILINGUAL_POLITENESS=address"), "-a", "policy=bfs")
    assert json.loads(file.read_text())["politeness"] == "address"
    assert len(pairs(tmp_path, site)) == PAGES + 1
    assert site.asked["/en/page-1.html"] == before["/en/page-1.html"] == 1
    # the added seed is part of the job from now on
    refused(tmp_path, *command(one, JOB))


def test_a_crawl_whose_outputs_are_gone_is_refused_until_its_folder_is_named(tmp_path: Path, site: Site) -> None:
    again = command(f"{site.url}/en/,{site.url}/es/", JOB)
    out, moved = tmp_path / "out", tmp_path / "moved"
    site.delay = 0.3
    crawl = start_scrapy(tmp_path, *again, "-s", "CONCURRENT_REQUESTS=1", "-O", "feed.jsonl")
    site.wait_until_asked(6)
    out.rename(moved)
    assert "Stopping, a resume goes on from here: [Errno 2] No such file or directory" in end(crawl, status=1)
    site.delay = 0.0
    asked = site.asked.total()
    assert f"JOBDIR=job: its crawl writes into {out}, which is gone" in refused(tmp_path, *again)
    assert not out.exists()
    assert site.asked.total() == asked
    (tmp_path / "job" / "output_dir").write_text(f"{moved}\n")
    # nor is a feed written over
    assert "feed.jsonl: has the documents of earlier runs" in refused(tmp_path, *again, "-O", "feed.jsonl")
    succeeds(tmp_path, *again, "-o", "feed.jsonl")
    assert len(list(read_tsv(moved / "pairs.tsv"))) == PAGES + 1
    feed = (tmp_path / "feed.jsonl").read_text().splitlines()
    assert {json.loads(line)["url"] for line in feed} == set(documents(moved))


def test_a_crawl_in_redis_of_another_pair_is_refused(tmp_path: Path, site: Site) -> None:
    english = f"{site.url}/en/"
    with redis_server(tmp_path) as server:
        maltese, french = (f"BILINGUAL_FRONTIER={server.url}#{name}" for name in ("maltese", "french"))
        succeeds(tmp_path, *command(english, maltese))
        said = refused(tmp_path, *command(english, maltese, pair="eng-fra", out="two"))
        assert "bilingual:maltese:*: holds a crawl with pair=eng-spa" in said
        said = refused(tmp_path, *command(f"{site.url}/es/", maltese, out="two"))
        assert f"holds a crawl with the seed {english}" in said
        assert not (tmp_path / "two").exists()
        # another crawl on the same server is independent
        succeeds(tmp_path, *command(english, french, pair="eng-fra", out="two"))


@pytest.mark.slow
def test_the_same_command_beside_a_crawl_is_refused_and_the_crawl_goes_on(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(30)), delay=1.0) as site:
        same = command(f"{site.url}/", JOB)
        first = start_scrapy(tmp_path, *same)
        try:
            site.wait_until_asked(6)
            for other in (same, command(f"{site.url}/", JOB, out="another")):
                assert refused(tmp_path, *other).startswith(f"JOBDIR=job: is in use by process {first.pid} on ")
            site.delay = 0.0
            # the folder of a running crawl is read as before
            succeeds(tmp_path, "report", "out")
            end(first)
        finally:
            first.kill()
        assert len(documents(tmp_path / "out")) == 2 * 30 + 2
        # the lock ends with the crawl
        succeeds(tmp_path, *same)


def test_two_crawls_into_one_new_folder_write_each_document_once(tmp_path: Path, site: Site) -> None:
    site.delay = 0.2
    crawls = [start_scrapy(tmp_path, *command(f"{site.url}/")) for _ in range(2)]
    logs = [crawl.communicate(timeout=300)[1] for crawl in crawls]
    assert sorted(crawl.returncode for crawl in crawls) == [0, 2], logs
    assert len(documents(tmp_path / "out")) == 2 * PAGES + 2


def test_an_output_folder_in_use_is_refused(tmp_path: Path, site: Site) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with FolderLock(out):
        said = refused(tmp_path, *command(f"{site.url}/"))
    assert said.startswith(f"BILINGUAL_OUTPUT_DIR={out}: is in use by process {os.getpid()} on ")
    assert not site.asked
    # a lock that a dead process has left is none
    succeeds(tmp_path, *command(f"{site.url}/"))


def documents(folder: Path) -> list[str]:
    """The URLs of the documents, each of which is there once."""
    urls = [record["url"] for record in read_json_lines(folder / "documents.jsonl.gz")]
    assert len(urls) == len(set(urls))
    return urls
