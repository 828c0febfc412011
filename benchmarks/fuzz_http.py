"""Fuzzer of HTTP answers: whatever curl reads, a crawl reads.

    python benchmarks/fuzz_http.py [--answers 300] [--seed 1]

Servers on loopback, one address an answer, send the same page with a status line, headers or chunks that are changed at
random. curl fetches each, then a crawl fetches all. Prints the outcomes by mutation, and ends with status 1 if curl has
read a page that the crawl has not.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.crawls import crawl, outcomes
from support.webserver import html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGE = html("en", "page", "").encode()
END = PAGE[-20:]
TYPE = b"Content-Type: text/html; charset=utf-8"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
Rng = random.Random


def answer(
    head: Sequence[bytes] = (), status: bytes = b"HTTP/1.1 200 OK", body: bytes = PAGE, end: bytes = b"\r\n"
) -> bytes:
    """An answer with the header lines *head*; without any, its length is in them."""
    return end.join((status, TYPE, *(head or (b"Content-Length: %d" % len(PAGE),)), b"", b"")) + body


def chunked(rng: Rng, size: str = "{:x}", end: bytes = b"\r\n", last: bytes = b"0\r\n\r\n") -> bytes:
    """The page in chunks of random sizes."""
    parts, at = [], 0
    while at < len(PAGE):
        part = PAGE[at : at + rng.randint(1, 500)]
        parts.append(size.format(len(part)).encode() + end + part + end)
        at += len(part)
    return answer((b"Transfer-Encoding: chunked",), body=b"".join(parts) + last)


def flipped(rng: Rng, data: bytes) -> bytes:
    """*data* with one to three bytes of its head changed, removed or added."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place, byte = rng.randrange(data.index(b"\r\n\r\n")), rng.randrange(256)
        changed[place : place + rng.randint(0, 1)] = bytes([byte] * rng.randint(0, 1))
    return bytes(changed)


STATUSES = (
    b"HTTP/1.0 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1  200 OK", b"HTTP/2 200", b"HTTP/1.1 200 OK OK",
    b"HTTP/1.1 200 \xe9t\xe9", b"\r\nHTTP/1.1 200 OK", b"HTTP/1.1\t200 OK", b"HTTP/1.1 200\tOK",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK", b"HTTP/1.1 203 Other",
)  # fmt: skip
LENGTH = b"%d" % len(PAGE)
HEADERS = (
    b"X-Folded: one\r\n two", b"X-Tab:\tone", b"X-Blank : one", b"No colon", b": no name", b"X-Latin: \xe9",
    b"X-Empty:", b"X-Null: a\0b", b"X-Long: " + b"x" * 30_000, b"Set-Cookie: a=" + b"b" * 20_000,
    b"Transfer-Encoding: identity",
    b"Connection: keep-alive, close", b"Content-Length: " + LENGTH, b"Content-Length:" + LENGTH + b" ",
    b"Date: yesterday",
    b"Content-Encoding: identity", b"Content-Encoding:", b"Content-Encoding: none", b"Content-Range: bytes 0-99/100",
    b"Link: <", b"Location: /",
)  # fmt: skip
SIZES = ("{:X}", "000{:x}", "{:x} ", "{:x};x=y", '{:x}; x="y"', "{:x}\t")
READ = ("document", "other-language", "not-html")
"""Outcomes of a page that was read; its changed ``Content-Type`` may give it another format or charset."""
MUTATIONS: dict[str, Callable[[Rng], bytes]] = {
    "status line": lambda rng: answer(status=rng.choice(STATUSES)),
    "headers": lambda rng: answer(rng.sample((b"Content-Length: " + LENGTH, *rng.sample(HEADERS, 3)), 4)),
    "line ends": lambda rng: answer(end=b"\n"),
    "no length": lambda rng: answer((b"Connection: close",)),
    "chunk size": lambda rng: chunked(rng, rng.choice(SIZES)),
    "chunk ends": lambda rng: chunked(rng, end=rng.choice((b"\n", b"\r\n"))),
    "last chunk": lambda rng: chunked(
        rng, last=rng.choice((b"0\r\nX-Trailer: y\r\n\r\n", b"00\r\n\r\n", b"0;x\r\n\r\n", b"0\r\n", b"0\n\n", b""))
    ),
    "bytes of the head": lambda rng: flipped(rng, answer()),
    "bytes of the head before chunks": lambda rng: flipped(rng, chunked(rng)),
}


@contextmanager
def served(answers: Sequence[bytes]) -> Iterator[list[str]]:
    """The addresses of servers that send the *answers* and close the connection."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            path = self.request.recv(65536).partition(b" ")[2].partition(b" ")[0]
            number = addresses.index(self.request.getsockname()[0])
            self.request.sendall(answers[number] if path == b"/" else MISSING)

    addresses = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(len(answers))]
    ThreadingTCPServer.daemon_threads = ThreadingTCPServer.allow_reuse_address = True
    server = ThreadingTCPServer(("", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield [f"http://{address}:{server.server_address[1]}/" for address in addresses]
    finally:
        server.shutdown()
        server.server_close()


def read_by_curl(url: str) -> bool:
    """Whether curl takes what *url* sends for the whole page."""
    command = ("curl", "--silent", "--max-time", "10", "--write-out", "%{http_code}", url)
    done = subprocess.run(command, capture_output=True)
    return done.returncode == 0 and done.stdout[-3:] in (b"200", b"203") and END in done.stdout[-50:]


def run(count: int, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Outcomes by mutation, and what only curl has read."""
    rng = Rng(seed)
    chosen = [rng.choice(list(MUTATIONS)) for _ in range(count)]
    answers = [MUTATIONS[name](rng) for name in chosen]
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    missed = []
    with served(answers) as urls, tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(8) as pool:
        folder = Path(name)
        readable = list(pool.map(read_by_curl, urls))
        (folder / "seeds").write_text("\n".join(urls))
        settings = ("DOWNLOAD_TIMEOUT=10", "RETRY_TIMES=1", "BILINGUAL_BACKOFF_START=0.1", "BILINGUAL_WARC=0")
        done = crawl(folder, str(folder / "seeds"), *(part for one in settings for part in ("-s", one)))
        found = outcomes(folder, "")
        for mutation, url, sent, is_readable in zip(chosen, urls, answers, readable, strict=True):
            rows[mutation]["curl" if is_readable else "not curl"] += 1
            rows[mutation][found.get(url, "none")] += 1
            if is_readable and found.get(url) not in READ:
                missed.append(f"{mutation}: {found.get(url)}: {sent[:200]!r}")
        if "Traceback" in done.stderr:
            missed.append(done.stderr[-2000:])
    return rows, missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows, missed = run(options.answers, options.seed)
    for name, counts in sorted(rows.items()):
        print(f"{name}: {', '.join(f'{outcome} {number}' for outcome, number in counts.most_common())}")
    print(f"{len(missed)} of {options.answers} read by curl alone")
    for one in missed:
        print(one, file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
