"""Responses that are too large."""

from __future__ import annotations

import gzip
import time
import zlib
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import brotli
import pytest
from backports import zstd
from support.crawls import crawl, documents, outcomes
from support.scripted import Answer, scripted
from support.webserver import TEXT, bilingual_site, html, start_scrapy

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

HOME = html("en", "home", "<a href=/bad>bad</a>")
MEGABYTE = b"<p>" + b"a" * (1 << 20)


def crawled(folder: Path, bad: Mapping[str, Answer]) -> dict[str, str]:
    """Outcomes of the pages *bad*, each on a host of its own, in a crawl that stays within 600 MB of memory.

    It fetches one page after the other, and keeps those that link to the bad ones.
    """
    with ExitStack() as stack:
        urls = {}
        for number, (name, answer) in enumerate(bad.items(), 2):
            pages = {"/": Answer(HOME), "/bad": answer}
            served = partial(_answer, pages)
            urls[name] = stack.enter_context(scripted(served, f"127.0.0.{number}")).url
        seeds = ",".join(f"{url}/" for url in urls.values())
        arguments = ("-a", "pair=eng-spa", "-a", f"seeds={seeds}", "-a", "policy=bfs", "-s", "RETRY_ENABLED=0")
        settings = ("-s", "CONCURRENT_REQUESTS=1", "-s", f"BILINGUAL_OUTPUT_DIR={folder / 'out'}")
        process = start_scrapy(folder, "crawl", "bilingual", *arguments, *settings, fresh=True)
        assert peak_memory(process) < 600_000
    assert {f"{url}/" for url in urls.values()} <= documents(folder).keys()
    return {name: outcomes(folder, url)["/bad"] for name, url in urls.items()}


def _answer(pages: Mapping[str, Answer], path: str) -> Answer:
    return pages.get(path, Answer(status=404))


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
def test_decompression_bombs(tmp_path: Path) -> None:
    bombs = {
        encoding: Answer(bomb(encoding), headers={"Content-Encoding": encoding})
        for encoding in ("gzip", "deflate", "br", "zstd")
    }
    wrapped = gzip.compress(gzip.compress(bomb("gzip")))
    bombs["in several wrappings"] = Answer(wrapped, headers={"Content-Encoding": "gzip, gzip, gzip"})
    assert crawled(tmp_path, bombs) == dict.fromkeys(bombs, "too-large")


def test_answers_without_end(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    answers = {
        "body": Answer(raw=(head + b"\r\n", *repeat(MEGABYTE, 200))),
        "header": Answer(raw=(b"HTTP/1.1 200 OK\r\nX-A: ", *repeat(b"a" * (1 << 20), 300))),
    }
    for line in (b"X-Filler: " + b"a" * 1000 + b"\r\n", b" folded\r\n", b"no colon\r\n"):
        answers[f"headers {line[:9]!r}"] = Answer(raw=(head + b"X-A: b\r\n", *repeat(line * 1000, 2000)))
    found = crawled(tmp_path, answers)
    assert found.pop("body") == "too-large"
    assert all(outcome.startswith("error-") for outcome in found.values()), found


def test_headers_of_many_answers_are_not_added_up(tmp_path: Path) -> None:
    home = html("en", "home", "".join(f"<a href=/{number}>{number}</a>" for number in range(40)))
    long = {"X-Policy": "a" * 12_000}
    with scripted(lambda path: Answer(home) if path == "/" else Answer(status=404, headers=long)) as site:
        assert crawl(tmp_path, site.url).returncode == 0
        # an answer without a body comes in one piece; after a cut connection it is asked for again
        assert [len(site.times(f"/{number}")) for number in range(40)] == [1] * 40


def test_answers_that_break_the_protocol(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: "
    answers = {
        "no status line": Answer(raw=[b"\x1b[2J\x00 200 hello\r\n\r\n"]),
        "more promised than sent": Answer(raw=[head + b"99999999999\r\n\r\nx"]),
        "a negative length": Answer(raw=[head + b"-5\r\n\r\n" + HOME.encode()]),
    }
    found = crawled(tmp_path, answers)
    assert found["no status line"].startswith("error-")
    assert found["more promised than sent"] == "too-large"
    assert found["a negative length"]


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


def chunked(body: bytes, size: str, end: bytes) -> bytes:
    pieces = [body[at : at + 100] for at in range(0, len(body), 100)] + [b""]
    return b"".join((size % len(piece)).encode() + end + piece + (end if piece else b"") for piece in pieces) + end


OK = "HTTP/1.1 200 OK"
TYPE = "Content-Type: text/html"
UNUSUAL: Mapping[str, Callable[[bytes], bytes]] = {
    "a header line of 20 kB": lambda body: raw(body, OK, TYPE, f"Set-Cookie: a={'x' * 20_000}"),
    "an empty first line": lambda body: raw(body, "", OK, TYPE),
    "HTTP/2 200": lambda body: raw(body, "HTTP/2 200", TYPE),
    "a tab in the status line": lambda body: raw(body, "HTTP/1.1  200\tOK", TYPE),
    "a header without a name": lambda body: raw(body, OK, TYPE, ": x"),
    "an empty length": lambda body: raw(body, OK, TYPE, "Content-Length: "),
    "a blank before a colon": lambda body: raw(body, OK, "Content-Type : text/html"),
    "identity": lambda body: raw(body, OK, TYPE, "Transfer-Encoding: identity"),
    "203": lambda body: raw(body, "HTTP/1.1 203 Non-Authoritative Information", TYPE),
    "206 with all bytes": lambda body: raw(
        body, "HTTP/1.1 206 Partial Content", TYPE, f"Content-Range: bytes 0-{len(body) - 1}/{len(body)}"
    ),
    "a Content-Length that is too large": lambda body: raw(body, OK, TYPE, f"Content-Length: {len(body) + 9}"),
    "blanks after the size of a chunk": lambda body: raw(
        chunked(body, "%-6x", b"\r\n"), OK, TYPE, "Transfer-Encoding: chunked"
    ),
    "chunks that end with a line feed": lambda body: raw(
        chunked(body, "%x", b"\n"), OK, TYPE, "Transfer-Encoding: chunked"
    ),
}


def raw(body: bytes, *head: str) -> bytes:
    return "\r\n".join((*head, "Connection: close", "", "")).encode() + body


@pytest.mark.parametrize("kind", UNUSUAL)
def test_what_browsers_read_is_read(tmp_path: Path, kind: str) -> None:
    """Of every page of the site, so that the host would be given up."""
    pages = bilingual_site(3)
    answers = {path: UNUSUAL[kind](body.encode()) for path, body in pages.items()}
    with scripted(lambda path: Answer(raw=[answers[path]]) if path in answers else Answer(status=404)) as site:
        result = crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.05")
    assert result.returncode == 0, result.stderr
    found = {url.removeprefix(site.url): record["text"] for url, record in documents(tmp_path).items()}
    assert found.keys() == {path for path in pages if path.startswith(("/en/", "/es/"))}
    assert all(TEXT[path[1:3]].strip() in text for path, text in found.items())
