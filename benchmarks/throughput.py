"""Pages per second of whole crawls on loopback: plain Scrapy and this crawler side by side, medians of several runs.

    python benchmarks/throughput.py [--pages 2000] [--hosts 1] [--runs 3]

Both crawl the same generated site (13 links a page, 6 kB of text) with the same number of connections and no delays.
Plain Scrapy extracts links with its LinkExtractor and yields a Request for each; ours also identifies the language,
keeps documents and finds pairs (WARC off for both).
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "the",
    "harvest",
    "of",
    "this",
    "year",
    "was",
    "good",
    "and",
    "people",
    "in",
    "every",
    "village",
    "went",
    "to",
    "market",
    "with",
    "their",
    "fruit",
]
SPANISH = [
    "la",
    "cosecha",
    "de",
    "este",
    "año",
    "fue",
    "buena",
    "y",
    "la",
    "gente",
    "de",
    "cada",
    "pueblo",
    "fue",
    "al",
    "mercado",
    "con",
    "toda",
    "su",
    "fruta",
]

PLAIN_SPIDER = """
import scrapy
from scrapy.linkextractors import LinkExtractor

class Plain(scrapy.Spider):
    name = "plain"
    def __init__(self, seeds="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")
        self.extractor = LinkExtractor()
    def parse(self, response):
        yield {"url": response.url, "text": " ".join(response.xpath("//body//text()").getall())}
        for link in self.extractor.extract_links(response):
            yield scrapy.Request(link.url)
"""


def page(number: int, pages: int) -> bytes:
    rng = random.Random(number)
    words = SPANISH if number % 2 else WORDS
    children = [3 * number + 2 * k for k in (1, 2, 3)] + [rng.randrange(pages) for _ in range(9)] + [number ^ 1]
    links = " ".join(f'<a href="/{"es" if n % 2 else "en"}/{n // 2}.html">page {n}</a>' for n in children if n < pages)
    text = "".join(f"<p>{' '.join(rng.choices(words, k=60))}</p>" for _ in range(16))
    body = f"<html><head><title>{number}</title></head><body><nav>{links}</nav>{text}</body></html>".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


def serve(pages: int, port: multiprocessing.Queue[int]) -> None:
    answers = {f"/{'es' if n % 2 else 'en'}/{n // 2}.html": page(n, pages) for n in range(pages)}
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


def crawl(command: list[str], folder: Path) -> float:
    """Seconds of wall time, start-up included."""
    begun = time.perf_counter()
    log = folder / "log"
    with log.open("w") as file:
        done = subprocess.run(command, cwd=folder, stdout=file, stderr=file, env=os.environ, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--hosts", type=int, default=1, help="loopback addresses that serve a copy each")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(options.pages, ports), daemon=True)
    server.start()
    port = ports.get()
    seeds = ",".join(f"http://127.0.0.1:{port}/en/0.html" for _ in range(options.hosts))
    common = [
        *("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8", "-s", "CONCURRENT_REQUESTS=16", "-s", "DOWNLOAD_DELAY=0"),
        *("-s", "AUTOTHROTTLE_ENABLED=0", "-s", "ROBOTSTXT_OBEY=1", "-s", "LOG_LEVEL=INFO"),
    ]
    scrapy = [sys.executable, "-m", "scrapy"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plain.py").write_text(PLAIN_SPIDER)
        ours = [*scrapy, "crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={seeds}", "-s", "BILINGUAL_WARC=0"]
        commands = {
            "plain scrapy": [*scrapy, "runspider", "plain.py", "-a", f"seeds={seeds}", "-O", "items.jsonl", *common],
            "bilingual bfs": [*ours, "-a", "policy=bfs", *common],
            "bilingual smart": [*ours, "-a", "policy=smart", *common],
        }
        os.environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                os.environ["SCRAPY_SETTINGS_MODULE"] = "" if name == "plain scrapy" else "bilingual_crawler.settings"
                seconds[name].append(crawl(command, Path(folder)))
    base = statistics.median(seconds["plain scrapy"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:16} {options.pages / median:7.1f} pages/s   {base / median:5.2f} x plain Scrapy")
    server.terminate()


if __name__ == "__main__":
    main()
