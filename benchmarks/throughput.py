"""Pages per second of whole crawls on loopback: plain Scrapy and this crawler side by side, medians of several runs.

    python -m benchmarks.throughput [--pages 200] [--hosts 20] [--runs 3] [--crawlee PYTHON]

All crawl the same generated hosts (13 links a page, 6 kB of text) with the same number of connections and no delays,
start-up included. Plain Scrapy extracts links with its LinkExtractor and yields a Request for each; ours also
identifies the language, keeps documents and finds pairs; WARCs, and the alignment of all documents, which begins when a
crawl has ended, are in the rows that say so only. The crawl that is watched answers 1,000 requests for its
status, 100 a second. The last two rows are one worker, and two at the same time, on one Redis. Processor time is that
of the crawl and of the processes that it waits for: not of its helpers, which end by themselves, nor of whoever asks.
With --crawlee, the Python of an environment that has crawlee[parsel], its ParselCrawler is a row as well: it extracts
text and links as plain Scrapy does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.request import urlopen

from benchmarks.website import answer_of, html, path, start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
PLAIN = "plain Scrapy"
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
CRAWLEE = "crawlee"
CRAWLEE_SCRIPT = """
import asyncio
import json
import sys

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler
from crawlee.storage_clients import MemoryStorageClient


async def main(seeds):
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        configuration=Configuration(log_level="WARNING"),
        storage_client=MemoryStorageClient(),
    )
    with open("items.jsonl", "w") as items:
        @crawler.router.default_handler
        async def handle(context):
            text = " ".join(context.selector.xpath("//body//text()").getall())
            items.write(json.dumps({"url": context.request.url, "text": text}) + "\\n")
            await context.enqueue_links(strategy="same-origin")

        await crawler.run(seeds)


asyncio.run(main(sys.argv[1].split(",")))
"""
QUICK = ("CONCURRENT_REQUESTS_PER_DOMAIN=8", "CONCURRENT_REQUESTS=16", "DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0")
COMMON = [part for setting in (*QUICK, "ROBOTSTXT_OBEY=1", "LOG_LEVEL=INFO") for part in ("-s", setting)]


@dataclass
class Crawled:
    """What one or several crawls at the same time took."""

    seconds: float
    """Until the last has ended."""
    processor: float
    """Seconds of all processes."""
    pages: int


def run(commands: Sequence[list[str]], settings: str, count: Callable[[Path], int]) -> Crawled:
    """All *commands* begun at once, each in a folder of its own, in which *count* finds the pages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": settings}
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        folders = [Path(root, str(number)) for number in range(len(commands))]
        begun = time.perf_counter()
        running = []
        for command, folder in zip(commands, folders, strict=True):
            folder.mkdir()
            (folder / "plain.py").write_text(PLAIN_SPIDER)
            with (folder / "log").open("w") as log:
                running.append(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment))
        ends = [os.wait4(process.pid, 0) for process in running]
        seconds = time.perf_counter() - begun
        for folder, (_, status, _) in zip(folders, ends, strict=True):
            if status:
                sys.exit((folder / "log").read_text()[-2000:])
        processor = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ends)
        return Crawled(seconds, processor, sum(map(count, folders)))


def plain(seeds: str) -> Crawled:
    command = [sys.executable, "-m", "scrapy", "runspider", "plain.py", "-a", f"seeds={seeds}", "-O", "items.jsonl"]
    return run([[*command, *COMMON]], "", lambda folder: lines(folder / "items.jsonl"))


