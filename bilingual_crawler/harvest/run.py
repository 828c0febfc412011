"""The benchmark: a real crawl for each task and policy, or one of all sites with one budget, and the stored results."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
from rich.table import Table

import bilingual_crawler
from bilingual_crawler.harvest.results import Measure, Reference, Result, new_table
from bilingual_crawler.harvest.sites import SiteError, Task, read_site, text_lengths
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.model import read_pairs
from bilingual_crawler.storage.files import replacing
from bilingual_crawler.storage.records import PAIRS, SUMMARY, read_tsv
from bilingual_crawler.storage.sites import find_sources, site_prefixes


class ResultStore:
    """The results in a file; a new result replaces the earlier one of the same task and policy."""

    def __init__(self, path: Path, until: float | None = None) -> None:
        """Read the file, if it exists; raises SiteError if it is unreadable, or was measured with another *until*."""
        self._path = path
        self._results: dict[tuple[str, str], Result] = {}
        try:
            known = msgspec.json.decode(path.read_bytes(), type=list[Result]) if path.exists() else []
        except msgspec.DecodeError as error:
            problem = f"is no results file of this scrapy harvest, choose another --out: {error}"
            raise SiteError(f"{path} {problem}") from error
        for result in known:
            self._results[result.task, result.policy] = result
            if until not in (None, result.until):
                raise SiteError(f"{path} holds crawls with --until {result.until:g}: choose another --out")

    @property
    def results(self) -> list[Result]:
        return [self._results[key] for key in sorted(self._results)]

    def add(self, result: Result) -> None:
        self._results[result.task, result.policy] = result
        lines = ",\n".join(json.dumps(asdict(r), ensure_ascii=False) for r in self.results)
        with replacing(self._path) as part:
            part.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


_KEPT = ("crawl.log", "crawl.tsv", PAIRS, SUMMARY)
_LOG_TAIL = 12


@dataclass(frozen=True, slots=True)
class Harvest:
    """One benchmark: sites, output folder, and the settings of each crawl."""

    sites: Path
    out: Path
    settings: tuple[str, ...] = ()
    jobs: int = 1
    until: float = 1.0

    def run(self, tasks: Sequence[Task], policies: Sequence[str]) -> Generator[Result]:
        """Crawl every task with every policy and yield the results as they come.

        A crawl that fails is measured, with the tail of its log in ``error``. Closing the iterator ends the crawls.
        Raises SiteError or ArchiveError for a site that cannot be read.
        """
        for site in {task.site for task in tasks}:
            find_sources(self.sites / site)
        self.out.mkdir(parents=True, exist_ok=True)
        references = _references(self.sites)
        crawls: set[subprocess.Popen[bytes]] = set()
        pool = ThreadPoolExecutor(self.jobs)
        futures = [pool.submit(self._crawl, task, policy, references, crawls) for task in tasks for policy in policies]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for crawl in list(crawls):
                crawl.terminate()
            pool.shutdown(wait=True)

    def _crawl(
        self, task: Task, policy: str, references: Callable[[Task], Reference], crawls: set[subprocess.Popen[bytes]]
    ) -> Result:
        directory = self.out / "runs" / f"{task}.{policy}"
        oracle = references(task).oracle_urls() if policy == "oracle" else None
        arguments = {"pair": task.pair, "policy": policy, "until": f"{self.until:g}"}
        folders, started = [self.sites / task.site], time.monotonic()
        crawl = replay(directory, arguments, task.seeds, folders, self.settings, crawls, oracle=oracle)
        seconds = round(time.monotonic() - started, 1)
        _write_urls(self.out / "orders" / f"{task}.{policy}.tsv", crawl.order)
        pairs, estimate = None, {}
        # a crawl that was killed also leaves pairs that better ones have replaced
        if crawl.error is None:
            pairs = read_pairs(directory / PAIRS, LanguagePairs.parse(task.pair))
            estimate = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))["estimate"]
        result = references(task).measure(policy, crawl.order, pairs)
        return replace(
            result, missing=crawl.missing, seconds=seconds, error=crawl.error, until=self.until, estimate=estimate
        )


def _references(sites: Path) -> Callable[[Task], Reference]:
    """What makes the references of tasks, each once for all threads of a benchmark."""
    lock = threading.Lock()
    site = lru_cache(maxsize=4)(lambda name: read_site(sites / name))
    lengths = lru_cache(maxsize=4)(lambda name: text_lengths(site(name)))
    reference = lru_cache(maxsize=8)(lambda task: Reference(site(task.site), task, lengths(task.site)))

    def of_task(task: Task) -> Reference:
        with lock:
            return reference(task)

    return of_task


class Replay(NamedTuple):
    """What a crawl of archived sites has done."""

    order: list[str]
    missing: int
    error: str | None
    """The end of its log if it failed."""


def replay(
    directory: Path,
    arguments: Mapping[str, str],
    seeds: Sequence[str],
    folders: Sequence[Path],
    settings: Sequence[str] = (),
    running: set[subprocess.Popen[bytes]] | None = None,
    *,
    oracle: Sequence[str] | None = None,
) -> Replay:
    """Crawl the site *folders* from *seeds* in a process, in *running* until it ends, that writes into *directory*.

    *arguments* are more arguments of the spider, *settings* are ``NAME=VALUE``, *oracle* is the order of that policy.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    if oracle is not None:
        _write_urls(directory / "oracle.txt", oracle)
        settings = (*settings, f"BILINGUAL_ORACLE_ORDER={directory / 'oracle.txt'}")
    command = crawl_command(arguments, seeds, folders, directory, settings)
    running = set() if running is None else running
    with (directory / "crawl.log").open("wb") as log:
        crawl = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=crawl_environment())
        running.add(crawl)
        status = crawl.wait()
        running.discard(crawl)
    order, missing = read_order(directory / "crawl.tsv")
    if status or not order:
        return Replay(order, missing, f"exit status {status}, {len(order)} downloads\n{tail(directory / 'crawl.log')}")
    for path in directory.iterdir():
        if path.name not in _KEPT:
            path.unlink()
    return Replay(order, missing, None)


