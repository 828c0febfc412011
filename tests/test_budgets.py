"""Limits of time and bytes, and stopping."""

import re
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from support.crawls import crawl, documents
from support.scripted import Answer, scripted
from support.webserver import ABOUT_SITE, bilingual_site, html, run_scrapy, serve, start_scrapy

from bilingual_crawler.storage.records import read_json_lines


def dripping() -> Iterator[bytes]:
    """A page that never ends."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    for _ in range(6000):
        time.sleep(0.1)
        yield b"<p>more "


def test_the_time_budget_ends_a_crawl_that_hangs(tmp_path: Path) -> None:
    site = {"/": html("en", "home", "".join(f"<a href=/slow/{i}>x</a>" for i in range(40)))}
    pages = {**site, "/robots.txt": "User-agent: *\nCrawl-delay: 300\n"}

    def answer(path: str) -> Answer:
        return Answer(pages[path]) if path in pages else Answer(raw=dripping())

    with scripted(answer) as server:
        result = crawl(tmp_path, f"{server.url}/", "-s", "CLOSESPIDER_TIMEOUT=3")
    elapsed = re.search(r"'elapsed_time_seconds': ([\d.]+)", result.stderr)
    assert elapsed
    assert float(elapsed[1]) < 120
    assert "closespider_timeout" in (tmp_path / "out" / "summary.json").read_text()
    assert "'bilingual/stop/put_back': 1" in result.stderr


@pytest.mark.slow
def test_a_pause_does_not_wait_for_delays_and_a_resume_completes(tmp_path: Path) -> None:
    with serve(bilingual_site(2)) as site:
        site.robots = "User-agent: *\nCrawl-delay: 12\n"
        arguments = ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={site.url}/en/", "-s", "JOBDIR=job")
        process = start_scrapy(tmp_path, *arguments)
        site.wait_until_asked(len(ABOUT_SITE))
        time.sleep(1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        assert time.monotonic() - began < 10
        site.robots = ""
        assert run_scrapy(tmp_path, *arguments).returncode == 0
        [folder] = (tmp_path / "crawls").iterdir()
        assert len(list(read_json_lines(folder / "documents.jsonl.gz"))) == 6
        assert {path: times for path, times in site.asked.items() if times > 1} == dict.fromkeys(ABOUT_SITE, 2)


def test_a_site_has_a_byte_budget_that_survives_a_resume(tmp_path: Path) -> None:
    numbers = count()

    def answer(path: str) -> Answer:
        if path in ABOUT_SITE:
            return Answer(status=404)
        return Answer(html("en", path, f"<a href=/{next(numbers)}>next</a>") + "<!--" + "x" * 10_000 + "-->")

    with scripted(answer) as site:
        more = ("-s", "JOBDIR=job", "-s", "BILINGUAL_MAX_BYTES_PER_SITE=95000")
        crawl(tmp_path, f"{site.url}/", "-a", "max_pages=4", *more)
        assert 4 <= len(documents(tmp_path)) <= 5
        crawl(tmp_path, f"{site.url}/", *more)
    assert 8 <= len(documents(tmp_path)) <= 10


def test_a_crawl_has_a_byte_budget(tmp_path: Path) -> None:
    numbers = count()
    with scripted(lambda path: Answer(html("en", path, f"<a href=/{next(numbers)}>next</a>") + "x" * 10_000)) as site:
        crawl(tmp_path, f"{site.url}/", "-s", "BILINGUAL_MAX_BYTES=95000")
    assert 6 <= len(documents(tmp_path)) <= 10
    assert "byte_budget" in (tmp_path / "out" / "summary.json").read_text()
