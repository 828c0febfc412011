"""Responses that are too large."""

import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import repeat
from pathlib import Path

import brotli
import pytest
from backports import zstd
from support.crawls import crawl, documents, each, ended_well, outcomes, start_crawl
from support.scripted import Answer, scripted, several
from support.webserver import TEXT, bilingual_site, html

HOME = html("en", "home", "<a href=/bad>bad</a>")
MEGABYTE = b"<p>" + b"a" * (1 << 20)


def crawled(folder: Path, bad: Mapping[str, Answer]) -> dict[str, str]:
    """Outcomes of the pages *bad*, each on a host of its own, in a crawl that stays within 600 MB of memory.

    It fetches one page after the other, and keeps those that link to the bad ones.
    """
    pages = [{"/": Answer(HOME), "/bad": answer} for answer in bad.values()]
    with several([partial(_answer, one) for one in pages]) as sites:
        assert peak_memory(folder, [site.url for site in sites], "RETRY_ENABLED=0", "CONCURRENT_REQUESTS=1") < 600_000
    assert {f"{site.url}/" for site in sites} <= documents(folder).keys()
    return {name: outcomes(folder, site.url)["/bad"] for name, site in zip(bad, sites, strict=True)}


def _answer(pages: Mapping[str, Answer], path: str) -> Answer:
    return pages.get(path, Answer(status=404))


def peak_memory(folder: Path, hosts: list[str], *settings: str) -> int:
    """The most kilobytes that a crawl of *hosts* has, which ends well."""
    seeds = ",".join(f"{host}/" for host in hosts)
    process = start_crawl(folder, seeds, "-a", "policy=bfs", *each("-s", *settings), fresh=True)
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
    codings = ("gzip", "deflate", "br", "zstd")
    bombs = {coding: Answer(bomb(coding), headers={"Content-Encoding": coding}) for coding in codings}
    wrapped = gzip.compress(gzip.compress(bombs["gzip"].body))  # type: ignore[arg-type]
    bombs["in several wrappings"] = Answer(wrapped, headers={"Content-Encoding": "gzip, gzip, gzip"})
    assert crawled(tmp_path, bombs) == dict.fromkeys(bombs, "too-large")


def test_answers_without_end_and_such_as_break_the_protocol(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    answers = {
        "body": Answer(raw=(head + b"\r\n", *repeat(MEGABYTE, 200))),
        "more promised than sent": Answer(raw=[head + b"Content-Length: 99999999999\r\n\r\nx"]),
        "a negative length": Answer(raw=[head + b"Content-Length: -5\r\n\r\n" + HOME.encode()]),
        "no status line": Answer(raw=[b"\x1b[2J\x00 200 hello\r\n\r\n"]),
        "header": Answer(raw=(b"HTTP/1.1 200 OK\r\nX-A: ", *repeat(b"a" * (1 << 20), 300))),
    }
    for line in (b"X-Filler: " + b"a" * 1000 + b"\r\n", b" folded\r\n", b"no colon\r\n"):
        answers[f"headers {line[:9]!r}"] = Answer(raw=(head + b"X-A: b\r\n", *repeat(line * 1000, 2000)))
    found = crawled(tmp_path, answers)
    assert (found.pop("body"), found.pop("more promised than sent")) == ("too-large", "too-large")
    assert found.pop("a negative length")
    assert all(outcome.startswith("error-") for outcome in found.values()), found


def test_headers_of_many_answers_are_not_added_up(tmp_path: Path) -> None:
    home = html("en", "home", "".join(f"<a href=/{number}>{number}</a>" for number in range(40)))
    long = {"X-Policy": "a" * 12_000}
    with scripted(lambda path: Answer(home) if path == "/" else Answer(status=404, headers=long)) as site:
        assert crawl(tmp_path, site.url).returncode == 0
        # an answer without a body comes in one piece; after a cut connection it is asked for again
        assert [len(site.times(f"/{number}")) for number in range(40)] == [1] * 40


@pytest.mark.slow
def test_many_robots_txt_of_the_largest_size(tmp_path: Path) -> None:
    """Their rules are short and have wildcards: parsed they take a hundred times as much as their text."""
    rules = "".join(f"Disallow: /{number:x}*$\n" for number in range(40_000))
    robots = Answer(f"User-agent: *\n{rules}", kind="text/plain")
    answers = {"/robots.txt": robots, "/": Answer(html("en", "home", ""))}
    with scripted(partial(_answer, answers), "0.0.0.0") as site:
        port = site.url.rpartition(":")[2]
        assert peak_memory(tmp_path, [f"http://127.0.1.{number}:{port}" for number in range(9)]) < 400_000
    assert len(documents(tmp_path)) == 9


def chunked(body: bytes, size: str, end: bytes) -> bytes:
    pieces = [body[at : at + 100] for at in range(0, len(body), 100)] + [b""]
    return b"".join((size % len(piece)).encode() + end + piece + (end if piece else b"") for piece in pieces) + end


OK = "HTTP/1.1 200 OK"
TYPE = "Content-Type: text/html"
CHUNKED = "Transfer-Encoding: chunked"
SITE = bilingual_site(3)
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
    "blanks after the size of a chunk": lambda body: raw(chunked(body, "%-6x", b"\r\n"), OK, TYPE, CHUNKED),
    "chunks that end with a line feed": lambda body: raw(chunked(body, "%x", b"\n"), OK, TYPE, CHUNKED),
}


def raw(body: bytes, *head: str) -> bytes:
    return "\r\n".join((*head, "Connection: close", "", "")).encode() + body


@pytest.fixture(scope="module")
def unusual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """By kind of answer: texts of the documents of a host all of whose pages are such, so that it may be given up."""
    folder: Path = tmp_path_factory.mktemp("unusual")
    pages = [{path: Answer(raw=[make(body.encode())]) for path, body in SITE.items()} for make in UNUSUAL.values()]
    with several([partial(_answer, one) for one in pages]) as sites:
        seeds = ",".join(f"{site.url}/en/" for site in sites)
        ended_well(crawl(folder, seeds, "-s", "BILINGUAL_BACKOFF_START=0.05"))
    found = documents(folder)
    return {
        kind: {path: found[site.url + path]["text"] for path in SITE if site.url + path in found}
        for kind, site in zip(UNUSUAL, sites, strict=True)
    }


@pytest.mark.parametrize("kind", UNUSUAL)
def test_what_browsers_read_is_read(unusual: dict[str, dict[str, str]], kind: str) -> None:
    found = unusual[kind]
    assert found.keys() == {path for path in SITE if path.startswith(("/en/", "/es/"))}
    assert all(TEXT[path[1:3]].strip() in text for path, text in found.items())