def crawl_command(
    arguments: Mapping[str, str], seeds: Sequence[str], folders: Sequence[Path], out: Path, settings: Sequence[str]
) -> list[str]:
    file = out / "seeds.txt"
    _write_urls(file, seeds)
    fixed = {
        "BILINGUAL_REPLAY": ",".join(map(str, folders)),
        "BILINGUAL_OUTPUT_DIR": str(out),
        "JOBDIR": "",
        "BILINGUAL_SCOPE_PREFIXES": ",".join(site_prefixes(folders)),
        "BILINGUAL_WARC": "False",
        "BILINGUAL_ALIGN": "",
        "CONCURRENT_REQUESTS": "1",
    }
    given = {**arguments, "seeds": str(file)}
    return [
        *(sys.executable, "-m", "scrapy", "crawl", "bilingual"),
        *(part for name, value in given.items() for part in ("-a", f"{name}={value}")),
        *(part for setting in settings for part in ("-s", setting)),
        *(part for name, value in fixed.items() for part in ("-s", f"{name}={value}")),
    ]


def crawl_environment() -> Mapping[str, str]:
    """Return the environment of a crawl: with this package and its settings."""
    root = str(Path(bilingual_crawler.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {"SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings", **os.environ, "PYTHONPATH": path}


def tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_TAIL:])


def read_order(path: Path) -> tuple[list[str], int]:
    """Return the pages of a ``crawl.tsv`` in download order, and the number of requests that the archive lacks.

    These, and redirects, are no downloads: the live site may have had anything there.
    """
    rows = list(read_tsv(path))
    return [row["url"] for row in rows if row["status"].startswith("2")], sum(r["status"] == "404" for r in rows)


