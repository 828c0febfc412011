"""What each part of the policy `gain` contributes: mean relative AUC with the part switched off, in the simulator.

    python benchmarks/ablation.py SITES_DIR [SITES_DIR …] [--first 30] [--jobs 2] [--json OUT]

Policies that need no models are beside it. The same pages, links and policy code as in a crawl, without Scrapy;
`scrapy harvest` gives the numbers of real crawls. With `--first`, only the first downloads of each task count.

In the row "every language known", the language of each page is known before its download: the most that better evidence
about languages could bring.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby, repeat
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, ClassVar

from bilingual_crawler.harvest.sites import Task, read_site, read_tasks
from bilingual_crawler.policies.baselines import BreadthFirst, Ilsp, LanguageBreadthFirst
from bilingual_crawler.policies.evidence.base import LanguageEvidence, normal
from bilingual_crawler.policies.evidence.claims import Mirrors
from bilingual_crawler.policies.evidence.language import LinkingPages
from bilingual_crawler.policies.evidence.parallel_links import ParallelLinks
from bilingual_crawler.policies.evidence.shared_words import SharedWords
from bilingual_crawler.policies.gain import Gain
from training.common.simulated import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.policies.base import Policy
    from bilingual_crawler.policies.evidence.base import Belief, Target


class Patient(Gain):
    """Never looks at a URL again when its turn comes."""

    def reconsider(self, url: str, priority: float) -> float:
        return priority


class Informed(Gain):
    """Knows the language of each page that the site has: *languages* by URL."""

    def __init__(self, pair: LanguagePair, languages: Mapping[str, str]) -> None:
        super().__init__(pair)
        self._language.append([KnownLanguage(self._known, languages)])


@dataclass
class KnownLanguage(LanguageEvidence):
    """The true language of a page, whatever else is believed."""

    name: ClassVar[str] = "known_language"
    languages: Mapping[str, str]

    def update(self, target: Target, belief: Belief) -> Belief | None:
        language = self.languages.get(target.url)
        if language is None:
            return None
        index = self.known.index(self.known.pair.side(language))
        return normal(*(SURE if place == index else (1 - SURE) / 2 for place in range(3)))


def gain(*without: str, bridges: bool = True, **weights: Any) -> Callable[[LanguagePair], Gain]:
    """Makes ``gain`` *without* these kinds of evidence and with other *weights*, ``kind__weight``."""
    given = {name.replace("__", "."): value for name, value in weights.items()}
    return lambda pair: Gain(pair, bridges=bridges, weights=given, without=without)


SURE = 0.98  # belief in a language that is known
ALWAYS = 1e300  # weight of a prior that no count changes
UNTEACHABLE = {
    **dict.fromkeys(
        (
            f"{kind}__weight"
            for kind in ("folders", "marks", "wording", "hreflang", "switchers", "pair_rate", "new_text", "claimed")
        ),
        ALWAYS,
    ),
    "linking_pages__own": LinkingPages.own * ALWAYS,
    "linking_pages__other": LinkingPages.other * ALWAYS,
    **{
        f"{kind.name}__{outcome}": getattr(kind, outcome) * ALWAYS
        for kind in (Mirrors, ParallelLinks, SharedWords)
        for outcome in ("right", "wrong")
    },
}

VARIANTS: Mapping[str, Callable[[LanguagePair], Policy]] = {
    **{policy.name: policy for policy in (BreadthFirst, LanguageBreadthFirst, Ilsp)},
    "gain": gain(),
    "without hreflang": gain("hreflang"),
    "without language switchers": gain("switchers"),
    "without either": gain("hreflang", "switchers"),
    "without links from text to text": gain("cross_links"),
    "without learning whether they lie": gain(hreflang__weight=ALWAYS, switchers__weight=ALWAYS),
    "without new text": gain("new_text"),
    "without learning which claims lead to pages": gain("claimed"),
    "without languages named by links": gain("labels"),
    "without the wording of links": gain("wording"),
    "without parallel links": gain("parallel_links"),
    "without languages of linking pages": gain("linking_pages"),
    "without words that links share with documents": gain("shared_words"),
    "without the surplus of one language": gain("surplus"),
    "without all four": gain("parallel_links", "linking_pages", "shared_words", "surplus"),
    "without bridges": gain(bridges=False),
    "without equal URLs but for language marks": gain("mirrors"),
    "without learning from downloads": gain(**UNTEACHABLE),
    "without language marks and folders": gain("folders", "marks"),
    "without the pairs to come": gain(gain__future=0.0),
    "without pairs of queued URLs": gain(gain__counterpart=0.0),
    "without a second look at the queue's head": Patient,
    "seeds before everything else": gain(gain__seed=100.0),
}


INFORMED = "every language known"


def measure(sites: Path, tasks: Sequence[Task], first: int | None) -> dict[str, dict[str, float]]:
    """Relative AUC of every variant on the tasks of one site."""
    languages = read_site(sites / tasks[0].site).languages

    def policies(pair: LanguagePair) -> dict[str, Policy]:
        return {name: make(pair) for name, make in VARIANTS.items()} | {INFORMED: Informed(pair, languages)}

    return compare(sites, tasks, policies, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--first", type=int, help="downloads that count, all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the means by folder, for benchmarks.report")
    options = parser.parse_args()
    columns: dict[str, list[dict[str, float]]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for sites in options.sites:
            groups = [list(group) for _, group in groupby(read_tasks(sites), key=lambda task: task.site)]
            rows: dict[str, dict[str, float]] = {}
            for part in pool.map(measure, repeat(sites), groups, repeat(options.first)):
                rows |= part
                for task, values in part.items():
                    print(f"{sites.name:12} {task:42} {values['gain']:.3f}", flush=True)
            columns[sites.name] = list(rows.values())
    print("\n| mean / worst |", " | ".join(sites.name for sites in options.sites), "|")
    print("|---|" + "---|" * len(columns))
    for name in (*VARIANTS, INFORMED):
        figures = ([row[name] for row in column] for column in columns.values())
        print(f"| {name} |", " | ".join(f"{mean(values):.3f} / {min(values):.2f}" for values in figures), "|")
    if options.json:
        means = {
            name: {folder: mean(row[name] for row in column) for folder, column in columns.items()}
            for name in (*VARIANTS, INFORMED)
        }
        options.json.write_text(json.dumps(means, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
