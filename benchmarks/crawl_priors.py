"""Whether reliabilities that start from what the other sites of a crawl have shown help the policy `gain`.

    python benchmarks/crawl_priors.py SITES_DIR [--first 30] [--draws 3] [--seed 7] [--jobs 2]

Each site is crawled for the first downloads, and what it has shown is counted. It is then crawled again with weights
that are means over all other sites, so that each site knows more of the others than in a crawl of all of them.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, repeat
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, TypeAlias

from bilingual_crawler.harvest.sites import Task, read_tasks
from bilingual_crawler.policies.evidence.base import place_of
from bilingual_crawler.policies.gain import EVIDENCE, Gain
from training.common.options import refuse_bad_input
from training.common.simulated import compare
from training.policies.__main__ import draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link, PageRecord

Cases: TypeAlias = "tuple[float, float]"
"""In which evidence was right on a site, and in which it was wrong."""
MOST = 10.0  # cases of a task that count
PRIOR = 10.0  # cases that count as much as the weight that is set
COUNTERS = {
    "hreflang": "_right",
    "switchers": "_right",
    "mirrors": "_by_site",
    "parallel_links": "_by_site",
}
"""Kind of evidence -> its reliability by site."""
VARIANTS: Mapping[str, frozenset[str]] = {
    "gain": frozenset(),
    "reliabilities of partners": frozenset(COUNTERS),
    "language marks": frozenset({"marks"}),
    "languages of linking pages": frozenset({"linking_pages"}),
    "rate of pairs": frozenset({"pair_rate"}),
    "all": frozenset({*COUNTERS, "marks", "linking_pages", "pair_rate"}),
}
"""Name -> the kinds that begin with what other sites have shown."""
CONSTANT = {"a rate of .8 everywhere": {"pair_rate.rate": 0.8}}
"""Weights that know nothing of the other sites: what they gain as well is no knowledge."""


class Watched(Gain):
    """Counts how often language marks were right."""

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self.marks = [0, 0]

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
        place = place_of(page.url)
        named = self.pair.side(place.marked) if place.marked and not place.weak else None
        if named:
            self.marks[page.side != named] += 1
        super().observe_page(page, links, partner)

    def shown(self) -> dict[str, Cases]:
        """What the site has shown of each kind."""
        kinds: dict[str, Any] = {kind.name: kind for kind in self._evidence}
        cases: dict[str, Cases] = {"marks": (self.marks[0], self.marks[1])}
        for name, attribute in COUNTERS.items():
            counts = getattr(kinds[name], attribute)._counts
            # places inside a site are tuples
            by_site = [case for place, case in counts.items() if isinstance(place, str)]
            cases[name] = sum(case[0] for case in by_site), sum(case[1] for case in by_site)
        sources = [site.by_source for site in kinds["linking_pages"]._by_site.values()]
        links = [
            (language == source[0], row[language])
            for by in sources
            for source, row in by.items()
            for language in range(3)
        ]
        cases["linking_pages"] = sum(n for own, n in links if own), sum(n for own, n in links if not own)
        rate = kinds["pair_rate"]
        hosts = [host for host in rate._documents if "/" not in host]
        paired = sum(rate._paired[host] for host in hosts)
        cases["pair_rate"] = paired, max(0.0, sum(rate._documents[host] for host in hosts) - paired)
        return cases


def weights_of(kinds: Iterable[str], others: Sequence[Mapping[str, Cases]]) -> dict[str, float]:
    """The weights of *kinds* by what *others*, one for each task of another site, have shown."""
    weights: dict[str, float] = {}
    for name in kinds:
        kind: Any = EVIDENCE[name]
        if name == "linking_pages":
            total = kind.own + 2 * kind.other
            own = total * pooled(kind.own / total, others, name)
            weights |= {"linking_pages.own": own, "linking_pages.other": (total - own) / 2}
        elif hasattr(kind, "right"):
            total = kind.right + kind.wrong
            right = total * pooled(kind.right / total, others, name)
            weights |= {f"{name}.right": right, f"{name}.wrong": total - right}
        else:
            weight = "rate" if name == "pair_rate" else "trust"
            weights[f"{name}.{weight}"] = pooled(getattr(kind, weight), others, name)
    return weights


def pooled(before: float, others: Sequence[Mapping[str, Cases]], kind: str) -> float:
    """The share of cases in which *kind* was right, from *before*."""
    right, all_cases = PRIOR * before, PRIOR
    for cases in others:
        number = sum(cases[kind])
        if number:
            counted = min(number, MOST)
            right += counted * cases[kind][0] / number
            all_cases += counted
    return right / all_cases


def show(sites: Path, tasks: Sequence[Task], first: int) -> list[dict[str, Cases]]:
    """What one site shows in each of its tasks."""
    crawls: list[Watched] = []

    def watched(pair: LanguagePair) -> dict[str, Gain]:
        crawls.append(Watched(pair))
        return {"gain": crawls[-1]}

    compare(sites, tasks, watched, first)
    return [crawl.shown() for crawl in crawls]


def measure(
    sites: Path,
    tasks: Sequence[Task],
    first: int,
    settings: Sequence[Mapping[str, Any]],
    others: Sequence[Mapping[str, Cases]],
) -> dict[str, dict[tuple[str, int], float]]:
    """Relative AUC on the tasks of one site by variant and setting of the other weights."""
    given = {name: weights_of(sorted(kinds), others) for name, kinds in VARIANTS.items()} | CONSTANT

    def policies(pair: LanguagePair) -> dict[tuple[str, int], Gain]:
        return {
            (name, number): Gain(pair, weights={**setting, **weights})
            for name, weights in given.items()
            for number, setting in enumerate(settings)
        }

    return compare(sites, tasks, policies, first)


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    groups = [list(group) for _, group in groupby(read_tasks(options.sites), key=lambda task: task.site)]
    settings = draw(options.draws - 1, options.seed)
    rows: dict[str, dict[tuple[str, int], float]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        shown = list(pool.map(show, repeat(options.sites), groups, repeat(options.first)))
        others = [[cases for one in shown if one is not own for cases in one] for own in shown]
        parts = pool.map(measure, repeat(options.sites), groups, repeat(options.first), repeat(settings), others)
        for part in parts:
            rows |= part
    everything = weights_of(sorted(VARIANTS["all"]), [cases for one in shown for cases in one])
    print(", ".join(f"{name} {value:.2f}" for name, value in everything.items()))
    print(f"\n{len(rows)} tasks {'':22}{'mean':>6}{'spread':>8}{'better':>8}{'worse':>7}")
    for name in (*VARIANTS, *CONSTANT):
        means = [mean(row[name, number] for row in rows.values()) for number in range(options.draws)]
        leads = [mean(row[name, n] - row["gain", n] for n in range(options.draws)) for row in rows.values()]
        better, worse = sum(lead > 0.02 for lead in leads), sum(lead < -0.02 for lead in leads)
        spread = stdev(means) if len(means) > 1 else 0.0
        print(f"{name:31}{mean(means):6.3f}{spread:8.3f}{better:8}{worse:7}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--first", type=int, default=30, help="downloads of each site")
    parser.add_argument("--draws", type=int, default=3, help="settings of the weights, the present one included")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with refuse_bad_input(parser):
        run(options)


if __name__ == "__main__":
    main()
