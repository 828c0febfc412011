"""What ``-a render=auto`` costs on a site that needs no JavaScript, and how fast pages are rendered where one does.

    python benchmarks/rendering.py [--pages 1000] [--shells 60] [--runs 5]

Whole crawls on loopback without delays, of a site whose pages have scripts and text (never and auto in turn, medians of
several runs), then of one whose pages hold nothing but a script that fetches their content.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from throughput import page

SCRIPT = b"fetch('/parts' + location.pathname).then(a => a.text()).then(html => document.body.innerHTML = html)"
SHELL = b"<!doctype html><title>shell</title><body><script src=/app.js></script>"
QUICK = ("CONCURRENT_REQUESTS_PER_DOMAIN=8", "DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0", "LOG_LEVEL=INFO")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one crawl, its browser included."""

    pages: int
    seconds: float
    cpu: float
    """Seconds."""
    memory: float
    """MB of the largest process."""


def answer_of(body: bytes, kind: str = "text/html; charset=utf-8") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind.encode(), len(body), body)


def varied(number: int, pages: int) -> bytes:
    """A page with words of its own, or the crawler would take the site for a generator of stale pages."""
    rng = random.Random(number)
    words = " ".join("".join(rng.choices(ascii_lowercase, k=7)) for _ in range(100))
    return page(number, pages).partition(b"\r\n\r\n")[2].replace(b"</body>", b"<p>%s</body>" % words.encode())


def site(pages: int, *, shells: bool) -> dict[str, bytes]:
    contents = {f"/{'es' if n % 2 else 'en'}/{n // 2}.html": varied(n, pages) for n in range(pages)}
    answers = {"/app.js": answer_of(SCRIPT if shells else b"", "text/javascript")}
    for path, html in contents.items():
        if shells:
            answers |= {path: answer_of(SHELL), f"/parts{path}": answer_of(html)}
        else:
            answers[path] = answer_of(html.replace(b"</head>", b"<script src=/app.js></script></head>"))
    return answers


def serve(answers: dict[str, bytes], port: multiprocessing.Queue[int]) -> None:
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(answers.get(request.split(b" ", 2)[1].decode(), missing))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def start(answers: dict[str, bytes]) -> int:
    """Serve *answers* as long as this process lives; returns the port."""
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    multiprocessing.Process(target=serve, args=(answers, port), daemon=True).start()
    return port.get()


def crawl(port: int, render: str) -> Cost:
    """Run one crawl in a folder of its own; exits with its log if it fails."""
    arguments = ("pair=eng-spa", f"seeds=http://127.0.0.1:{port}/en/0.html", "policy=bfs", f"render={render}")
    command = [sys.executable, "-m", "scrapy", "crawl", "bilingual"]
    command += [part for argument in arguments for part in ("-a", argument)]
    command += [part for setting in QUICK for part in ("-s", setting)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
        "SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings",
    }
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w+") as log:
        begun = time.perf_counter()
        command += ["-s", f"BILINGUAL_OUTPUT_DIR={folder}/out"]
        streams = [(os.POSIX_SPAWN_DUP2, log.fileno(), stream) for stream in (1, 2)]
        child = os.posix_spawn(sys.executable, command, environment, file_actions=streams)
        _, status, used = os.wait4(child, 0)
        if status:
            sys.exit(Path(folder, "log").read_text()[-2000:])
        pages = json.loads(Path(folder, "out", "summary.json").read_text())["fetched"]
        return Cost(pages, time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--shells", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    plain, shells = start(site(options.pages, shells=False)), start(site(options.shells, shells=True))
    costs: dict[str, list[Cost]] = {"never": [], "auto": []}
    for _ in range(options.runs):
        for render, measured in costs.items():
            measured.append(crawl(plain, render))
    for render, measured in costs.items():
        cpu = statistics.median(cost.cpu for cost in measured)
        memory = statistics.median(cost.memory for cost in measured)
        print(f"{measured[0].pages} pages without need, render={render:6} {cpu:6.2f} s of CPU   {memory:5.0f} MB")
    cost = crawl(shells, "auto")
    print(f"{cost.pages} shells, render=auto: {cost.pages / cost.seconds:.2f} pages/s, {cost.cpu:.1f} s of CPU")


if __name__ == "__main__":
    main()
