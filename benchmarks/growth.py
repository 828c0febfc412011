"""Growth of memory, disk and time in real crawls of a hostile or a very large web.

    python benchmarks/growth.py [--only links queued takeover hosts] [--pages 200] [--urls 1000000] [--hosts 5000]

links     a site whose every page, 60 kB on the wire, holds 5,000 links of 1,900 characters to pages of its own
queued    `gain` and the embedded store with --urls queued URLs of one site
takeover  a site with --urls queued URLs in Redis, whose worker dies: until another one fetches from it
hosts     an archive of --hosts hosts with two pages each, crawled with scope=web

Memory is the anonymous memory of the process; by page, URL or host it is the difference between a tenth and the whole.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.redis_server import redis_server
from support.scripted import Answer, scripted
from support.webserver import TEXT, html, start_scrapy

from benchmarks.processes import own_memory
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.redis_store import RedisStore
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.storage.writer import Exchange, WarcWriter

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

LINKS = 5000
LENGTH = 1900
BATCH = 500
SECONDS = 60  # seconds in which a worker learns the facts of a site that it has taken over
QUIET = ("LOG_LEVEL=ERROR", "BILINGUAL_ALIGN=", "BILINGUAL_STALE_PAGES=0")


def crawl(folder: Path, *arguments: str, settings: Sequence[str] = ()) -> subprocess.Popen[str]:
    chosen = (*QUIET, f"BILINGUAL_OUTPUT_DIR={folder / 'out'}", *settings)
    parts = (part for setting in chosen for part in ("-s", setting))
    return start_scrapy(folder, "crawl", "bilingual", "-a", "pair=eng-spa", *arguments, *parts)


def watch(process: subprocess.Popen[str], until: Callable[[], bool] = lambda: False) -> int:
    """Most memory that the process had before it ended, or before *until*."""
    most = 0
    while process.poll() is None and not until():
        try:
            most = max(most, own_memory(process.pid))
        except (OSError, IndexError):
            break
        time.sleep(0.02)
    return most


def end(process: subprocess.Popen[str]) -> None:
    _, log = process.communicate()
    if process.returncode:
        raise SystemExit(log)


def size(folder: Path) -> int:
    """Bytes that the files in *folder* take on the disk."""
    return sum(path.stat().st_blocks << 9 for path in folder.rglob("*") if path.is_file())


def measure_links(pages: int) -> None:
    def answer(path: str) -> Answer:
        if path != "/" and path.count("/") < 3:
            return Answer(status=404)
        number = len(site.asked)
        text = " ".join(random.Random(number).choices(TEXT["en"].split(), k=100))
        base = f"/{number}/" + "a" * (LENGTH - len(site.url) - len(str(number)) - 8)
        anchors = "".join(f"<a href={link:04}>x</a>" for link in range(LINKS))
        head = f"<base href={base}/><p>{text}"
        return Answer(html("en", str(number), head + anchors))

    found = []
    for count in (pages // 10, pages):
        with tempfile.TemporaryDirectory() as name, scripted(answer) as site:
            folder = Path(name)
            begun = time.perf_counter()
            arguments = ("-a", f"seeds={site.url}/", "-a", f"max_pages={count}")
            process = crawl(folder, *arguments, settings=(f"JOBDIR={folder / 'job'}",))
            memory = watch(process)
            end(process)
            found.append((count, memory, size(folder / "job"), size(folder / "out"), time.perf_counter() - begun))
    fewer, more = found
    by_page = [(b - a) / (more[0] - fewer[0]) for a, b in zip(fewer[1:], more[1:], strict=True)]
    print(
        f"links: {more[0]} pages of {LINKS:,} links of {LENGTH:,} characters: {more[1] / 1e6:,.0f} MB of memory; "
        f"by page {by_page[0] / 1e3:,.0f} kB of memory, {by_page[1] / 1e3:,.0f} kB of frontier, "
        f"{by_page[2] / 1e3:,.0f} kB of outputs, {by_page[3]:.2f} s"
    )


def page_url(number: int) -> str:
    return f"https://site.example/{'es' if number % 2 else 'en'}/{number // 2 % 97}/a-title-of-page-{number // 2}.html"


def fill(urls: int) -> list[int]:
    """Memory with none, a tenth and all of *urls* queued; in a process of its own."""
    policy = Gain(LanguagePair.parse("eng-spa"))
    found = []
    with tempfile.TemporaryDirectory() as name:
        store = LmdbStore(Path(name))
        frontier = LocalFrontier(store, Limits(), time.monotonic, policy.reconsider)
        home = PageRecord("https://site.example/", "eng", "eng")
        for start in range(0, urls, BATCH):
            if start in (0, urls // 10):
                found.append(own_memory())
            links = [Link(page_url(number), f"title {number}") for number in range(start, start + BATCH)]
            worth = policy.priorities(home, links, None)
            frontier.push([Entry(link.url, "site.example", w) for link, w in zip(links, worth, strict=True)])
            if start % (40 * BATCH) == 0:
                store.checkpoint(lambda: None)()
        found.append(own_memory())
        store.close()
    return found


def measure_queued(urls: int) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as process:
        _, tenth, whole = process.apply(fill, (urls,))
    print(
        f"queued: {urls:,} URLs of one site with gain: {whole / 1e6:,.0f} MB of memory, "
        f"{(whole - tenth) / (0.9 * urls):,.0f} bytes by URL"
    )


def measure_takeover(urls: int) -> None:
    def answer(path: str) -> Answer:
        return Answer(status=404) if path == "/robots.txt" else Answer(html(path[1:3], path, ""))

    with tempfile.TemporaryDirectory() as name, scripted(answer) as site:
        folder = Path(name)
        (folder / "redis").mkdir()
        with redis_server(folder / "redis", save="", appendonly="no") as server:
            store = RedisStore(server.url, "filler")
            for start in range(0, urls, BATCH):
                paths = (page_url(number).partition("example")[2] for number in range(start, start + BATCH))
                store.push([Entry(site.url + path, "127.0.0.1", 0.5, site.url) for path in paths])
            store.close()
            settings = (f"BILINGUAL_FRONTIER={server.url}",)
            for worker in ("one", "two"):
                (folder / worker).mkdir()
            begun = time.monotonic()
            workers = [crawl(folder / "one", "-a", f"seeds={site.url}/", settings=settings)]
            watch(workers[0], lambda: any(path.endswith(".html") for path in site.paths()))
            first = time.monotonic() - begun
            workers.append(crawl(folder / "two", "-a", f"seeds={site.url}/", settings=settings))
            time.sleep(SECONDS)
            first_memory = own_memory(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)
            workers[0].communicate()
            begun, asked = time.monotonic(), len(site.asked)
            memory = watch(workers[1], lambda: len(site.asked) > asked + 1)
            second = time.monotonic() - begun
            learnt = max(memory, watch(workers[1], lambda: time.monotonic() > begun + second + SECONDS))
            os.killpg(workers[1].pid, signal.SIGKILL)
            workers[1].communicate()
    print(
        f"takeover: a site with {urls:,} queued URLs: first page after {first:.1f} s with its start-up, "
        f"{first_memory / 1e6:,.0f} MB; after the death of that worker {second:.1f} s, {learnt / 1e6:,.0f} MB"
    )


def write_hosts(folder: Path, hosts: int) -> None:
    """An archive in which every host has a page in each language, and names two further hosts."""
    writer = WarcWriter(folder, info={})
    for number in range(hosts):
        further = "".join(f"<a href=http://www.host-{n}.example/en/>{n}</a> " for n in (2 * number + 1, 2 * number + 2))
        for language, other in (("en", "es"), ("es", "en")):
            body = html(
                language, f"host {number}", f"<a href=/{other}/ hreflang={other}>{other}</a> {further}"
            ).encode()
            writer.write_exchange(
                Exchange(
                    url=f"http://www.host-{number}.example/{language}/",
                    method="GET",
                    request_headers=(),
                    status=200,
                    headers=((b"Content-Type", b"text/html"),),
                    body=body,
                    fetched=datetime.now(UTC),
                )
            )
    writer.close()


def measure_hosts(hosts: int) -> None:
    found = []
    for count in (hosts // 10, hosts):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "archive").mkdir()
            write_hosts(folder / "archive", count)
            begun = time.perf_counter()
            arguments = ("-a", "seeds=http://www.host-0.example/en/", "-a", "scope=web")
            process = crawl(folder, *arguments, settings=(f"BILINGUAL_REPLAY={folder / 'archive'}", "BILINGUAL_WARC=0"))
            memory = watch(process)
            end(process)
            pages = sum(1 for _ in (folder / "out" / "crawl.tsv").open()) - 1
            found.append((count, memory, pages, time.perf_counter() - begun))
    fewer, more = found
    print(
        f"hosts: {more[0]:,} hosts, {more[2]:,} addresses asked in {more[3]:.0f} s, {more[1] / 1e6:,.0f} MB of memory, "
        f"{(more[1] - fewer[1]) / (more[0] - fewer[0]) / 1e3:,.1f} kB by host"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("links", "queued", "takeover", "hosts"))
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=5000)
    options = parser.parse_args()
    measures = {
        "links": lambda: measure_links(options.pages),
        "queued": lambda: measure_queued(options.urls),
        "takeover": lambda: measure_takeover(options.urls),
        "hosts": lambda: measure_hosts(options.hosts),
    }
    for name in options.only or measures:
        measures[name]()


if __name__ == "__main__":
    main()
