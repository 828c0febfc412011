"""How to split one budget of downloads over many sites: share of all pairs found after a share of all pages.

    python benchmarks/budget.py CURVES [--share 0.1] [--draws 5] [--split train] [--json OUT]

CURVES is a table (tab separated, perhaps .xz) with a line for each pair of languages and site: pair, site, split, and
the new pairs of each download in the order of the policy ``gain``, separated by commas. The budgets of the crawl and
some others choose sites; a site that was chosen gives its next page. ``known`` knows all curves: the best split that
keeps the order inside each site. AUC is the area under the curve of pairs by downloads, relative to that of ``known``.
Neither politeness nor wrong pairs are simulated; ``scrapy harvest --together`` runs real crawls.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import defaultdict
from itertools import accumulate
from math import inf, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.frontier.budget import Bandit, Even, Sequential, SiteBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Curves = dict[str, list[int]]
"""Site -> new pairs by download."""

SCOUTED = 50


class Scout(Sequential):
    """Pages of each site in turn, then the site that gave most pairs, as linguacrawl does."""

    def __init__(self, sites: Iterable[str]) -> None:
        super().__init__(sites)
        self._paid: defaultdict[str, int] = defaultdict(int)
        self._asked: defaultdict[str, int] = defaultdict(int)

    def choose(self, sites: Mapping[str, float]) -> str:
        new = {site: priority for site, priority in sites.items() if self._asked[site] < SCOUTED}
        return super().choose(new) if new else max(sites, key=self._paid.__getitem__)

    def learn(self, site: str, pairs: int, priority: float) -> None:
        if self._asked[site] < SCOUTED:
            self._paid[site] += pairs
        self._asked[site] += 1


class Ucb1(SiteBudget):
    """UCB1 (Auer et al. 2002)."""

    def __init__(self) -> None:
        self._paid: defaultdict[str, int] = defaultdict(int)
        self._asked: defaultdict[str, int] = defaultdict(int)

    def choose(self, sites: Mapping[str, float]) -> str:
        turns = log(max(sum(self._asked.values()), 1))
        return max(
            sites,
            key=lambda site: self._paid[site] / n + sqrt(2 * turns / n) if (n := self._asked[site]) else inf,
        )

    def learn(self, site: str, pairs: int, priority: float) -> None:
        self._paid[site] += pairs
        self._asked[site] += 1


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
    while left:
        site = budget.choose(dict.fromkeys(left, 0.0))
        pairs = next(left[site], None)
        if pairs is None:
            del left[site]
            continue
        budget.learn(site, pairs, 0.0)
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
        f"scout {SCOUTED} pages": lambda _: Scout(sites),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", type=Path)
    parser.add_argument("--share", type=float, default=0.1, help="of the pages (%(default)s)")
    parser.add_argument("--draws", type=int, default=5, help="runs of a budget that draws at random (%(default)s)")
    parser.add_argument("--split", choices=("train", "dev"), help="only these sites")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = measure(read_curves(options.curves, options.split), options.share, options.draws)
    print(f"{'':18}" + "".join(f"{name:>9}" for name in next(iter(table.values()))))
    for name, row in table.items():
        print(f"{name:18}" + "".join(f"{value:9.3f}" for value in row.values()))
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
