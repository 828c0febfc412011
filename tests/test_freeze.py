"""Frozen sites of finished crawls, and finished crawls compared by their cost."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import crawl, ended_well, pairs
from support.webserver import ALIGNED, QUICK, Site, bilingual_site, run_scrapy, serve, varied

from bilingual_crawler.harvest.finished import read_run
from bilingual_crawler.harvest.sites import read_site, read_tasks
from bilingual_crawler.storage.records import read_tsv

PAGES = 6


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve(varied(bilingual_site(PAGES))) as site:
        yield site


@pytest.fixture(scope="module")
def crawled(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    ended_well(crawl(folder, f"{site.url}/en/", *QUICK, *ALIGNED))
    return folder


def test_a_crawl_becomes_a_site_that_harvest_reads(crawled: Path, site: Site, tmp_path: Path) -> None:
    ended_well(run_scrapy(tmp_path, "freeze", str(crawled / "out"), "--out", "sites"))
    (task,) = read_tasks(tmp_path / "sites")
    assert (task.lang_a, task.lang_b, task.seeds) == ("eng", "spa", (f"{site.url}/en/",))
    frozen = read_site(tmp_path / "sites" / task.site)
    found = pairs(crawled, site)
    assert len(found) >= PAGES
    assert {(pair.url_a.removeprefix(site.url), pair.url_b.removeprefix(site.url)) for pair in frozen.pairs} == found
    html = {row["url"] for row in read_tsv(crawled / "out" / "crawl.tsv") if row["outcome"] == "document"}
    assert frozen.languages.keys() >= html
    assert frozen.reachable(task.seeds) >= html
    (row,) = read_tsv(tmp_path / "sites" / "tasks.tsv")
    assert (int(row["gold_pairs"]), int(row["reachable_pages"])) == (len(found), len(frozen.languages))
    measured = run_scrapy(tmp_path, "harvest", "sites", "--policies", "bfs,oracle", "--out", "harvest")
    assert measured.returncode == 0, measured.stderr + measured.stdout
    results = {one["policy"]: one for one in json.loads((tmp_path / "harvest" / "results.json").read_text())}
    assert results["bfs"]["found"] == results["bfs"]["gold_pairs"] == len(found)
    assert results["oracle"]["relative_auc"] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nowhere", "--out", "sites"), "nowhere has no crawl.tsv"),
        (("{out}", "--out", "{out}"), "is not empty; give a new folder"),
        (("{out}", "--out", "sites", "--min-score", "2"), "give a number from 0 to 1"),
        (("{out}", "{copy}", "--out", "sites"), "another crawl has 127.0.0.1, too"),
    ],
)
def test_bad_input_of_freeze(crawled: Path, tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawled / "out", copy)
    named = (one.format(out=crawled / "out", copy=copy) for one in arguments)
    result = run_scrapy(tmp_path, "freeze", *named)
    assert result.returncode == 2
    assert error in result.stderr
    assert result.stderr.count("\n") == 1


def test_finished_crawls_are_compared_by_what_they_cost(crawled: Path, tmp_path: Path) -> None:
    run = read_run(crawled / "out")
    assert run.pairs[-1] == PAGES + 1
    assert sorted(run.pairs) == run.pairs
    assert run.sizes[-1] > 0
    requests = int(run.cost(100, run.pairs[-1]).split(" / ")[0])
    assert run.pairs[requests - 2] < run.pairs[-1] == run.pairs[requests - 1]
    size, seconds = run.sizes[requests - 1], run.seconds[requests - 1]
    assert run.cost(100, run.pairs[-1]) == f"{requests} / {size / 1e6:.1f} / {seconds / 60:.1f}"
    assert run.cost(100, run.pairs[-1] + 1) == "–"
    # half of the crawl has fewer pairs, so that it never comes to all
    half = tmp_path / "half"
    shutil.copytree(crawled / "out", half)
    rows = (half / "crawl.tsv").read_text().splitlines(keepends=True)
    (half / "crawl.tsv").write_text("".join(rows[: len(rows) // 2]))
    result = ended_well(run_scrapy(tmp_path, "harvest", "--runs", str(crawled / "out"), str(half)))
    last = {line.split()[0]: line.split("  ")[-1].strip() for line in result.stdout.splitlines() if line.strip()}
    assert last["half"] == "–"
    assert last["out"].startswith(f"{requests} / ")
    failed = run_scrapy(tmp_path, "harvest", "--runs", str(tmp_path))
    assert failed.returncode == 2
    assert "give the output folder of a finished crawl" in failed.stderr
