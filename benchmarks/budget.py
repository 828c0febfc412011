"""How to split one budget of downloads over many sites: share of all pairs found after a share of all pages.

    python benchmarks/budget.py CURVES [--share 0.1] [--draws 5] [--split train] [--json OUT]
    python benchmarks/budget.py

CURVES is a table (tab separated, perhaps .xz) with a line for each pair of languages and site: pair, site, split, and
the new pairs of each download in the order of the policy ``gain``, separated by commas. The budgets of the crawl and
some others choose sites; a site that was chosen gives its next page. ``known`` knows all curves: the best split that
keeps the order inside each site. AUC is the area under the curve of pairs by downloads, relative to that of ``known``.
Neither politeness nor wrong pairs are simulated; ``scrapy harvest --together`` runs real crawls.

Without CURVES it measures how long a turn takes.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import defaultdict
from itertools import accumulate
from math import inf, log
from pathlib import Path
from random import Random
from statistics import fmean
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.frontier.budget import Bandit, Even, Sequential, SiteBudget
from bilingual_crawler.frontier.frontier import Head
from bilingual_crawler.frontier.local import Offers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Curves = dict[str, list[int]]
"""Site -> new pairs by download."""

SCOUTED = 50


class Scout(SiteBudget):
    """Pages of each site in turn, then the site that gave most pairs, as linguacrawl does. Expected: pages."""

    def _pick(self, places: NDArray[np.intp]) -> int:
        new = self._sites["expected"][places] < SCOUTED
        return int(places[new.argmax() if new.any() else self._sites["paid"][places].argmax()])

    def observe_download(self, site: str, pairs: float, priority: float) -> None:
        row = self._row(site)
        row["paid"] += pairs * (row["expected"] < SCOUTED)
        row["expected"] += 1


class Ucb1(SiteBudget):
    """UCB1 (Auer et al. 2002). Expected: pages."""

    def _pick(self, places: NDArray[np.intp]) -> int:
        paid, pages = self._sites["paid"][places], self._sites["expected"][places]
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = paid / pages + np.sqrt(2 * log(max(self._sites["expected"].sum(), 1)) / pages)
        return int(places[np.where(pages, worth, inf).argmax()])

    def observe_download(self, site: str, pairs: float, priority: float) -> None:
        row = self._row(site)
        row["paid"] += pairs
        row["expected"] += 1


def read_curves(path: Path, split: str | None) -> dict[str, Curves]:
    """The curves by pair of languages, of the sites of *split* only if it is given."""
    opener = lzma.open if path.suffix == ".xz" else open
    curves: defaultdict[str, Curves] = defaultdict(dict)
    with opener(path, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            pair, site, of, new, *_ = line.rstrip("\n").split("\t")
            if split in (None, of):
                curves[pair][site] = list(map(int, new.split(",")))
    return curves


def spend(budget: SiteBudget, curves: Curves) -> list[int]:
    """The pairs found after 1, 2, … downloads, until no site has a page left."""
    left = {site: iter(new) for site, new in curves.items()}
    found: list[int] = []
    for name in curves:
        budget.offer(name, 0.0)
    while (site := budget.choose()) is not None:
        pairs = next(left[site], None)
        if pairs is None:
            budget.offer(site, None)
            continue
        budget.observe_download(site, pairs, 0.0)
        found.append(pairs)
    return list(accumulate(found))


def known(curves: Curves) -> list[int]:
    """The most pairs that 1, 2, … downloads can find when the order inside each site is given."""
    pages = sum(map(len, curves.values()))
    best = np.zeros(pages + 1, dtype=np.int64)
    for new in curves.values():
        before = best.copy()
        for n, found in enumerate(accumulate(new), 1):
            if new[n - 1]:
                np.maximum(best[n:], before[:-n] + found, out=best[n:])
    result: list[int] = best[1:].tolist()
    return result


def budgets(sites: Sequence[str]) -> dict[str, Callable[[int], SiteBudget]]:
    """A maker of each budget, which takes the number of the draw."""
    return {
        "sequential": lambda _: Sequential(sites),
        "even": lambda _: Even(),
        f"scout {SCOUTED} pages": lambda _: Scout(),
        "UCB1": lambda _: Ucb1(),
        "bandit": lambda draw: Bandit(seed=draw),
    }


def measure(curves: Mapping[str, Curves], share: float, draws: int) -> dict[str, dict[str, float]]:
    """By budget: the share of the pairs found after *share* of the pages by pair of languages, their mean, and AUC."""
    table: defaultdict[str, dict[str, float]] = defaultdict(dict)
    areas: defaultdict[str, list[float]] = defaultdict(list)
    for pair, sites in curves.items():
        ideal = known(sites)
        at = round(share * len(ideal)) - 1
        runs = {name: [spend(make(draw), sites) for draw in range(draws)] for name, make in budgets([*sites]).items()}
        for name, found in (runs | {"known": [ideal]}).items():
            table[name][pair] = fmean(run[at] / ideal[-1] for run in found)
            areas[name].append(fmean(sum(run) / sum(ideal) for run in found))
    return {name: row | {"mean": fmean(row.values()), "AUC": fmean(areas[name])} for name, row in table.items()}


def turn_milliseconds(budget: SiteBudget, sites: int, turns: int = 1000) -> float:
    """Processor time of a turn among so many *sites* that all offer a URL, what it teaches included."""
    offers = Offers(budget)
    random = Random(0)
    for number in range(sites):
        offers.set(Head(f"site-{number}.org", random.random(), number))
    began = process_time()
    for turn in range(turns):
        negated, order, site = next(offers.take())
        budget.observe_download(site, turn % 2, -negated)
        offers.set(Head(site, random.random(), order))
    return 1000 * (process_time() - began) / turns


def print_turns() -> None:
    for sites in (25, 1000, 10_000):
        for name, budget in {"bandit": Bandit(promises=True), "even": Even(), "sequential": Sequential()}.items():
            print(f"{sites:6} sites, {name:10} {turn_milliseconds(budget, sites):.3f} ms a turn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", type=Path, nargs="?")
    parser.add_argument("--share", type=float, default=0.1, help="of the pages (%(default)s)")
    parser.add_argument("--draws", type=int, default=5, help="runs of a budget that draws at random (%(default)s)")
    parser.add_argument("--split", choices=("train", "dev"), help="only these sites")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.curves is None:
        print_turns()
        return
    table = measure(read_curves(options.curves, options.split), options.share, options.draws)
    print(f"{'':18}" + "".join(f"{name:>9}" for name in next(iter(table.values()))))
    for name, row in table.items():
        print(f"{name:18}" + "".join(f"{value:9.3f}" for value in row.values()))
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
