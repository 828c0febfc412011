"""What crawls cost: processor time and peak memory of all of their processes, beside other crawlers.

    python -m benchmarks.cost [--runs 3] [--peers PYTHON] [--sites …] [--names …] [--json OUT]
    python -m benchmarks.cost --sites 500 1000 2000 4000 --names gain+warc gain+warc+align      # linear growth
    python -m benchmarks.cost --sites "8 hosts"                                                 # one worker and two

Each crawl reads a whole site on loopback, without delays: ``deb.handbook`` (a frozen site of ``../shared/data``), 2,000
generated pages or a number of them, and one page; workers share 8 hosts of 250 pages. All are run in turns, and medians
are reported, since a shared machine changes by the minute. Processor time is user and system time of every process that
the crawl starts, helpers and alignment included; memory is the highest sum of their proportional set sizes. Ratios are
medians of those of each turn.

The other crawlers are in ``benchmarks/peers``. ``--peers`` is the Python of an environment that has their packages,
which are no dependencies of this one: scrapy, resiliparse, trafilatura, pycld2, warcio, crawlee, selectolax,
linguacrawl. What is not installed there is left out.
"""

from __future__ import annotations

import argparse
import compileall
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.processes import Taken, measure
from benchmarks.website import answer_of, archived, html, path, start

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).parent / "peers"
HANDBOOK = ROOT.parent / "shared" / "data" / "sites" / "dev" / "deb.handbook"
SITES = ("deb.handbook", "synthetic", "one page")
GENERATED = {"synthetic": 2000, "one page": 1, "8 hosts": 250}
"""Pages of each host."""
RATIOS = (
    ("deb.handbook", "gain+warc", "scrapy+resiliparse"),
    ("deb.handbook", "gain+warc", "scrapy+trafilatura"),
    ("deb.handbook", "gain+warc+align", "gain+warc"),
    ("synthetic", "gain+warc+align", "gain+warc"),
    ("one page", "gain+warc+align", "scrapy"),
    ("8 hosts", "gain+warc, 2 workers", "gain+warc"),
)


@dataclass(frozen=True)
class Peer:
    """Another crawler."""

    command: tuple[str, ...]
    """Script and arguments, without the seeds."""
    packages: tuple[str, ...]


OURS = {
    "bfs": ("bfs",),
    "smart": ("smart",),
    "gain": ("gain",),
    "gain+warc": ("gain", "BILINGUAL_WARC=1"),
    "gain+warc+align": ("gain", "BILINGUAL_WARC=1", "BILINGUAL_ALIGN=auto"),
    "gain+warc, 2 workers": ("gain", "BILINGUAL_WARC=1", "BILINGUAL_WORKERS=2"),
}
"""Name -> policy and settings."""
ON_HOSTS = ("gain+warc", "gain+warc, 2 workers")
OTHERS = {
    "scrapy": Peer(("scrapy_peers.py", "links"), ("scrapy",)),
    "scrapy+resiliparse": Peer(("scrapy_peers.py", "resiliparse"), ("scrapy", "resiliparse", "pycld2", "warcio")),
    "scrapy+trafilatura": Peer(("scrapy_peers.py", "trafilatura"), ("scrapy", "trafilatura", "pycld2", "warcio")),
    "crawlee": Peer(("crawlee_peer.py",), ("crawlee", "selectolax")),
    "linguacrawl": Peer(("linguacrawl_peer.py",), ("linguacrawl",)),
}
NAMES = (*OTHERS, *OURS)
ON_ONE = tuple(name for name in NAMES if "workers" not in name)
QUICK = (
    *("CONCURRENT_REQUESTS_PER_DOMAIN=8", "CONCURRENT_REQUESTS=16", "DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0"),
    *("BILINGUAL_OUTPUT_DIR=out", "BILINGUAL_WARC=0", "BILINGUAL_ALIGN="),
)


