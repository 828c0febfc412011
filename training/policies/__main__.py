"""`python -m training.policies SITES_DIR`: learn the weights of the policy `gain`, cross-validated by site.

Draws settings of the weights around the present ones, crawls every task with each of them in the
simulator, and takes the best by mean relative AUC. Cross-validation does the same without the sites of one fold and
measures on these: only a lead there is a lead.
"""

from __future__ import annotations

import argparse
import json
import random
from concurrent.futures import as_completed
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from rich.progress import track

from bilingual_crawler.harvest.sites import Task, read_tasks
from bilingual_crawler.policies.gain import EVIDENCE, Gain, GainWeights
from training.common.data import DataError
from training.common.options import new_file, refuse_bad_input, workers
from training.common.simulated import compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEIGHTS: Mapping[str, Sequence[Any]] = {
    "gain.prior": ((0.2, 0.2, 0.6), (0.3, 0.3, 0.4), (0.4, 0.4, 0.2)),
    "gain.future": (0.15, 0.25, 0.35, 0.5),
    "folders.weight": (1.0, 2.0, 4.0),
    "marks.trust": (0.85, 0.93, 0.97),
    "marks.weak": (0.2, 0.5, 0.8),
    "marks.weight": (1.5, 3.0, 6.0),
    "labels.trust": (0.7, 0.85, 0.93),
    "wording.weight": (3.0, 5.0, 10.0, 30.0),
    "hreflang.trust": (0.9, 0.95, 0.99),
    "switchers.trust": (0.5, 0.7, 0.85, 0.95),
    "mirrors.right": (1.0, 2.0, 4.0),
    "mirrors.wrong": (0.25, 0.5, 1.0),
    "pair_rate.rate": (0.3, 0.5, 0.7),
    "gain.counterpart": (0.0, 0.5, 0.8, 1.0),
    "served.left": (0.1, 0.3, 0.6),
}
"""Weights of the policy by name, and values to try."""
CHANGES = 3  # values that a draw changes at most


def draw(count: int, seed: int) -> list[dict[str, Any]]:
    """The present weights, then *count* different settings: the weights that each has otherwise."""
    generator = random.Random(seed)
    settings: list[dict[str, Any]] = [{}]
    while len(settings) <= count:
        names = sorted(generator.sample([*WEIGHTS], generator.randint(1, CHANGES)))
        setting = {name: generator.choice(WEIGHTS[name]) for name in names}
        setting = {name: value for name, value in setting.items() if value != present(name)}
        if setting not in settings:
            settings.append(setting)
    return settings


def present(name: str) -> Any:
    """The value that the weight *name* has now."""
    kind, _, weight = name.partition(".")
    return getattr(GainWeights() if kind == Gain.name else EVIDENCE[kind], weight)


def measure(sites: Path, tasks: Sequence[Task], settings: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Relative AUC of every setting on the tasks of one site."""
    rows = compare(
        sites,
        tasks,
        lambda pair: {number: Gain(pair, weights=setting) for number, setting in enumerate(settings)},
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.policies", description=__doc__.splitlines()[0])
    parser.add_argument("sites", type=Path, help="folder of training sites with tasks.tsv")
    parser.add_argument("--draws", type=int, default=48)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=new_file, help="every setting with its relative AUC on every task")
    options = parser.parse_args(arguments)
    settings = draw(options.draws, options.seed)
    with refuse_bad_input(parser):
        groups = [list(group) for _, group in groupby(read_tasks(options.sites), key=lambda task: task.site)]
        if min(options.folds, len(groups)) < 2:
            raise DataError(f"{options.sites}: give two sites and --folds 2 or more, to measure on sites left out")
        by_site = {}
        with workers(options.jobs) as pool:
            jobs = {pool.submit(measure, options.sites, group, settings): group[0].site for group in groups}
            for job in track(as_completed(jobs), "Crawling", total=len(jobs)):
                by_site[jobs[job]] = job.result()
    if options.json:
        rows = [
            {"changes": setting, "tasks": {t: row[n] for rows in by_site.values() for t, row in rows.items()}}
            for n, setting in enumerate(settings)
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    chosen, present = cross_validate(by_site, options.folds)
    winner = best(by_site, list(by_site))
    everywhere = mean(row[winner] for rows in by_site.values() for row in rows.values())
    print(f"present setting {present:.4f}; chosen on the other sites, measured on held-out ones {chosen:.4f}")
    print(f"best on all sites {everywhere:.4f}: {json.dumps(settings[winner]) if winner else 'the present one'}")


if __name__ == "__main__":
    main()
