"""What each part of the policy `gain` contributes: mean relative AUC with the part switched off, in the simulator.

    python benchmarks/ablation.py SITES_DIR [--jobs 2]

The same pages, links and policy code as in a crawl, without Scrapy; `scrapy harvest` gives the numbers of real crawls.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from bilingual_crawler.frontier.policies.gain import Gain, GainWeights
from bilingual_crawler.harvest.simulator import compare
from bilingual_crawler.harvest.sites import Task, read_tasks
from bilingual_crawler.scoring.site_model import SiteModel, SitePriors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.scoring.site_model import Belief


class DeafModel(SiteModel):
    """Believes its priors whatever the site shows."""

    def learn_language(self, url: str, side: str | None) -> None:
        pass

    def learn_pair(self, url: str) -> None:
        pass

    def learn_key_rule(self, url: str, held: bool) -> None:
        pass

    def learn_wording(self, url: str, step: int, side: str | None) -> None:
        pass


class BlindModel(SiteModel):
    """Sees no language marks in URLs, only what pages turned out to be."""

    def language(self, url: str) -> Belief:
        belief = self._priors.language
        return belief


class Patient(Gain):
    """Never looks at a URL again when its turn comes."""

    def reconsider(self, url: str, priority: float) -> float:
        return priority


class Parochial(Gain):
    """Compares a URL with no held document by its form."""

    def _mirrors(self, known: object, belief: Belief) -> float:
        return 0.0


WEIGHTS = GainWeights()


def with_model(model: type[SiteModel]) -> Callable[[LanguagePair], Gain]:
    def make(pair: LanguagePair) -> Gain:
        policy = Gain(pair, Settings())
        policy._site = model(pair, SitePriors())
        return policy

    return make


def with_weights(**changes: float) -> Callable[[LanguagePair], Gain]:
    return lambda pair: Gain(pair, Settings(), replace(WEIGHTS, **changes))


def with_priors(**changes: Any) -> Callable[[LanguagePair], Gain]:
    return lambda pair: Gain(pair, Settings(), priors=replace(SitePriors(), **changes))


VARIANTS: Mapping[str, Callable[[LanguagePair], Gain]] = {
    "gain": with_weights(),
    "without hreflang": with_weights(hreflang=0.0),
    "without language switchers": with_weights(switcher=0.0),
    "without either": with_weights(hreflang=0.0, switcher=0.0),
    "without languages named by links": with_weights(label=0.5),
    "without the wording of links": with_priors(wording=(0.2,) * 5, wording_weight=1e9),
    "without comparing lengths": with_weights(length_ratio=1e9),
    "without bridges": lambda pair: Gain(pair, Settings({"BILINGUAL_BRIDGE": False})),
    "without equal URLs but for language marks": lambda pair: Parochial(pair, Settings()),
    "without learning from downloads": with_model(DeafModel),
    "without language marks and folders": with_model(BlindModel),
    "without the pairs to come": with_weights(future=0.0),
    "without a second look at the queue's head": lambda pair: Patient(pair, Settings()),
    "seeds before everything else": with_weights(seed=100.0),
}


def measure(sites: Path, tasks: Sequence[Task]) -> dict[str, dict[str, float]]:
    """Relative AUC of every variant on the tasks of one site."""
    return compare(sites, tasks, lambda pair: {name: make(pair) for name, make in VARIANTS.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    groups = [list(group) for _, group in groupby(read_tasks(options.sites), key=lambda task: task.site)]
    rows: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(measure, [options.sites] * len(groups), groups):
            rows |= part
            for task, values in part.items():
                print(f"{task:42} {values['gain']:.3f}", flush=True)
    print(f"\n{'':44}{'mean':>6}{'worst':>8}")
    for name in VARIANTS:
        column = [row[name] for row in rows.values()]
        print(f"{name:44}{mean(column):6.3f}{min(column):8.3f}")


if __name__ == "__main__":
    main()
