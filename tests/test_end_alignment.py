"""The alignment that ends a crawl runs in a process of its own, can be stopped, and leaves out what it cannot read."""

import gzip
import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from io import BytesIO
from operator import itemgetter
from pathlib import Path

import pytest
from support.crawls import end, ended_well, refused, summary
from support.webserver import ALIGNED, bilingual_site, run_scrapy, serve, start_scrapy, varied
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bilingual_crawler.alignment.at_end import MAX_CHARACTERS
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 12
MANY = 60
LONG = MAX_CHARACTERS // (2 * MANY)
"""Characters of a page: so many pages in each language have an alignment in a process of its own."""


def crawl(url: str, *more: str) -> tuple[str, ...]:
    settings = (*ALIGNED, "-s", "BILINGUAL_OUTPUT_DIR=out", "-s", "BILINGUAL_STALE_PAGES=0")
    return ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={url}/en/", *settings, *more)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends well."""
    result: subprocess.CompletedProcess[str] = ended_well(run_scrapy(folder, *arguments))
    return result


def wait_for_alignment(process: subprocess.Popen[str]) -> int:
    """The process id of the alignment."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        # a child that has just ended has no command line any more
        with suppress(OSError):
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                if b"at_end" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        time.sleep(0.01)
    raise AssertionError("no alignment began")


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["crawl", "alignment"])
def test_a_stopped_alignment_leaves_the_pairs_found_on_the_way(tmp_path: Path, victim: str) -> None:
    pages = varied(bilingual_site(MANY))
    for path, page in pages.items():
        text = page.rpartition("<p>")[2].partition("</p>")[0]
        pages[path] = page.replace("</body>", f"<p>{text * (LONG // len(text) + 1)}</p></body>")
    with serve(pages) as site:
        process = start_scrapy(tmp_path, *crawl(site.url), fresh=True)
        child = wait_for_alignment(process)
        began = time.monotonic()
        if victim == "crawl":
            process.send_signal(signal.SIGINT)
        else:
            os.kill(child, signal.SIGKILL)
        log = end(process, status=0 if victim == "crawl" else 1)
    assert time.monotonic() - began < 120
    assert "found on the way" in log
    command = f"scrapy align {tmp_path / 'out'} --out {tmp_path / 'out/pairs.tsv'}"
    assert f"Missing: pairs.tsv of all documents. To make them: {command}" in log
    assert summary(tmp_path)["missing"] == {"pairs.tsv": command}
    pairs = list(read_tsv(tmp_path / "out/pairs.tsv"))
    assert len(pairs) == MANY + 1 == summary(tmp_path)["pairs"]
    assert {pair["method"] for pair in pairs} <= {"switcher", "url"}
    assert not Path(f"/proc/{child}").exists()
    assert not list((tmp_path / "out").glob("*.new"))


def test_few_documents_are_aligned_without_another_process(tmp_path: Path) -> None:
    pages = varied(bilingual_site(PAGES))
    # for these unclosed comments a regular expression took quadratic time, and the alignment never ended
    pages["/en/page-1.html"] += "<!--" * 75_000
    with serve(pages) as site:
        process = start_scrapy(tmp_path, *crawl(site.url), fresh=True)
        with pytest.raises(AssertionError, match="no alignment began"):
            wait_for_alignment(process)
        assert "found on the way" not in end(process)
    assert summary(tmp_path)["pairs"] == PAGES + 1
    assert summary(tmp_path)["aligned"]


def test_no_alignment_begins_after_ctrl_c_and_the_resumed_crawl_aligns(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(PAGES)), delay=0.05) as site:
        command = crawl(site.url, "-s", "JOBDIR=job")
        process = start_scrapy(tmp_path, *command)
        site.wait_until_asked(10)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=300)
        assert "not all documents were aligned, since the crawl was stopped" in log
        assert "found on the way" not in run(tmp_path, *command).stderr
    assert summary(tmp_path)["pairs"] == PAGES + 1


@pytest.mark.parametrize("method", ["auto", ""])
def test_a_resume_keeps_what_align_has_written_of_other_languages(tmp_path: Path, method: str) -> None:
    with serve(varied(bilingual_site(PAGES))) as site:
        command = crawl(site.url, "-s", "JOBDIR=job", "-s", f"BILINGUAL_ALIGN={method}")
        run(tmp_path, *command)
        rows = {"pairs.tsv": "a\tb\t1.0\turl\teng-fra", "unpaired.tsv": "c\tno_candidate\t\t0.0\teng-fra"}
        for name, row in rows.items():
            with (tmp_path / "out" / name).open("a") as file:
                file.write(f"{row}\n")
        # a kill does not take them
        killed = start_scrapy(tmp_path, *command)
        while (tmp_path / "out/unpaired.tsv").exists() and killed.poll() is None:
            time.sleep(0.01)
        killed.kill()
        killed.communicate()
        # nor does an alignment of more languages after it
        columns = "url\treason\tnearest\tscore\tpair"
        (tmp_path / "out/unpaired.tsv").write_text(f"{columns}\nd\tno_candidate\t\t0.0\teng-deu\n")
        run(tmp_path, *command)
    assert [row["url_a"] for row in read_tsv(tmp_path / "out/pairs.tsv") if row["pair"] == "eng-fra"] == ["a"]
    unpaired = {row["pair"]: row["url"] for row in read_tsv(tmp_path / "out/unpaired.tsv")}
    assert (unpaired["eng-fra"], unpaired["eng-deu"]) == ("c", "d")
    pairs = tmp_path / "out/pairs.tsv"
    pairs.write_text(pairs.read_text().replace("\t1.0\t", "\t1,0\t"))
    result = run_scrapy(tmp_path, *command)
    assert result.returncode == 2
    assert f"{pairs} or unpaired.tsv cannot be read: could not convert" in result.stderr.splitlines()[-1]
    # Scrapy closes what was not opened, and its own statistics fail
    assert "AttributeError" not in result.stderr


@pytest.mark.slow
def test_a_page_that_breaks_the_alignment_is_left_out_and_named(tmp_path: Path) -> None:
    """The archive holds a page that no crawl would keep, as align also reads the WARCs of other crawlers."""
    with serve(varied(bilingual_site(PAGES))) as site:
        run(tmp_path, *crawl(site.url, "-s", "BILINGUAL_ALIGN="))
        archive, url = tmp_path / "bomb.warc.gz", f"{site.url}/en/bomb"
        write_warc(archive, url, b"<html lang=en><body>" + b"<span></x>" * 150_000)
    result = run(tmp_path, "align", "out", str(archive), "--pair", "eng-spa", "--out", "pairs.tsv")
    said = result.stdout + result.stderr
    assert len(list(read_tsv(tmp_path / "pairs.tsv"))) == PAGES + 1
    assert "left out" in said
    assert url in said.replace("\n", "")


def write_warc(path: Path, url: str, body: bytes) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=headers))


@pytest.mark.slow
def test_a_crawl_writes_its_bitext_and_align_does_not_repeat_what_is_there(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(PAGES))) as site:
        settings = ("-s", "BILINGUAL_BITEXT=tmx,jsonl,tmx,monolingual", "-s", "BILINGUAL_ENCODER=")
        result = run(tmp_path, *crawl(site.url, *settings))
    written = ("README.md", "en-es.tmx.gz", "en-es.jsonl.gz", "en-es.monolingual.jsonl.gz", "en-es.summary.json")
    assert {path.name for path in (tmp_path / "out/bitext").iterdir()} == set(written)
    kept = len(gzip.decompress((tmp_path / "out/bitext/en-es.jsonl.gz").read_bytes()).splitlines())
    counts = summary(tmp_path)
    assert counts["aligned"] == "auto"
    assert 0 < kept == counts["bitext"]["kept"] <= counts["bitext"]["aligned"]
    assert counts["bitext"]["aligned"] == kept + sum(counts["bitext_dropped"].values())
    assert f"{kept} kept sentence pairs, drawn at random" in (tmp_path / "out/report.html").read_text()
    assert counts["bitext"]["documents"] == counts["pairs"] == PAGES + 1
    assert f"{kept}  sentence pairs" in result.stderr

    # scores that no method gives show whose pairs they are
    pairs = tmp_path / "out/pairs.tsv"
    marked = [row | {"score": "0.4321"} for row in read_tsv(pairs)][1:]
    pairs.write_text("".join("\t".join(row) + "\n" for row in (list(marked[0]), *(row.values() for row in marked))))
    align = ("align", "out", "--bitext", "bitext", "--formats", "jsonl", "--review", "review")
    assert "its pairs are taken" in run(tmp_path, *align, "-s", "BILINGUAL_ENCODER=", "--out", "out/pairs.tsv").stdout
    assert sorted(read_tsv(pairs), key=itemgetter("url_a")) == sorted(marked, key=itemgetter("url_a"))
    again = json.loads((tmp_path / "bitext/en-es.summary.json").read_text())["counts"]
    assert again["documents"] == PAGES
    assert 0 < again["aligned"] < counts["bitext"]["aligned"]
    assert len(gzip.decompress((tmp_path / "bitext/en-es.jsonl.gz").read_bytes()).splitlines()) == again["kept"]
    assert "sentence\t" in (tmp_path / "review/review.tsv").read_text()

    anew = run(tmp_path, "align", "out", "--method", "url", "--out", "anew.tsv")
    assert "its pairs are taken" not in anew.stdout
    assert len(list(read_tsv(tmp_path / "anew.tsv"))) == PAGES + 1
    other = run(tmp_path, "align", "out", "--pair", "eng-fin", "--out", "other.tsv")
    assert "its pairs are taken" not in other.stdout


def test_align_of_a_crawl_that_was_not_aligned_knows_its_pair(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(PAGES))) as site:
        run(tmp_path, *crawl(site.url, "-s", "BILINGUAL_ALIGN="))
    assert summary(tmp_path)["aligned"] == ""
    assert "its pairs are taken" not in run(tmp_path, "align", "out", "--out", "pairs.tsv").stdout
    assert len(list(read_tsv(tmp_path / "pairs.tsv"))) == PAGES + 1

    # in the place of the crawl's own pairs, with the reasons of those that are in none
    documents = {record["url"] for record in read_json_lines(tmp_path / "out/documents.jsonl.gz")}
    unpaired = tmp_path / "out/unpaired.tsv"
    outdated = ("url\treason\tnearest\tscore\tpair", f"{min(documents)}\ttaken\t\t0.0\teng-spa")
    unpaired.write_text("\n".join((*outdated, "http://other.example/\tlow_score\t\t0.1\teng-fin", "")))
    run(tmp_path, "align", "out", "--method", "url", "--out", "out/pairs.tsv")
    paired = {row[side] for row in read_tsv(tmp_path / "out/pairs.tsv") for side in ("url_a", "url_b")}
    left = {row["url"]: row["pair"] for row in read_tsv(unpaired)}
    assert left.pop("http://other.example/") == "eng-fin"
    assert paired.isdisjoint(left)
    assert paired | left.keys() == documents

    write_warc(tmp_path / "one.warc.gz", "http://example.org/", b"<p>one")
    said = "--pair is missing, and no INPUT is the folder of a crawl: give the two languages"
    assert said in refused(tmp_path, "align", "one.warc.gz")


def test_bitext_needs_an_alignment_and_a_known_format(tmp_path: Path) -> None:
    for bitext, method, message in (
        ("tmx", "", "BILINGUAL_BITEXT=tmx: needs a method in BILINGUAL_ALIGN"),
        ("tmx,docx", "auto", "BILINGUAL_BITEXT=tmx,docx: choose one of bitextor, tmx, moses, jsonl"),
    ):
        settings = ("-s", f"BILINGUAL_BITEXT={bitext}", "-s", f"BILINGUAL_ALIGN={method}")
        assert message in refused(tmp_path, *crawl("http://127.0.0.1:9", *settings))
