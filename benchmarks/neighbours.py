"""What a hostile site costs the honest sites beside it: their speed, stalls of the event loop, memory.

    python -m benchmarks.neighbours [--only queries texts …] [--seconds 60] [--policy gain]

Eight honest sites are crawled alone, then beside each of these hosts:

queries      every page has 261 links with queries of 1,900 characters without "=" (1 kB on the wire)
sitemap      a sitemap of 50,000 plain URLs
queries-map  a sitemap of 2,600 URLs with such queries
texts        every page has 5,000 links with texts of 200 characters
farm         every page has 5,000 links to pages in folders of their own, each with a text
subdomains   every page is on a subdomain of its own and costs a helper process its limit

One server behind `http_proxy` answers for all names. Pages are requests that it gets for honest pages, in so many
seconds after the first, with the delays of the settings. A stall is the longest time in which the event loop served
nothing else; memory is the anonymous memory of the crawl without its helper processes.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.processes import own_memory
from benchmarks.website import WORDS, html, path

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
HONEST = 8
PAGES = 400
HOSTILE = "hostile.org"
SETTINGS = """
import time
from pathlib import Path
from scrapy import signals
from scrapy.utils.asyncio import call_later
from bilingual_crawler.settings import *
from bilingual_crawler.settings import EXTENSIONS

STEP = 0.01

class Stalls:
    @classmethod
    def from_crawler(cls, crawler):
        stalls = cls()
        crawler.signals.connect(stalls.begin, signal=signals.response_received)
        stalls.longest, stalls.begun = 0.0, False
        return stalls

    def begin(self):
        if not self.begun:
            self.begun = True
            self.look(time.monotonic() + STEP)

    def look(self, expected):
        late = time.monotonic() - expected
        if late > self.longest:
            self.longest = late
            Path("stall").write_text(str(late))
        call_later(STEP, self.look, time.monotonic() + STEP)

EXTENSIONS = {**EXTENSIONS, Stalls: 0}
"""


def page(links: str, seed: object) -> bytes:
    chosen = random.Random(str(seed)).choices(WORDS[0], k=200)
    return f"<html lang=en><title>{seed}</title><p>{' '.join(chosen)}<p>{links}".encode()


def sitemap(urls: list[str]) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


NUMBERS = itertools.count()


def queries(host: str, where: str) -> bytes | None:
    number = next(NUMBERS)
    letters = "abcdefgh"
    return page(" ".join(f"<a href='/{number}?{letters[n % 8] * 1900}{n}'>{n}</a>" for n in range(261)), number)


def texts(host: str, where: str) -> bytes | None:
    number = next(NUMBERS)
    rng = random.Random(number)
    words = [*WORDS[0], *WORDS[1]]
    anchors = (f"<a href='/{number}/{n}'>{' '.join(rng.choices(words, k=40))[:200]}</a>" for n in range(5000))
    return page(" ".join(anchors), number)


def farm(host: str, where: str) -> bytes | None:
    number = next(NUMBERS)
    anchors = (f"<a href='/{number}/folder-{n}/page.html'>the page {n} of {number}</a>" for n in range(5000))
    return page(" ".join(anchors), number)


def subdomains(host: str, where: str) -> bytes | None:
    if host == HOSTILE:
        return page(" ".join(f"<a href='http://s{n}.{HOSTILE}/'>{n}</a>" for n in range(400)), 0)
    return b"<span></x>" * 400_000


def listed(urls: list[str]) -> Callable[[str, str], bytes | None]:
    body = sitemap(urls)

    def answer(host: str, where: str) -> bytes | None:
        return body if where == "/sitemap.xml" else page("", where)

    return answer


SITES: dict[str, Callable[[], Callable[[str, str], bytes | None]]] = {
    "queries": lambda: queries,
    "sitemap": lambda: listed([f"http://{HOSTILE}/{n % 97}/page-{n}.html" for n in range(50_000)]),
    "queries-map": lambda: listed([f"http://{HOSTILE}/{n}?{'a' * 1900}{n}" for n in range(2600)]),
    "texts": lambda: texts,
    "farm": lambda: farm,
    "subdomains": lambda: subdomains,
}


class Web:
    """A proxy that is all sites; knows when honest pages were asked for."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.hostile_asked = 0
        self.hostile: Callable[[str, str], bytes | None] = lambda host, where: None
        self._honest = {path(number): html(number, PAGES) for number in range(PAGES)}
        self.url = ""
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._run(started)), daemon=True).start()
        started.wait()

    async def _run(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head.split(b" ", 2)[1].decode()))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, url: str) -> bytes:
        parts = urlsplit(url)
        host, where = parts.hostname or "", parts.path
        if not host.endswith(HOSTILE):
            body = self._honest.get(where)
            if body is not None:
                self.asked.append(time.monotonic())
        elif where == "/robots.txt":
            body = f"Sitemap: http://{host}/sitemap.xml\n".encode()
        else:
            body = self.hostile(host, where)
            self.hostile_asked += body is not None
        if body is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        kind = b"application/xml" if where.endswith(".xml") else b"text/html; charset=utf-8"
        packed = gzip.compress(body, 1)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        return head % (kind, len(packed)) + packed


def crawl(web: Web, seconds: float, policy: str, hostile: bool) -> tuple[float, float, float]:
    """Honest pages a second, the longest stall in seconds, and the most memory in bytes."""
    seeds = [f"http://honest{number}.org{path(0)}" for number in range(HONEST)]
    if hostile:
        seeds.append(f"http://{HOSTILE}/")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "neighbours_settings.py").write_text(SETTINGS)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
            "SCRAPY_SETTINGS_MODULE": "neighbours_settings",
            "http_proxy": web.url,
        }
        command = [sys.executable, "-m", "scrapy", "crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"policy={policy}"]
        command += ["-a", f"seeds={','.join(seeds)}", "-s", "BILINGUAL_CONTACT=mailto:bench@example.org"]
        command += ["-s", "BILINGUAL_OUTPUT_DIR=out", "-s", "BILINGUAL_ALIGN="]
        web.asked, web.hostile_asked = [], 0
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        memory = 0
        while process.poll() is None and not (web.asked and time.monotonic() > web.asked[0] + seconds):
            try:
                memory = max(memory, own_memory(process.pid))
            except (OSError, IndexError):
                break
            time.sleep(0.2)
        if process.poll() is not None:
            raise SystemExit((folder / "log").read_text()[-3000:])
        stall = float((folder / "stall").read_text())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    pages = sum(when < web.asked[0] + seconds for when in web.asked)
    return pages / seconds, stall, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SITES)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--policy", default="gain")
    options = parser.parse_args()
    web = Web()
    alone, stall, memory = crawl(web, options.seconds, options.policy, hostile=False)
    print("| beside | honest pages/s | of alone | longest stall, s | memory, MB | hostile answers |")
    print("|---|--:|--:|--:|--:|--:|")
    print(f"| nobody | {alone:.2f} | 1.00 | {stall:.2f} | {memory / 1e6:,.0f} | |", flush=True)
    for name in options.only or SITES:
        web.hostile = SITES[name]()
        speed, stall, memory = crawl(web, options.seconds, options.policy, hostile=True)
        row = f"| {name} | {speed:.2f} | {speed / alone:.2f} | {stall:.2f} | {memory / 1e6:,.0f} |"
        print(f"{row} {web.hostile_asked:,} |", flush=True)


if __name__ == "__main__":
    main()
