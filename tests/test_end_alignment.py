"""The alignment that ends a crawl runs in a process of its own, can be stopped, and leaves out what it cannot read."""

from __future__ import annotations

import os
import signal
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_manners import summary
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
from webserver import bilingual_site, run_scrapy, serve, start_scrapy, varied

from bilingual_crawler.records import read_tsv

if TYPE_CHECKING:
    import subprocess

PAGES = 12


def crawl(url: str, *more: str) -> tuple[str, ...]:
    settings = ("-s", "BILINGUAL_OUTPUT_DIR=out", "-s", "BILINGUAL_STALE_PAGES=0")
    return ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={url}/en/", *settings, *more)


def wait_for_alignment(process: subprocess.Popen[str]) -> int:
    """The process id of the alignment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children:
            if b"at_end" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.01)
    raise AssertionError("no alignment began")


@pytest.mark.parametrize("victim", ["crawl", "alignment"])
def test_a_stopped_alignment_leaves_the_pairs_found_on_the_way(tmp_path: Path, victim: str) -> None:
    with serve(varied(bilingual_site(PAGES))) as site:
        process = start_scrapy(tmp_path, *crawl(site.url))
        child = wait_for_alignment(process)
        began = time.monotonic()
        if victim == "crawl":
            process.send_signal(signal.SIGINT)
        else:
            os.kill(child, signal.SIGKILL)
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert time.monotonic() - began < 20
    assert "found on the way" in log
    assert f"scrapy align {tmp_path / 'out'}" in log
    assert "Traceback" not in log
    pairs = list(read_tsv(tmp_path / "out/pairs.tsv"))
    assert len(pairs) == PAGES + 1 == summary(tmp_path)["pairs"]
    assert {pair["method"] for pair in pairs} <= {"switcher", "url"}
    assert not Path(f"/proc/{child}").exists()
    assert not list((tmp_path / "out").glob("*.new"))


def test_no_alignment_begins_after_ctrl_c_and_the_resumed_crawl_aligns(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(PAGES)), delay=0.05) as site:
        command = crawl(site.url, "-s", "JOBDIR=job")
        process = start_scrapy(tmp_path, *command)
        site.wait_until_asked(10)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
        assert "not all documents were aligned, since the crawl was stopped" in log
        result = run_scrapy(tmp_path, *command)
    assert result.returncode == 0, result.stderr
    assert "found on the way" not in result.stderr
    assert summary(tmp_path)["pairs"] == PAGES + 1


def test_a_page_that_never_ended_the_alignment(tmp_path: Path) -> None:
    """300 kB of unclosed comments, for which a regular expression took quadratic time."""
    pages = varied(bilingual_site(PAGES))
    pages["/en/page-1.html"] += "<!--" * 75_000
    with serve(pages) as site:
        result = run_scrapy(tmp_path, *crawl(site.url))
    assert result.returncode == 0, result.stderr
    assert summary(tmp_path)["pairs"] == PAGES + 1


def test_a_page_that_breaks_the_alignment_is_left_out_and_named(tmp_path: Path) -> None:
    """The archive holds a page that no crawl would keep, as align also reads the WARCs of other crawlers."""
    with serve(varied(bilingual_site(PAGES))) as site:
        result = run_scrapy(tmp_path, *crawl(site.url, "-s", "BILINGUAL_ALIGN="))
        assert result.returncode == 0, result.stderr
        archive, url = tmp_path / "bomb.warc.gz", f"{site.url}/en/bomb"
        write_warc(archive, url, b"<html lang=en><body>" + b"<span></x>" * 400_000)
    result = run_scrapy(tmp_path, "align", "out", str(archive), "--pair", "eng-spa", "--out", "pairs.tsv")
    assert result.returncode == 0, result.stderr
    assert len(list(read_tsv(tmp_path / "pairs.tsv"))) == PAGES + 1
    assert "left out" in result.stdout + result.stderr
    assert url in (result.stdout + result.stderr).replace("\n", "")


def write_warc(path: Path, url: str, body: bytes) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=headers))
