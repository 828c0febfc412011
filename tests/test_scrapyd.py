"""The project on a real Scrapyd: deployed, scheduled over HTTP, stopped, upgraded and resumed."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from support.redis_server import redis_server
from support.scrapyd_server import copy_checkout, rename_bot, start_scrapyd
from support.webserver import ABOUT_SITE, bilingual_site, run_scrapy, serve, varied

from bilingual_crawler.reporting.results import one_to_one
from bilingual_crawler.storage.records import read_json_lines, read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.scrapyd_server import Scrapyd

PAGES = 8
HOSTS = 4


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("deploy") / "checkout", "first-egg")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Iterator[Scrapyd]:
    with start_scrapyd(tmp_path_factory.mktemp("node") / "scrapyd") as server:
        server.deploy(checkout, "1")
        yield server


@pytest.mark.slow
def test_a_job_crawls_with_the_code_and_models_of_the_egg(server: Scrapyd) -> None:
    with serve(bilingual_site(PAGES)) as site:
        job = server.schedule({"pair": "eng-spa", "seeds": f"{site.url}/en/", "policy": "smart"})
        server.wait(job)
    log = server.log(job)
    assert "first-egg" in log
    assert "Traceback" not in log
    folder = server.folder / "crawls" / job
    documents = [record["url"] for record in read_json_lines(folder / "documents.jsonl.gz")]
    assert len(documents) == 2 * PAGES + 2
    found = {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "pairs.tsv")}
    names = ["", *(f"page-{number}.html" for number in range(PAGES))]
    assert found == {(f"{site.url}/en/{name}", f"{site.url}/es/{name}") for name in names}
    assert (folder / "report.html").exists()
    aligned = run_scrapy(folder, "align", str(folder), "--pair", "eng-spa", "--out", "aligned.tsv")
    assert aligned.returncode == 0, aligned.stderr
    rows = [sorted(map(tuple, map(dict.items, read_tsv(folder / name)))) for name in ("pairs.tsv", "aligned.tsv")]
    assert rows[0] == rows[1], "the crawl ends with the same alignment"
    feed = server.folder / "items" / "bilingual_crawler" / "bilingual" / f"{job}.jl"
    assert len(feed.read_text().splitlines()) == len(documents)


@pytest.mark.slow
def test_a_job_discovers_with_the_models_of_the_egg(server: Scrapyd) -> None:
    with serve(bilingual_site(PAGES)) as site:
        job = server.schedule({"pair": "eng-spa", "seeds": f"{site.url}/en/"}, spider="discovery")
        server.wait(job)
    assert "Traceback" not in server.log(job)
    (judged,) = read_tsv(server.folder / "crawls" / job / "sites.tsv")
    assert judged["verdict"] == "bilingual"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ({"pair": "eng-spam", "seeds": "http://127.0.0.1:9/"}, [], "did you mean"),
        (
            {"pair": "eng-spa", "seeds": "http://127.0.0.1:9/", "policy": "smart"},
            ["BILINGUAL_MODELS_DIR=/srv/no-models"],
            "BILINGUAL_MODELS_DIR=/srv/no-models: there is no such folder",
        ),
    ],
)
def test_what_keeps_a_job_from_starting_is_in_its_log(
    server: Scrapyd, arguments: dict[str, str], settings: list[str], message: str
) -> None:
    job = server.schedule(arguments, settings)
    server.wait(job)
    assert message in server.log(job)
    assert not (server.folder / "crawls" / job).exists()


def test_a_node_has_models_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILINGUAL_MODELS_DIR", "/srv/no-models")
    arguments = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:9/", "-a", "policy=smart")
    result = run_scrapy(tmp_path, "crawl", "bilingual", *arguments)
    assert result.returncode == 2
    assert "BILINGUAL_MODELS_DIR=/srv/no-models: there is no such folder" in result.stderr


@pytest.mark.slow
def test_an_upgrade_in_the_middle_of_a_crawl_loses_nothing(server: Scrapyd, checkout: Path) -> None:
    with serve(bilingual_site(20), delay=0.05) as site:
        arguments = {"pair": "eng-spa", "seeds": f"{site.url}/", "policy": "bfs"}
        job = server.schedule(arguments, jobid="large-crawl")
        site.wait_until_asked(10)
        server.post("cancel", ("job", job))
        server.wait(job)
        before = len(site.asked)
        rename_bot(checkout, "second-egg")
        server.deploy(checkout, "2")
        server.schedule(arguments, jobid="large-crawl")
        server.wait(job, runs=2)
    log = server.log(job)
    assert log.index("first-egg") < log.index("second-egg")
    assert before < len(site.asked)
    assert {path for path, count in site.asked.items() if count > 1} <= set(ABOUT_SITE)
    folder = server.folder / "crawls" / job
    assert len(list(read_json_lines(folder / "documents.jsonl.gz"))) == 42
    assert len(list(read_tsv(folder / "pairs.tsv"))) == 21


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_jobs_on_two_nodes_that_share_a_frontier_split_the_hosts(
    tmp_path: Path, server: Scrapyd, checkout: Path
) -> None:
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(tmp_path))
        other = stack.enter_context(start_scrapyd(tmp_path / "other"))
        other.deploy(checkout, "1", server.egg("1"))
        pages = varied(bilingual_site(PAGES))
        sites = [stack.enter_context(serve(pages, address=f"127.0.0.{n + 2}", delay=3)) for n in range(HOSTS)]
        arguments = {"pair": "eng-spa", "seeds": ",".join(f"{site.url}/" for site in sites)}
        settings = [f"BILINGUAL_FRONTIER={redis.url}#split", "DOWNLOAD_TIMEOUT=300"]
        # the node that begins first has all hosts; it can give some away only while it has pages left on them
        for site in sites:
            site.answers.clear()
        jobs = [(node, node.schedule(arguments, settings)) for node in (server, other)]
        folders = [node.folder / "crawls" / job for node, job in jobs]
        wait_for(lambda: all("Spider opened" in node.log(job) for node, job in jobs))
        for site in sites:
            site.answers.set()
        wait_for(lambda: all(any(read_tsv(folder / "crawl.tsv")) for folder in folders))
        for site in sites:
            site.delay = 0.05
        for node, job in jobs:
            node.wait(job)
    found = [{record["url"] for record in read_json_lines(folder / "documents.jsonl.gz")} for folder in folders]
    assert all(found)
    assert not found[0] & found[1]
    assert len(found[0] | found[1]) == HOSTS * (2 * PAGES + 2)
    for folder, documents in zip(folders, found, strict=True):
        held = {(url, url.replace("/en/", "/es/")) for url in documents if "/en/" in url}
        # a pair found on the way may be replaced by a better one; a shared crawl is not aligned at its end
        rows = one_to_one(read_tsv(folder / "pairs.tsv"))
        assert {(row["url_a"], row["url_b"]) for row in rows} == {pair for pair in held if pair[1] in documents}
    assert max(count for site in sites for path, count in site.asked.items() if path not in ABOUT_SITE) == 1
