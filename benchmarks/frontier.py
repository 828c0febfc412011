"""Frontiers side by side: our embedded store, our Redis store, Scrapy's default queue, scrapy-redis.

    python benchmarks/frontier.py [--urls 1000000] [--hosts 2000] [--priorities 20000] [--only NAME…] [--seconds 300]

Each frontier runs in a process of its own: it takes in the URLs (in batches of 100, as the links of pages come), raises
a tenth of them, hands out a tenth, is told that these are done (ours commits each), is closed, opened again, and hands
out the next tenth. Rates are per second of wall time and, in brackets, of processor time of the client process (that of
a Redis server is not in it). Memory is anonymous memory beyond that of the empty frontier (pages of files are the
kernel's to keep or drop) and that of the Redis server. Those without a raise take the URL in again with the higher
priority. A part that takes more than --seconds of processor time is broken off; its rate is that of what it did until
then. scrapy-redis is a peer to compare with, not a dependency: pip install scrapy-redis.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.processes import own_memory

BATCH = 100
POP_SHARE = 10
"""One URL in this many is raised; as many are dequeued before, and again after, the frontier is opened again."""

Item = tuple[str, str, int]
"""URL, host, priority."""


class Queue(Protocol):
    def open(self, folder: Path, redis_url: str) -> None: ...
    def push(self, items: Sequence[Item]) -> None: ...
    def pop(self) -> bool: ...
    def finish(self) -> bool:
        """Finish one of the dequeued URLs."""

    def close(self) -> None: ...


class Ours:
    """The whole frontier, politeness gate included."""

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared
        self._popped: list[tuple[str, str]] = []
        """The data for finish. Requests are dropped at once, as a crawl never keeps so many."""

    def open(self, folder: Path, redis_url: str) -> None:
        from bilingual_crawler.frontier.frontier import Limits
        from bilingual_crawler.frontier.lmdb_store import LmdbStore
        from bilingual_crawler.frontier.local import LocalFrontier
        from bilingual_crawler.frontier.redis_store import RedisStore

        if self._shared:
            store = RedisStore(redis_url, "worker")
            store.share(idle=False, active=0)
            self._frontier = LocalFrontier(store, Limits(per_slot=0, in_flight=0), time.monotonic)
            self._share = store.share
        else:
            self._frontier = LocalFrontier(LmdbStore(folder), Limits(per_slot=0, in_flight=0), time.monotonic)

    def push(self, items: Sequence[Item]) -> None:
        from bilingual_crawler.frontier.entry import Entry

        self._frontier.push(
            [Entry(url, host, priority / 1e6, "https://parent.example/") for url, host, priority in items]
        )

    def pop(self) -> bool:
        entry = self._frontier.pop()
        if entry is None and self._shared:
            gained = self._share(idle=False, active=0).gained
            self._frontier.offer(gained)
            entry = self._frontier.pop()
        if entry is None:
            return False
        self._popped.append((entry.url, entry.slot))
        return True

    def finish(self) -> bool:
        from bilingual_crawler.frontier.entry import Entry

        if not self._popped:
            return False
        self._frontier.finish(Entry(*self._popped.pop(), priority=0.0))
        return True

    def close(self) -> None:
        self._frontier.store.close()


class Scrapys:
    """A Scrapy scheduler: its own, on memory or disk, or that of scrapy-redis."""

    def __init__(self, scheduler: str, *, disk: bool) -> None:
        self._class = scheduler
        self._disk = disk

    def open(self, folder: Path, redis_url: str) -> None:
        from scrapy import Request, Spider
        from scrapy.utils.misc import build_from_crawler, load_object
        from scrapy.utils.test import get_crawler

        class Bench(Spider):
            name = "bench"

            def parse(self, response: Any) -> None: ...

        settings: dict[str, Any] = {"REDIS_URL": redis_url, "SCHEDULER_PERSIST": True, "LOG_LEVEL": "ERROR"}
        if "redis" in self._class:
            settings["DUPEFILTER_CLASS"] = "scrapy_redis.dupefilter.RFPDupeFilter"
        if self._disk:
            settings["JOBDIR"] = str(folder)
        crawler: Any = get_crawler(Bench, settings)
        crawler.spider = self._spider = Bench.from_crawler(crawler)
        crawler.engine = _Engine()
        self._request = Request
        self._scheduler = build_from_crawler(load_object(self._class), crawler)
        self._scheduler.open(self._spider)

    def push(self, items: Sequence[Item]) -> None:
        for url, _, priority in items:
            request = self._request(url, priority=priority, callback=self._spider.parse, meta={"depth": 3})
            self._scheduler.enqueue_request(request)

    def finish(self) -> bool:
        """Scrapy's schedulers have no finish."""
        return False

    def pop(self) -> bool:
        return self._scheduler.next_request() is not None

    def close(self) -> None:
        self._scheduler.close("finished")


class _Downloader:
    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}

    def get_slot_key(self, request: Any) -> str:
        return str(request.url.split("/")[2])


class _Engine:
    def __init__(self) -> None:
        self.downloader = _Downloader()


QUEUES: dict[str, Callable[[], Any]] = {
    "ours, embedded": lambda: Ours(shared=False),
    "ours, Redis": lambda: Ours(shared=True),
    "Scrapy, memory": lambda: Scrapys("scrapy.core.scheduler.Scheduler", disk=False),
    "Scrapy, disk": lambda: Scrapys("scrapy.core.scheduler.Scheduler", disk=True),
    "scrapy-redis": lambda: Scrapys("scrapy_redis.scheduler.Scheduler", disk=False),
}
NEEDS_REDIS = ("ours, Redis", "scrapy-redis")
KEEPS = ("ours, embedded", "ours, Redis", "Scrapy, disk", "scrapy-redis")


