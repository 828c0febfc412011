"""Responses that are too large."""

from __future__ import annotations

import gzip
import time
import zlib
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import brotli
import pytest
from backports import zstd
from support.crawls import crawl, documents, outcomes
from support.scripted import Answer, scripted
from support.webserver import html, start_scrapy

if TYPE_CHECKING:
    import subprocess

HOME = html("en", "home", "<a href=/bad>bad</a>")
MEGABYTE = b"<p>" + b"a" * (1 << 20)


def only(folder: Path, bad: Answer) -> str:
    """Outcome of the page *bad*, in a crawl that keeps the page which links to it and stays within 600 MB of memory."""
    pages = {"/": Answer(HOME), "/bad": bad}
    out = folder / "out"
    with scripted(lambda path: pages.get(path, Answer(status=404))) as site:
        arguments = ("-a", "pair=eng-spa", "-a", f"seeds={site.url}", "-a", "policy=bfs", "-s", "RETRY_ENABLED=0")
        process = start_scrapy(
            folder, "crawl", "bilingual", *arguments, "-s", f"BILINGUAL_OUTPUT_DIR={out}", fresh=True
        )
        assert peak_memory(process) < 600_000
    assert len(documents(folder)) >= 1
    return outcomes(folder, site.url)["/bad"]


def peak_memory(process: subprocess.Popen[str]) -> int:
    """The most kilobytes that *process* had, once it has ended well."""
    peak = 0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM" in status else peak
        time.sleep(0.05)
    assert process.returncode == 0, process.communicate()[1]
    return peak


def bomb(encoding: str) -> bytes:
    """300 MB of one letter."""
    if encoding == "br":
        compressor = brotli.Compressor(quality=1)
        return b"".join([*map(compressor.process, repeat(MEGABYTE, 300)), compressor.finish()])
    if encoding == "zstd":
        packer = zstd.ZstdCompressor()
        return b"".join(map(packer.compress, repeat(MEGABYTE, 300))) + packer.flush()
    deflater = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return b"".join(map(deflater.compress, repeat(MEGABYTE, 300))) + deflater.flush()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_decompression_bombs(tmp_path: Path, encoding: str) -> None:
    outcome = only(tmp_path, Answer(bomb(encoding), headers={"Content-Encoding": encoding}))
    assert outcome == "too-large"


@pytest.mark.slow
def test_a_bomb_in_several_wrappings(tmp_path: Path) -> None:
    wrapped = gzip.compress(gzip.compress(bomb("gzip")))
    assert only(tmp_path, Answer(wrapped, headers={"Content-Encoding": "gzip, gzip, gzip"})) == "too-large"


def test_a_body_without_end(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    endless = (head, *repeat(MEGABYTE, 200))
    assert only(tmp_path, Answer(raw=endless)) == "too-large"


@pytest.mark.parametrize("line", [b"X-Filler: " + b"a" * 1000 + b"\r\n", b" folded\r\n", b"no colon\r\n"])
def test_headers_without_end(tmp_path: Path, line: bytes) -> None:
    flood = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A: b\r\n", *repeat(line * 1000, 2000))
    assert only(tmp_path, Answer(raw=flood)).startswith("error-")


def test_one_header_without_end(tmp_path: Path) -> None:
    flood = (b"HTTP/1.1 200 OK\r\nX-A: ", *repeat(b"a" * (1 << 20), 300))
    assert only(tmp_path, Answer(raw=flood)).startswith("error-")


def test_headers_of_many_answers_are_not_added_up(tmp_path: Path) -> None:
    home = html("en", "home", "".join(f"<a href=/{number}>{number}</a>" for number in range(40)))
    long = {"X-Policy": "a" * 12_000}
    with scripted(lambda path: Answer(home) if path == "/" else Answer(status=404, headers=long)) as site:
        assert crawl(tmp_path, site.url).returncode == 0
        # an answer without a body comes in one piece; after a cut connection it is asked for again
        assert [len(site.times(f"/{number}")) for number in range(40)] == [1] * 40


def test_a_status_line_that_is_none(tmp_path: Path) -> None:
    assert only(tmp_path, Answer(raw=[b"\x1b[2J\x00 200 hello\r\n\r\n"])).startswith("error-")


@pytest.mark.slow
def test_more_promised_than_sent_and_less(tmp_path: Path) -> None:
    short = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999999999\r\n\r\nx"]
    assert only(tmp_path, Answer(raw=short)) == "too-large"
    other = tmp_path / "negative"
    other.mkdir()
    wrong = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: -5\r\n\r\n" + HOME.encode()]
    assert only(other, Answer(raw=wrong))


@pytest.mark.slow
def test_many_robots_txt_of_the_largest_size(tmp_path: Path) -> None:
    """Their rules are short and have wildcards: parsed they take a hundred times as much as their text."""
    rules = "".join(f"Disallow: /{number:x}*$\n" for number in range(40_000))
    answers = {
        "/robots.txt": Answer(f"User-agent: *\n{rules}", kind="text/plain"),
        "/": Answer(html("en", "home", "")),
    }
    hosts = 14
    with scripted(lambda path: answers.get(path, Answer(status=404)), "0.0.0.0") as site:
        port = site.url.rpartition(":")[2]
        seeds = ",".join(f"http://127.0.1.{number}:{port}/" for number in range(hosts))
        arguments = ("-a", "pair=eng-spa", "-a", f"seeds={seeds}", "-a", "policy=bfs")
        out = ("-s", f"BILINGUAL_OUTPUT_DIR={tmp_path / 'out'}")
        process = start_scrapy(tmp_path, "crawl", "bilingual", *arguments, *out, fresh=True)
        assert peak_memory(process) < 400_000
    assert len(documents(tmp_path)) == hosts
