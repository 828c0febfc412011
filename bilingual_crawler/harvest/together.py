"""All archived sites as one crawl with one budget: how early each budget over sites finds the gold pairs of all."""

from __future__ import annotations

import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.curve import Measure
from bilingual_crawler.harvest.run import replay
from bilingual_crawler.harvest.sites import Task, read_site
from bilingual_crawler.harvest.table import new_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.table import Table

PERCENT = 10
"""A crawl ends after this part of the pages that can be reached."""
_SHOWN = (1, 2, 5, PERCENT)
_ROOM = 1.25
"""Fetches per download: links also lead to pages that an archive does not hold."""


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

    def __init__(
        self, sites: Path, out: Path, tasks: Sequence[Task], settings: Sequence[str], until: float = 1.0
    ) -> None:
        """With *until* 1 the crawl is cut off, else sites are left at this share. Raises SiteError or ArchiveError."""
        self._out = out
        self._settings = settings
        self._until = until
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
        weights = {}
        a, b = pair.split("-")
        for name, site in self._sites.items():
            task = Task(name, a, b, tuple(self._seeds[name]))
            weights.update({url: dict.fromkeys(others, 1) for url, others in site.partners(task).items()})
        measure = Measure(weights, self._pages, ())
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
    groups: defaultdict[tuple[str, str], list[JointCrawl]] = defaultdict(list)
    for crawl in crawls:
        name = crawl.policy, crawl.budget
        groups[name].append(crawl)
        shares = (f"{crawl.shares[at]:.3f}" for at in _SHOWN)
        end = f"{crawl.recall:.3f}", f"{crawl.downloads / crawl.reachable_pages:.1%}"
        table.add_row(crawl.pair, *name, str(crawl.gold_pairs), *shares, *end)
    for name, group in groups.items():
        means = (fmean(crawl.shares[at] for crawl in group) for at in _SHOWN)
        recall = fmean(crawl.recall for crawl in group)
        pages = fmean(crawl.downloads / crawl.reachable_pages for crawl in group)
        shown = (*(f"{mean:.3f}" for mean in means), f"{recall:.3f}", f"{pages:.1%}")
        table.add_row("mean", *name, "", *shown, style="bold")
    return table