def items(urls: int, hosts: int, priorities: int) -> Iterator[Item]:
    rng = random.Random(1)
    for number in range(urls):
        host = f"host{rng.randrange(hosts)}.example"
        yield f"https://{host}/en/section-{number % 97}/some-page-{number}.html", host, rng.randrange(priorities)


def batches(source: Iterator[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    for item in source:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def rate(steps: Iterator[int], seconds: float) -> tuple[list[float], bool]:
    """Operations per second, of wall and of processor time, and whether *steps* (operations each) came to their end."""
    begun, cpu = time.perf_counter(), time.process_time()
    count, complete = 0, True
    for step in steps:
        count += step
        if time.process_time() - cpu > seconds:
            complete = False
            break
    return [count / max(time.perf_counter() - begun, 1e-9), count / max(time.process_time() - cpu, 1e-9)], complete


def redis_memory(url: str) -> int:
    import redis

    return int(redis.Redis.from_url(url).info("memory")["used_memory"]) if url else 0


def disk_use(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def measure(name: str, options: argparse.Namespace, folder: Path, url: str) -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    result: dict[str, Any] = {"name": name, "open_files": hard}
    queue: Queue = QUEUES[name]()
    queue.open(folder, url)
    memory, server = own_memory(), redis_memory(url)
    pushed = 0

    def push(source: Iterator[Item]) -> Iterator[int]:
        nonlocal pushed
        for batch in batches(source):
            queue.push(batch)
            pushed += len(batch)
            yield len(batch)

    def times(count: int, work: Callable[[], bool]) -> Iterator[int]:
        """In batches, as reading the processor time takes as long as some operations."""
        for start in range(0, count, BATCH):
            goal, done = min(BATCH, count - start), 0
            while done < goal and work():
                done += 1
            yield done
            if done < goal:
                return

    def everything() -> Iterator[Item]:
        return items(options.urls, options.hosts, options.priorities)

    result["enqueue"], complete = rate(push(everything()), options.seconds)
    result["urls"] = total = pushed
    result["memory"] = (own_memory() - memory) / total
    result["memory"] += (redis_memory(url) - server) / total
    tenth = total // POP_SHARE
    raised = [
        (u, h, p + options.priorities) for n, (u, h, p) in enumerate(everything()) if n % POP_SHARE == 0 and n < total
    ]
    result["raise"], _ = rate(push(iter(raised)), options.seconds)
    result["dequeue"], _ = rate(times(tenth, queue.pop), options.seconds)
    result["finish"], _ = rate(times(tenth, queue.finish), options.seconds)
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result["anonymous"] = own_memory()
    if name in KEEPS:
        queue.close()
        result["disk"] = disk_use(folder) / total
        begun = time.perf_counter()
        queue = QUEUES[name]()
        queue.open(folder, url)
        queue.pop()
        result["reopen"] = time.perf_counter() - begun
        result["dequeue again"], _ = rate(times(tenth, queue.pop), options.seconds)
    result["complete"] = complete
    return result


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure in a fresh process, with a Redis of its own where one is needed."""
    from support.redis_server import redis_server

    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=options.folder))
    own = folder / "own"
    own.mkdir()

    def child(url: str) -> dict[str, Any]:
        arguments = [f"--{key}={getattr(options, key)}" for key in ("urls", "hosts", "priorities", "seconds")]
        command = [sys.executable, __file__, *arguments, "--measure", name, "--folder", str(own), "--redis", url]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"}
        )
        if done.returncode:
            return {"name": name, "failed": (done.stderr.strip().splitlines() or ["killed"])[-1]}
        return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]

    try:
        if name not in NEEDS_REDIS:
            return child("")
        with redis_server(folder) as server:
            result = child(server.url)
            if "failed" not in result:
                result["disk"] = disk_use(folder) / result["urls"]
            return result
    finally:
        shutil.rmtree(folder)


def row(result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"| {result['name']} | fails: {result['failed'][:120]} |"
    cells = [result["name"], f"{result['urls']:,}" + ("" if result["complete"] else " (cut)")]
    cells += [f"{result[key][0]:,.0f} ({result[key][1]:,.0f})" for key in ("enqueue", "raise", "dequeue", "finish")]
    cells += [f"{result['memory']:,.0f}", f"{result['disk']:,.0f}" if "disk" in result else "–"]
    cells += [f"{result['reopen']:.2f}" if "reopen" in result else "–"]
    cells += [f"{result['anonymous'] / 1e6:,.0f}", f"{result['peak'] / 1e6:,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--priorities", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--only", nargs="*", choices=QUEUES, default=list(QUEUES))
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures, for benchmarks.report")
    parser.add_argument("--folder", type=Path, help="where the disk is that is meant")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--redis", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options, options.folder, options.redis)))
        return
    print(f"{options.urls:,} URLs, {options.hosts:,} hosts, {options.priorities:,} priorities")
    print(
        "| frontier | URLs | enqueue/s | raise/s | dequeue/s | finish/s "
        "| memory, B/URL | disk, B/URL | reopen, s | own MB | peak MB |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    results = []
    for name in options.only:
        results.append(run(name, options))
        print(row(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
