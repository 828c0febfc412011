"""`python -m training.policies SITES_DIR`: learn the weights of the policy `gain`, cross-validated by site.

Draws settings of the weights and priors around the present ones, crawls every task with each of them in the
simulator, and takes the best by mean relative AUC. Cross-validation does the same without the sites of one fold and
measures on these: only a lead there is a lead.
"""

from __future__ import annotations

import argparse
import json
import random
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from rich.progress import track
from scrapy.settings import Settings

from bilingual_crawler.frontier.policies.gain import Gain, GainWeights
from bilingual_crawler.harvest.simulator import compare
from bilingual_crawler.harvest.sites import Task, read_tasks
from bilingual_crawler.scoring.site_model import SitePriors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEIGHTS: Mapping[str, Sequence[float]] = {
    "hreflang": (0.9, 0.95, 0.99),
    "switcher": (0.5, 0.7, 0.85, 0.95),
    "label": (0.7, 0.85, 0.93),
    "future": (0.15, 0.25, 0.35, 0.5),
    "queued_partner": (0.0, 0.25, 0.5, 1.0),
    "served": (0.1, 0.3, 0.6),
    "length_ratio": (2.0, 3.0, 5.0),
}
PRIORS: Mapping[str, Sequence[Any]] = {
    "language": ((0.2, 0.2, 0.6), (0.3, 0.3, 0.4), (0.4, 0.4, 0.2)),
    "marked": (0.85, 0.93, 0.97),
    "weak_marked": (0.2, 0.5, 0.8),
    "folder_weight": (1.0, 2.0, 4.0),
    "mark_weight": (1.5, 3.0, 6.0),
    "pair_rate": (0.3, 0.5, 0.7),
    "key_rule": ((2.0, 0.5), (4.0, 0.5), (2.0, 1.0)),
    "wording_weight": (3.0, 5.0, 10.0, 30.0),
}
CHANGES = 3
"""Values that a draw changes at most."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One choice of everything that `gain` believes before a crawl."""

    weights: GainWeights = field(default_factory=GainWeights)
    priors: SitePriors = field(default_factory=SitePriors)


def draw(count: int, seed: int) -> list[Setting]:
    """The present setting, then *count* different ones."""
    generator = random.Random(seed)
    settings = [Setting()]
    while len(settings) <= count:
        names = generator.sample([*WEIGHTS, *PRIORS], generator.randint(1, CHANGES))
        weights = {name: generator.choice(WEIGHTS[name]) for name in names if name in WEIGHTS}
        priors = {name: generator.choice(PRIORS[name]) for name in names if name in PRIORS}
        setting = Setting(replace(GainWeights(), **weights), replace(SitePriors(), **priors))
        if setting not in settings:
            settings.append(setting)
    return settings


def measure(sites: Path, tasks: Sequence[Task], settings: Sequence[Setting]) -> dict[str, list[float]]:
    """Relative AUC of every setting on the tasks of one site."""
    rows = compare(
        sites,
        tasks,
        lambda pair: {n: Gain(pair, Settings(), one.weights, one.priors) for n, one in enumerate(settings)},
    )
    return {task: list(row.values()) for task, row in rows.items()}


def best(by_site: Mapping[str, Mapping[str, Sequence[float]]], sites: Sequence[str]) -> int:
    """Number of the setting with the best mean over the tasks of *sites*; the earlier of equals."""
    rows = [row for site in sites for row in by_site[site].values()]
    return max(range(len(rows[0])), key=lambda number: mean(row[number] for row in rows))


def cross_validate(by_site: Mapping[str, Mapping[str, Sequence[float]]], folds: int) -> tuple[float, float]:
    """Mean relative AUC on held-out sites of the settings chosen without them, and of the first setting."""
    names = sorted(by_site)
    chosen, present = [], []
    for fold in range(folds):
        held_out = names[fold::folds]
        number = best(by_site, [name for name in names if name not in held_out])
        chosen += [row[number] for name in held_out for row in by_site[name].values()]
        present += [row[0] for name in held_out for row in by_site[name].values()]
    return mean(chosen), mean(present)


def changes(setting: Setting) -> dict[str, Any]:
    """What a setting has otherwise than the present one."""
    values, present = ({**asdict(s.weights), **asdict(s.priors)} for s in (setting, Setting()))
    return {name: value for name, value in values.items() if value != present[name]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.policies", description=__doc__.splitlines()[0])
    parser.add_argument("sites", type=Path, help="folder of training sites with tasks.tsv")
    parser.add_argument("--draws", type=int, default=48)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="every setting with its relative AUC on every task")
    options = parser.parse_args(arguments)
    settings = draw(options.draws, options.seed)
    groups = [list(group) for _, group in groupby(read_tasks(options.sites), key=lambda task: task.site)]
    by_site = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(measure, options.sites, group, settings): group[0].site for group in groups}
        for job in track(as_completed(jobs), "Crawling", total=len(jobs)):
            by_site[jobs[job]] = job.result()
    if options.json:
        rows = [
            {"changes": changes(setting), "tasks": {t: row[n] for rows in by_site.values() for t, row in rows.items()}}
            for n, setting in enumerate(settings)
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    chosen, present = cross_validate(by_site, options.folds)
    winner = best(by_site, list(by_site))
    everywhere = mean(row[winner] for rows in by_site.values() for row in rows.values())
    print(f"present setting {present:.4f}; chosen on the other sites, measured on held-out ones {chosen:.4f}")
    print(f"best on all sites {everywhere:.4f}: {json.dumps(changes(settings[winner])) or 'the present one'}")


if __name__ == "__main__":
    main()