def crawl(name: str, seeds: str, python: str, cache: Path) -> Taken:
    """Crawl once, in an empty folder. *cache* keeps what a machine makes once, but no vector of a sentence."""
    for vectors in cache.rglob("data.mdb"):
        vectors.unlink()
    if name in OTHERS:
        script, *arguments = OTHERS[name].command
        command = [python, str(PEERS / script), *arguments, seeds]
    else:
        policy, *settings = OURS[name]
        settings = [*QUICK, f"BILINGUAL_CACHE_DIR={cache}", *settings]
        command = [sys.executable, "-m", "scrapy", "crawl", "bilingual"]
        command += [part for given in ("pair=eng-spa", f"seeds={seeds}", f"policy={policy}") for part in ("-a", given)]
        command += [part for setting in settings for part in ("-s", setting)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings"}
    # as installed packages, the other crawlers have byte code already
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        return measure(command, Path(folder), environment)


def missing(name: str, python: str) -> str:
    """Return what *python* lacks for this crawler; empty if it has all."""
    packages = OTHERS[name].packages if name in OTHERS else ()
    command = [python, "-c", "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"]
    ended = subprocess.run([*command, *packages], capture_output=True, text=True)
    return ended.stderr.strip().rpartition("\n")[2]


def _site(name: str) -> str:
    if name not in (*SITES, *GENERATED) and not name.isdecimal():
        raise ValueError(name)
    return name


def pages_of(site: str) -> dict[str, bytes]:
    """Return the answers of a site, by path."""
    if site == "deb.handbook":
        return archived(HANDBOOK)
    count = GENERATED.get(site) or int(site)
    return {path(number): answer_of(html(number, count)) for number in range(count)}


def seeds_of(site: str) -> list[str]:
    """Return the paths of its seeds."""
    if site == "deb.handbook":
        return [urlsplit(seed).path for seed in json.loads((HANDBOOK / "site.json").read_text())["seeds"]]
    return [path(0)]


def rows_of(taken: dict[tuple[str, str], list[Taken]], failed: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the medians of the crawls of which none has failed, by site, a row for each crawler."""
    sites: defaultdict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for (site, name), turns in taken.items():
        if turns and (site, name) not in failed:
            sites[name][site] = {
                "seconds": round(statistics.median(one.seconds for one in turns), 2),
                "peak_mb": round(statistics.median(one.peak_mb for one in turns)),
            }
    return [{"name": name, "sites": medians} for name, medians in sites.items()]


def ratio(taken: dict[tuple[str, str], list[Taken]], site: str, one: str, other: str) -> str:
    """Return a line with the ratios of two crawls of a site; empty if one of them was not measured."""
    turns = list(zip(taken.get((site, one), ()), taken.get((site, other), ()), strict=False))
    if not turns:
        return ""
    seconds, wall = (statistics.median(getattr(a, by) / getattr(b, by) for a, b in turns) for by in ("seconds", "wall"))
    return f"{site}: {one} / {other} = {seconds:.2f}, by the clock {wall:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each crawl (%(default)s)")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="that runs the other crawlers")
    sites = f"{', '.join(SITES)} (these), 8 hosts, numbers of generated pages"
    parser.add_argument("--sites", nargs="+", type=_site, default=SITES, help=sites)
    parser.add_argument("--names", nargs="+", choices=NAMES, default=NAMES, help="crawls (all)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="medians by crawler and site, for benchmarks.report")
    options = parser.parse_args(arguments)
    names = []
    for name in options.names:
        if lacking := missing(name, options.peers):
            print(f"{name} is left out: {lacking}; install it, or give --peers PYTHON", file=sys.stderr)
        else:
            names.append(name)
    compileall.compile_dir(ROOT / "bilingual_crawler", quiet=1)
    answered = multiprocessing.Value("L")
    seeds = {}
    for site in options.sites:
        if site == "deb.handbook" and not HANDBOOK.is_dir():
            print(f"{site} is left out: {HANDBOOK} is not there", file=sys.stderr)
        else:
            bases = start(pages_of(site), 8 if site == "8 hosts" else 1, answered)
            seeds[site] = ",".join(base + seed for base in bases for seed in seeds_of(site))
    fitting = ((site, name) for site in seeds for name in names if name in (ON_HOSTS if site == "8 hosts" else ON_ONE))
    taken: dict[tuple[str, str], list[Taken]] = {one: [] for one in fitting}
    pages: dict[tuple[str, str], int] = {}
    failed: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory(prefix="cost-cache-") as cache:
        for site, name in [*taken] * options.runs:
            answered.value = 0
            try:
                taken[site, name].append(crawl(name, seeds[site], options.peers, Path(cache)))
            except RuntimeError as error:
                print(f"{site}, {name} is left out: {error}", file=sys.stderr)
                failed.add((site, name))
            pages[site, name] = answered.value
            if options.json:
                # after each crawl: a run takes long, and may be stopped
                options.json.write_text(json.dumps(rows_of(taken, failed), indent=1) + "\n")
    rows = rows_of(taken, failed)
    print("| site | crawl | pages | s | peak MB |\n|---|---|--:|--:|--:|")
    for row in rows:
        for site, medians in row["sites"].items():
            count = pages[site, row["name"]]
            print(f"| {site} | {row['name']} | {count:,} | {medians['seconds']:.1f} | {medians['peak_mb']} |")
    print(*filter(None, (ratio(taken, *one) for one in RATIOS)), sep="\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