def _write_urls(path: Path, urls: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")


PERCENT = 10  # a crawl ends after this part of the pages that can be reached
_SHOWN = (1, 2, 5, PERCENT)
_ROOM = 1.25  # fetches per download: links also lead to pages that an archive does not hold


@dataclass(frozen=True, slots=True)
class JointCrawl:
    """One crawl of all sites for a pair of languages, measured."""

    pair: str
    policy: str
    budget: str
    reachable_pages: int
    gold_pairs: int
    """Pairs of all sites with both pages reachable."""
    downloads: int
    shares: tuple[float, ...]
    """Share of the pairs found after 0, 1, … :data:`PERCENT` percent of the reachable pages."""
    error: str | None = None
    recall: float = 0.0


class Together:
    """Crawls the sites of *tasks* as one, from all seeds of all their tasks, one request at a time."""

    def __init__(self, sites: Path, out: Path, tasks: Sequence[Task], settings: Sequence[str], until: float) -> None:
        """With *until* 1 the crawl is cut off, else sites are left at this share. Raises SiteError or ArchiveError."""
        self._out, self._settings, self._until = out, settings, until
        self._seeds: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for task in tasks:
            self._seeds[task.site].update(dict.fromkeys(task.seeds))
        self._folders = [sites / name for name in self._seeds]
        self._sites = {name: read_site(sites / name) for name in self._seeds}
        self._pages = sum(len(site.reachable(self._seeds[name])) for name, site in self._sites.items())

    def run(self, pairs: Sequence[str], policy: str, budgets: Sequence[str], jobs: int) -> Iterator[JointCrawl]:
        """One crawl for each of *pairs* with each of *budgets*, *jobs* at a time."""
        with ThreadPoolExecutor(jobs) as pool:
            wanted = [(pair, policy, budget) for pair in pairs for budget in budgets]
            yield from pool.map(lambda crawl: self._crawl(*crawl), wanted)

    def _crawl(self, pair: str, policy: str, budget: str) -> JointCrawl:
        ends = {"max_pages": str(round(self._pages * PERCENT / 100 * _ROOM))}
        if self._until < 1:
            ends = {"until": f"{self._until:g}"}
        order, _, error = replay(
            self._out / "runs" / f"together.{pair}.{policy}.{budget}",
            {"pair": pair, "policy": policy, **ends},
            [url for urls in self._seeds.values() for url in urls],
            self._folders,
            (*self._settings, f"BILINGUAL_SITE_BUDGET={budget}"),
        )
        partners: dict[str, Set[str]] = {}
        a, b = pair.split("-")
        for name, site in self._sites.items():
            partners |= site.partners(Task(name, a, b, tuple(self._seeds[name])))
        measure = Measure(partners, self._pages, ())
        shares = measure.shares(measure.curve(map(self._page, order)))
        counts = self._pages, measure.total, len(order)
        return JointCrawl(pair, policy, budget, *counts, shares[: PERCENT + 1], error, shares[-1])

    def _page(self, url: str) -> str:
        """The page of one of the sites that *url* stands for, else *url*."""
        return next((page for site in self._sites.values() if (page := site.page(url)) in site.languages), url)


def write_joint(crawls: Sequence[JointCrawl], path: Path) -> None:
    """``together.json``: a list of :class:`JointCrawl`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(crawl) for crawl in crawls], indent=1) + "\n", encoding="utf-8")


def joint_table(crawls: Sequence[JointCrawl]) -> Table:
    """A line for each crawl, and the mean of each policy and budget over the pairs."""
    table = new_table(
        f"Pairs of all sites found, by percent of the {crawls[0].reachable_pages} pages",
        ("pair", "policy", "budget"),
        ("pairs", *(f"{percent} %" for percent in _SHOWN), "at the end", "pages"),
    )

    def add_row(pair: str, gold_pairs: str, *group: JointCrawl, style: str = "") -> None:
        shares = (f"{fmean(crawl.shares[at] for crawl in group):.3f}" for at in _SHOWN)
        recall = f"{fmean(crawl.recall for crawl in group):.3f}"
        pages = f"{fmean(crawl.downloads / crawl.reachable_pages for crawl in group):.1%}"
        table.add_row(pair, group[0].policy, group[0].budget, gold_pairs, *shares, recall, pages, style=style)

    groups: defaultdict[tuple[str, str], list[JointCrawl]] = defaultdict(list)
    for crawl in crawls:
        groups[crawl.policy, crawl.budget].append(crawl)
        add_row(crawl.pair, str(crawl.gold_pairs), crawl)
    for group in groups.values():
        add_row("mean", "", *group, style="bold")
    return table
