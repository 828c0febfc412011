"""The project on a real Scrapyd: deployed, and scheduled over HTTP; the page about deployment has a test of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import refused
from support.scrapyd_server import Scrapyd, copy_checkout, start_scrapyd
from support.webserver import bilingual_site, run_scrapy, serve

from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    checkout = copy_checkout(tmp_path_factory.mktemp("deploy") / "checkout", "first-egg")
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
    # its templates are in the egg, which is no folder
    assert f"The {len(found)} best of {len(found)} pairs" in (folder / "report.html").read_text(encoding="utf-8")
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
    ("pair", "settings", "message"),
    [
        ("eng-spam", [], "did you mean"),
        ("eng-spa", ["BILINGUAL_MODELS_DIR=/srv/none"], "BILINGUAL_MODELS_DIR=/srv/none: there is no such folder"),
    ],
)
def test_what_keeps_a_job_from_starting_is_in_its_log(
    server: Scrapyd, pair: str, settings: list[str], message: str
) -> None:
    job = server.schedule({"pair": pair, "seeds": "http://127.0.0.1:9/", "policy": "smart"}, settings)
    server.wait(job)
    assert message in server.log(job)
    assert not (server.folder / "crawls" / job).exists()


def test_a_node_has_models_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILINGUAL_MODELS_DIR", "/srv/no-models")
    arguments = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:9/", "-a", "policy=smart")
    said = refused(tmp_path, "crawl", "bilingual", *arguments)
    assert said.startswith("BILINGUAL_MODELS_DIR=/srv/no-models: there is no such folder")
