"""Backlinks from made-up graphs in Common Crawl's format: pruning, its memory, and look-ups (extra `discovery`).

    python -m benchmarks.backlinks                                      # 1, 5 and 25 million edges
    python -m benchmarks.backlinks --edges 5000000 --memory 300MB --json FILE

Each graph is pruned twice: to 10,000 hosts, and not at all ("all"). It has a host for every 25 edges; in- and
out-degrees are skewed, as on the web. Peak memory is that of the process that prunes, and of the process that looks
up. A look-up is timed for 1,000 hosts drawn at random from the linked ones and for the host with the most links; the
process is fresh, the file may be in the kernel's cache.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from bilingual_crawler.discovery.sources.base import reverse
from bilingual_crawler.discovery.sources.cc_graph import CommonCrawlGraph, prune

if TYPE_CHECKING:
    from collections.abc import Callable

EDGES_OF_A_HOST = 25
ASKED = 10_000
LOOK_UPS = 1000
_VERTICES = """
COPY (
    SELECT row_number() OVER (ORDER BY name) - 1 AS id, name FROM (
        SELECT ['com', 'org', 'net', 'de', 'fr', 'uk.co', 'mt', 'is'][1 + (hash(i) % 8)::INT] || '.'
            || md5(i::VARCHAR)[:6 + (hash(i + 1) % 12)::INT]
            || ['', '.www', '.blog'][1 + (hash(i + 2) % 3)::INT] AS name
        FROM range({hosts}) AS numbers(i)
    )
) TO '{file}' (FORMAT csv, DELIMITER '\\t', HEADER false, COMPRESSION gzip)"""
_EDGES = """
COPY (
    SELECT DISTINCT (pow((hash(i) % 1000003) / 1000003, 2) * ({hosts} - 1))::INT AS source,
        (pow((hash(-i) % 1000003) / 1000003, 3) * ({hosts} - 1))::INT AS target
    FROM range({edges}) AS numbers(i) ORDER BY source, target
) TO '{file}' (FORMAT csv, DELIMITER '\\t', HEADER false, COMPRESSION gzip)"""
_LINKED = """
SELECT name FROM read_csv('{vertices}', delim = '\\t', header = false, names = ['id', 'name'])
JOIN (SELECT column1 AS id, count(*) AS links FROM read_csv('{edges}', delim = '\\t', header = false) GROUP BY id)
USING (id) ORDER BY {order} LIMIT {count}"""


@dataclass(frozen=True)
class Result:
    edges: int
    kept: str
    prune_seconds: float
    prune_megabytes: int
    table_megabytes: float
    look_up_ms: float
    slowest_1_percent_ms: float
    most_linked_ms: float
    look_up_megabytes: int


def make_graph(folder: Path, edges: int) -> tuple[list[str], str]:
    """Write a graph; returns linked hosts drawn at random, and the one with the most links."""
    vertices, links = (folder / f"cc-main-made-up-host-{kind}.txt.gz" for kind in ("vertices", "edges"))
    hosts = edges // EDGES_OF_A_HOST
    with duckdb.connect(config={"temp_directory": str(folder / "spilled")}) as db:
        db.execute(_VERTICES.format(hosts=hosts, file=vertices))
        db.execute(_EDGES.format(hosts=hosts, edges=edges, file=links))

        def names(order: str, count: int) -> list[str]:
            query = _LINKED.format(vertices=vertices, edges=links, order=order, count=count)
            return [reverse(name) for (name,) in db.execute(query).fetchall()]

        return names("hash(id)", ASKED), names("links DESC", 1)[0]


def look_up(table: Path, hosts: list[str]) -> list[float]:
    """Milliseconds of each look-up."""
    graph = CommonCrawlGraph(table)
    times = []
    for host in hosts:
        started = time.perf_counter()
        found = graph.backlinks(host)
        times.append(1000 * (time.perf_counter() - started))
        if not found:
            raise SystemExit(f"{host} has no backlinks")
    return times


def alone(function: Callable[..., object], *arguments: object, **named: object) -> tuple[object, int]:
    """What the function returns in a fresh process, and the process's peak memory in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (function, arguments, named))


def _measured(
    function: Callable[..., object], arguments: tuple[object], named: dict[str, object]
) -> tuple[object, int]:
    result = function(*arguments, **named)
    # not ru_maxrss, in which the memory of the parent process counts
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return result, int(peak) // 1024


def measure(graph: Path, edges: int, hosts: list[str], most: str, asked: list[str] | None, memory: str) -> Result:
    table = graph / "backlinks.duckdb"
    started = time.monotonic()
    _, prune_megabytes = alone(prune, graph, table, asked, memory=memory)
    seconds = time.monotonic() - started
    times, look_up_megabytes = alone(look_up, table, [*hosts[:LOOK_UPS], most])
    assert isinstance(times, list)
    *ordinary, longest = times
    return Result(
        edges,
        "all" if asked is None else f"to {len(asked):,} hosts",
        round(seconds, 1),
        prune_megabytes,
        round(table.stat().st_size / 1e6, 1),
        round(statistics.median(ordinary), 2),
        round(sorted(ordinary)[-max(1, len(ordinary) // 100)], 2),
        round(longest, 2),
        look_up_megabytes,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, nargs="+", default=[1_000_000, 5_000_000, 25_000_000])
    parser.add_argument("--memory", default="1GB", help="limit of DuckDB while it prunes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    for edges in options.edges:
        with tempfile.TemporaryDirectory() as folder:
            hosts, most = make_graph(Path(folder), edges)
            for asked in (hosts, None):
                results.append(measure(Path(folder), edges, hosts, most, asked and [*asked, most], options.memory))
                print(" ".join(f"{name}={value}" for name, value in asdict(results[-1]).items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


if __name__ == "__main__":
    main()