def crawlee(seeds: str, python: str) -> Crawled:
    return run([[python, "-c", CRAWLEE_SCRIPT, seeds]], "", lambda folder: lines(folder / "items.jsonl"))


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def ours(
    seeds: str,
    policy: str,
    workers: int = 1,
    frontier: str = "",
    align: str = "",
    status: str = "",
    *,
    warc: bool = False,
    together: int = 1,
) -> Crawled:
    command = [sys.executable, "-m", "scrapy", "crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={seeds}"]
    command += [
        "-a",
        f"policy={policy}",
        "-s",
        f"BILINGUAL_WARC={int(warc)}",
        "-s",
        "BILINGUAL_OUTPUT_DIR=out",
        *COMMON,
    ]
    command += ["-s", f"BILINGUAL_ALIGN={align}", "-s", f"BILINGUAL_STATUS={status}"]
    if frontier:
        command += ["-s", f"BILINGUAL_FRONTIER={frontier}"]
    if together > 1:
        command += ["-s", f"BILINGUAL_WORKERS={together}"]
    settings = "bilingual_crawler.settings"
    return run(
        [command] * workers, settings, lambda folder: json.loads((folder / "out/summary.json").read_text())["fetched"]
    )


def shared(seeds: str, workers: int) -> Crawled:
    """*workers* on a Redis of their own."""
    from support.redis_server import redis_server

    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as server:
        return ours(seeds, "bfs", workers, server.url)


def watched(seeds: str, requests: int = 1000) -> Crawled:
    """A crawl whose status is asked for so often."""
    from support.components import free_port

    address = f"127.0.0.1:{free_port()}"

    def ask() -> None:
        answered = 0
        while answered < requests and asking.is_set():
            with suppress(OSError), urlopen(f"http://{address}/status.json", timeout=10) as answer:
                answer.read()
                answered += 1
            time.sleep(0.01)
        if answered < requests:
            sys.exit(f"only {answered} of {requests} requests were answered: give more --pages")

    asking = Event()
    asking.set()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        measured = ours(seeds, "gain", status=address)
        asking.clear()
        asked.result()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200, help="of each host (%(default)s)")
    parser.add_argument("--hosts", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--crawlee", metavar="PYTHON", help="of an environment that has crawlee[parsel]")
    options = parser.parse_args()
    site = {path(number): answer_of(html(number, options.pages)) for number in range(options.pages)}
    seeds = ",".join(f"{base}{path(0)}" for base in start(site, options.hosts))
    crawls: dict[str, Callable[[], Crawled]] = {
        PLAIN: lambda: plain(seeds),
        "bfs": lambda: ours(seeds, "bfs"),
        "smart": lambda: ours(seeds, "smart"),
        "gain": lambda: ours(seeds, "gain"),
        "gain, WARC": lambda: ours(seeds, "gain", warc=True),
        "gain, watched": lambda: watched(seeds),
        "gain, then aligned": lambda: ours(seeds, "gain", align="auto"),
        "gain, 2 workers by one command": lambda: ours(seeds, "gain", together=2),
        "bfs, Redis": lambda: shared(seeds, 1),
        "bfs, Redis, 2 workers": lambda: shared(seeds, 2),
    }
    if options.crawlee:
        crawls[CRAWLEE] = lambda: crawlee(seeds, options.crawlee)
    speeds: dict[str, list[float]] = {name: [] for name in crawls}
    costs: dict[str, list[float]] = {name: [] for name in crawls}
    counts: dict[str, int] = {}
    for _ in range(options.runs):
        for name, crawl in crawls.items():
            crawled = crawl()
            counts[name] = crawled.pages
            speeds[name].append(crawled.pages / crawled.seconds)
            costs[name].append(1000 * crawled.processor / crawled.pages)
    print("| crawl | pages | pages/s | × plain Scrapy | of one worker | processor ms a page |")
    print("|---|--:|--:|--:|--:|--:|")
    medians = {name: statistics.median(measured) for name, measured in speeds.items()}
    for name, speed in medians.items():
        of_one = f"{speed / medians['bfs, Redis']:.2f}" if "Redis" in name else ""
        cost = statistics.median(costs[name])
        print(f"| {name} | {counts[name]:,} | {speed:.1f} | {speed / medians[PLAIN]:.2f} | {of_one} | {cost:.1f} |")


if __name__ == "__main__":
    main()
