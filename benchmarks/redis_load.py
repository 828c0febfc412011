"""What a worker asks of Redis for each page: processor time of the server, scripts, traffic and memory.

    python benchmarks/redis_load.py [--pages 100]

Crawls eight hosts of --pages generated pages on loopback with ``gain`` and an empty Redis that keeps an append-only
file, as the pages on deployment set it up. Needs redis-server.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from pathlib import Path

import redis

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.redis_server import redis_server

from benchmarks import cost
from benchmarks.website import start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100, help="of each host (%(default)s)")
    pages = parser.parse_args().pages
    answered = multiprocessing.Value("L")
    bases = start(cost.pages_of(str(pages)), 8, answered)
    seeds = ",".join(base + seed for base in bases for seed in cost.seeds_of(str(pages)))
    with tempfile.TemporaryDirectory(prefix="redis-load-") as folder, redis_server(Path(folder)) as server:
        client = redis.Redis.from_url(server.url)
        before = client.info()
        cost.OURS["Redis"] = ("gain", "BILINGUAL_WARC=1", f"BILINGUAL_FRONTIER={server.url}#load")
        taken = cost.crawl("Redis", seeds, sys.executable, Path(folder, "cache"))
        used = {name: value - before[name] for name, value in client.info().items() if isinstance(value, int | float)}
        scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    count = answered.value
    seconds = used["used_cpu_user"] + used["used_cpu_sys"]
    traffic = used["total_net_input_bytes"] + used["total_net_output_bytes"]
    print(f"{count} pages; for each the worker took {1000 * taken.seconds / count:.1f} ms of processor time,")
    print(f"Redis {1000 * seconds / count:.2f} ms, {scripts / count:.1f} scripts,")
    print(f"{traffic / count / 1000:.1f} kB of traffic and {used['used_memory'] / count / 1000:.1f} kB of memory")


if __name__ == "__main__":
    main()
