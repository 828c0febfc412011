"""Crawls of a local site with faults at random moments, and the losses that these cause.

    python benchmarks/faults.py [--kills 50] [--others 5] [--seed 1] [--only FAULT…]

Every trial starts real ``scrapy crawl`` processes, causes a fault, and lets a resume finish. It counts pages of the
site that were lost (no document at the end), written twice, or fetched again although they were finished before the
fault (or beyond the four that a worker has in flight). After every fault the outputs are read up to the last record.
Prints the table of docs/reliability.md; ends with status 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import redis

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.redis_server import RedisServer, redis_server
from support.webserver import Site, bilingual_site, serve, start_scrapy, varied

from bilingual_crawler.frontier.entry import State
from bilingual_crawler.frontier.frontier import digest
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.records import read_json_lines, read_tsv

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

PAGES = 60  # pages of each language
IN_FLIGHT = 4
FAULTS_IN_A_CRAWL = 6

CLOCKS = """
import time
real, begun = time.time, time.monotonic()
time.time = lambda: real() + (86_400 if int(2 * (time.monotonic() - begun)) % 2 else -86_400)
"""


@dataclass(slots=True)
class Tally:
    tried: int = 0
    lost: int = 0
    doubled: int = 0
    again: int = 0
    """Fetched again although not in flight."""
    unreadable: int = 0


@dataclass(slots=True)
class Crawl:
    """One crawl over several processes."""

    folder: Path
    site: Site
    rng: random.Random
    server: RedisServer | None
    tally: Tally
    allowed: dict[str, int] = field(default_factory=dict)
    """Allowed requests of a page since the last fault: one more if it was not finished then."""
    unfinished: set[str] = field(default_factory=set)

    def start(self, name: str = "one") -> subprocess.Popen[str]:
        chosen = [f"BILINGUAL_OUTPUT_DIR={self.folder / name}", f"JOBDIR={self.folder / f'job-{name}'}"]
        chosen += [f"CONCURRENT_REQUESTS={IN_FLIGHT}", f"CONCURRENT_REQUESTS_PER_DOMAIN={IN_FLIGHT}", "LOG_LEVEL=ERROR"]
        if self.server:
            chosen.append(f"BILINGUAL_FRONTIER={self.server.url}")
        settings = (part for setting in chosen for part in ("-s", setting))
        arguments = ("-a", "pair=eng-spa", "-a", f"seeds={self.site.url}/en/", "-a", "policy=bfs")
        return start_scrapy(self.folder, "crawl", "bilingual", *arguments, *settings)

    def wait(self, process: subprocess.Popen[str]) -> bool:
        """Wait for a random number of further pages, and a moment; false if the crawl ended before."""
        goal = self.pages_asked() + self.rng.randint(1, 2 * PAGES // FAULTS_IN_A_CRAWL)
        while self.pages_asked() < goal:
            time.sleep(0.005)
            if process.poll() is not None:
                return False
        time.sleep(self.rng.uniform(0, 0.1))
        return process.poll() is None

    def pages_asked(self) -> int:
        return self.site.asked.total() - self.site.asked["/robots.txt"]

    def strike(self, *, workers: int = 1) -> None:
        """After a fault: note the URLs in flight, and read the outputs."""
        self.tally.tried += 1
        self.settle()
        unfinished = set(self.find_unfinished())
        self.tally.again += max(0, len(unfinished - self.unfinished) - workers * IN_FLIGHT)
        self.allowed = {path: count + (path in unfinished) for path, count in self.site.asked.items()}
        self.unfinished = unfinished
        try:
            if self.documents():
                open_archive(self.outputs())
        except Exception as error:
            print(f"unreadable after a fault: {error!r}", file=sys.stderr)
            self.tally.unreadable += 1

    def settle(self) -> None:
        """Count the pages that were requested more often than allowed."""
        for path in bilingual_site(PAGES):
            self.tally.again += max(0, self.site.asked[path] - self.allowed.get(path, 1))

    def find_unfinished(self) -> list[str]:
        """The paths that were requested but are not finished in the store that the fault left."""
        asked = [path for path in self.site.asked if path in bilingual_site(PAGES)]
        urls = [f"{self.site.url}{path}" for path in asked]
        if self.server:
            records = redis.Redis(port=self.server.port).hmget("bilingual:crawl:urls", list(map(digest, urls)))
            unfinished = [record is None or len(record) > 1 for record in records]
        else:
            with tempfile.TemporaryDirectory() as copy:
                shutil.copy(self.folder / "job-one" / "frontier" / "data.mdb", copy)
                store = LmdbStore(Path(copy))
                unfinished = [state in (None, State.QUEUED) for state in store.states(urls)]
                store.close()
        return list(itertools.compress(asked, unfinished))

    def outputs(self) -> list[Path]:
        """Folders of the workers that fetched a page."""
        return [file.parent for file in sorted(self.folder.glob("*/documents.jsonl.gz")) if file.stat().st_size]

    def documents(self) -> list[str]:
        found: list[str] = []
        for folder in self.outputs():
            found += [record["url"] for record in read_json_lines(folder / "documents.jsonl.gz")]
            list(read_tsv(folder / "crawl.tsv"))
        return found

    def finish(self, process: subprocess.Popen[str], *, twins: int = 0) -> None:
        """Let the last process end, and count; *twins* may be written by two workers."""
        _, log = process.communicate(timeout=600)
        if process.returncode:
            print(log, file=sys.stderr)
        self.settle()
        found = self.documents()
        pages = {f"{self.site.url}{path}" for path in bilingual_site(PAGES) if path.startswith(("/en/", "/es/"))}
        self.tally.lost += len(pages - set(found))
        self.tally.doubled += max(0, len(found) - len(set(found)) - twins)
        archive = open_archive(self.outputs())
        self.tally.unreadable += sum(archive.find(url) is None for url in pages)


@contextmanager
def crawl(tally: Tally, rng: random.Random, *, shared: bool) -> Iterator[Crawl]:
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    (folder / "redis").mkdir()
    pages = varied(bilingual_site(PAGES))
    try:
        with serve(pages, redirects={"/old": "/en/page-1.html"}, delay=0.01) as site:
            if not shared:
                yield Crawl(folder, site, rng, None, tally)
            else:
                with redis_server(folder / "redis") as server:
                    yield Crawl(folder, site, rng, server, tally)
    finally:
        shutil.rmtree(folder)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def kills(crawl: Crawl, wanted: int) -> None:
    for _ in range(min(wanted, FAULTS_IN_A_CRAWL)):
        process = crawl.start()
        if not crawl.wait(process):
            return crawl.finish(process)
        kill(process)
        crawl.strike()
    return crawl.finish(crawl.start())


def garbled_tails(crawl: Crawl, wanted: int) -> None:
    process = crawl.start()
    if crawl.wait(process):
        kill(process)
        for file in [*(crawl.folder / "one").glob("*.gz"), crawl.folder / "one" / "crawl.tsv"]:
            rest = crawl.rng.randbytes(crawl.rng.randint(1, 500))
            with file.open("ab") as end:
                end.write(b"\x1f\x8b\x08\x00" + rest.replace(b"\n", b""))
        crawl.strike()
        process = crawl.start()
    crawl.finish(process)


def full_disk(crawl: Crawl, wanted: int) -> None:
    process = crawl.start()
    if crawl.wait(process):
        size = crawl.rng.randint(4_000, 200_000)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        process.communicate()
        crawl.strike()
        process = crawl.start()
    crawl.finish(process)


def clock_jumps(crawl: Crawl, wanted: int) -> None:
    (crawl.folder / "sitecustomize.py").write_text(CLOCKS)
    process = crawl.start()
    crawl.wait(process)
    crawl.tally.tried += 1
    # downloads may be cut off and retried, as Twisted's time-outs use the wall clock
    crawl.allowed = dict.fromkeys(bilingual_site(PAGES), 5)
    crawl.finish(process)


def redis_killed(crawl: Crawl, wanted: int) -> None:
    assert crawl.server
    process = crawl.start()
    for _ in range(3):
        if not crawl.wait(process):
            break
        crawl.server.stop()
        time.sleep(crawl.rng.uniform(0, 5))
        crawl.server.start()
        crawl.strike()
    crawl.finish(process)


def redis_silent(crawl: Crawl, wanted: int) -> None:
    assert crawl.server
    process = crawl.start()
    if crawl.wait(process):
        crawl.server.process.send_signal(signal.SIGSTOP)
        time.sleep(60)
        crawl.server.process.send_signal(signal.SIGCONT)
        crawl.strike()
    crawl.finish(process)


def worker_killed(crawl: Crawl, wanted: int) -> None:
    first, second = crawl.start("one"), crawl.start("two")
    if crawl.wait(first):
        kill(first)
        crawl.strike(workers=2)
        crawl.finish(second, twins=IN_FLIGHT)
    else:
        first.communicate()
        crawl.finish(second)


FAULTS: dict[str, tuple[Callable[[Crawl, int], None], bool]] = {
    "kill -9, embedded": (kills, False),
    "kill -9, Redis": (kills, True),
    "garbled tails after kill -9": (garbled_tails, False),
    "disk full, embedded": (full_disk, False),
    "disk full, Redis": (full_disk, True),
    "clock jumps by a day, twice a second, embedded": (clock_jumps, False),
    "clock jumps by a day, twice a second, Redis": (clock_jumps, True),
    "Redis killed and started again": (redis_killed, True),
    "Redis silent for a minute": (redis_silent, True),
    "one of two workers killed": (worker_killed, True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of each store")
    parser.add_argument("--others", type=int, default=5, help="trials of every other fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=FAULTS, default=list(FAULTS))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print("| fault | times | pages lost | fetched again, not in flight | written twice | outputs unreadable |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    bad = 0
    for name in options.only:
        trial, shared = FAULTS[name]
        wanted = options.kills if trial is kills else options.others
        tally = Tally()
        while tally.tried < wanted:
            with crawl(tally, rng, shared=shared) as running:
                trial(running, wanted - tally.tried)
        figures = (tally.tried, tally.lost, tally.again, tally.doubled, tally.unreadable)
        print(f"| {name} | " + " | ".join(map(str, figures)) + " |", flush=True)
        bad += sum(figures[1:])
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
