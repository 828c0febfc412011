"""Whether the URL models would help the policy `gain`, beside evidence that knows nothing, in the simulator.

    python benchmarks/url_models.py SITES_DIR [--first 30] [--draws 4] [--seed 1] [--jobs 2]

On small sites a change of order is often luck. So each variant crawls with several settings of the weights of `gain`,
and one variant takes the language of a URL from a hash. A model helps if it gains more than the hash does.
`smart`, which has nothing but the models, is beside them. With `--first`, only the first downloads of each task count.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, ClassVar
from zlib import crc32

from bilingual_crawler.harvest.sites import Task, read_tasks
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.policies import gain
from bilingual_crawler.policies.baselines import Smart
from bilingual_crawler.policies.evidence.base import Belief, LanguageEvidence, normal
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.scoring.links import LinkScorer
from bilingual_crawler.scoring.models import LanguageModel, ParallelnessModel, load_models, models_folder
from bilingual_crawler.urls.hosts import registered_domain
from training.common.options import refuse_bad_input
from training.common.simulated import compare
from training.policies.__main__ import draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.base import Policy
    from bilingual_crawler.policies.evidence.base import Target
    from bilingual_crawler.scoring.links import LinkScore

SHARES = (
    (0.28, 0.16, 0.15, 0.13, 0.13, 0.15),
    (0.13, 0.13, 0.15, 0.16, 0.28, 0.15),
    (0.15, 0.14, 0.14, 0.14, 0.15, 0.28),
)
"""How often URLs of pages in the first language, in the second, in neither are in each step: training sites with slugs,
drawn towards even shares."""
BOUNDS = (0.9, 0.65, 0.35, 0.1)  # between the steps: share of the first language in what the model gives to both
UNKNOWN = 0.2  # less than this for both languages is the last step


@cache
def models() -> tuple[LanguageModel, ParallelnessModel]:
    return load_models(models_folder(None))


@lru_cache(1 << 17)
def step_of(pair: LanguagePair, url: str) -> int:
    """From "surely the first language" over "surely the second" to "neither", by the language model."""
    model, _ = models()
    shares: defaultdict[str | None, float] = defaultdict(float)
    for label, share in zip(model.labels, model.probabilities([url])[0], strict=True):
        shares[pair.side(label)] += float(share)
    both = shares[pair.a] + shares[pair.b]
    if both < UNKNOWN:
        return len(BOUNDS) + 1
    return sum(shares[pair.a] / both < bound for bound in BOUNDS)


@dataclass
class UrlLanguage(LanguageEvidence):
    """The language that the model reads from a URL, by Bayes' rule, counted by site as `wording` is."""

    name: ClassVar[str] = "url_language"
    weight: float = 5.0

    def __post_init__(self) -> None:
        self._usual = tuple([self.weight * share for share in shares] for shares in SHARES)
        self._by_site: dict[str, tuple[list[float], ...]] = {}

    def step(self, url: str) -> int:
        return step_of(self.known.pair, url)

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        rows = self._by_site.setdefault(registered_domain(page.url), tuple(map(list, self._usual)))
        rows[self.known.index(page.side)][self.step(page.url)] += 1
        return ()

    def update(self, target: Target, belief: Belief) -> Belief | None:
        step = self.step(target.url)
        rows = self._by_site.get(registered_domain(target.url), self._usual)
        return normal(*(p * row[step] / sum(row) for p, row in zip(belief, rows, strict=True)))


@dataclass
class UrlHash(UrlLanguage):
    """The same with a step that means nothing."""

    name: ClassVar[str] = "url_hash"

    def step(self, url: str) -> int:
        return crc32(url.encode()) % len(SHARES[0])


@dataclass
class UrlFirst(UrlLanguage):
    """The same before all other evidence: it fades as the pages of the folder are downloaded."""

    name: ClassVar[str] = "url_first"


ADDED = (UrlLanguage, UrlHash, UrlFirst)
VARIANTS: Mapping[str, frozenset[str]] = {
    "gain": frozenset(),
    **{f"with {kind.name}": frozenset({kind.name}) for kind in ADDED},
}
"""Name -> what is added."""


def add_kinds() -> None:
    """Make them kinds of evidence of `gain` in this process; language is asked where no label or wording tells it."""
    gain.LANGUAGE = ((UrlFirst,), *gain.LANGUAGE[:-1], (*gain.LANGUAGE[-1], UrlLanguage, UrlHash))
    gain.EVIDENCE = {**gain.EVIDENCE, **{kind.name: kind for kind in ADDED}}


class SmartAlone(Smart):
    """Scores the links itself, as the simulator does not."""

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self._scorer = LinkScorer(*models(), LanguagePairs((pair,)))

    def priorities(
        self, page: PageRecord, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        if page.side:
            scores = self._scorer.score(page.url, page.side, [link.url for link in links])
        return super().priorities(page, links, scores)


def measure(
    sites: Path, tasks: Sequence[Task], first: int | None, draws: int, seed: int
) -> dict[str, dict[tuple[str, int], float]]:
    """Relative AUC on the tasks of one site by variant and setting; `smart` has no weights."""
    settings = draw(draws - 1, seed)

    def policies(pair: LanguagePair) -> dict[tuple[str, int], Policy]:
        return {
            ("smart", 0): SmartAlone(pair),
            **{
                (name, number): Gain(pair, weights=weights, without={kind.name for kind in ADDED} - added)
                for name, added in VARIANTS.items()
                for number, weights in enumerate(settings)
            },
        }

    return compare(sites, tasks, policies, first)


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    groups = [list(group) for _, group in groupby(read_tasks(options.sites), key=lambda task: task.site)]
    rows: dict[str, dict[tuple[str, int], float]] = {}
    with ProcessPoolExecutor(options.jobs, initializer=add_kinds) as pool:
        jobs = [
            pool.submit(measure, options.sites, group, options.first, options.draws, options.seed) for group in groups
        ]
        for job in jobs:
            rows |= job.result()
    rows = {task: row for task, row in rows.items() if any(row.values())}
    for task, row in rows.items():
        print(f"{task:42}", *(f"{mean(row[name, n] for n in range(options.draws)):6.3f}" for name in VARIANTS))
    print(f"\n{len(rows)} tasks {'':22}{'mean':>6}{'spread':>8}{'better':>8}{'worse':>7}")
    print(f"{'smart':31}{mean(row['smart', 0] for row in rows.values()):6.3f}")
    for name in VARIANTS:
        means = [mean(row[name, number] for row in rows.values()) for number in range(options.draws)]
        gains = [mean(row[name, n] - row["gain", n] for n in range(options.draws)) for row in rows.values()]
        better, worse = sum(lead > 0.02 for lead in gains), sum(lead < -0.02 for lead in gains)
        spread = stdev(means) if len(means) > 1 else 0.0
        print(f"{name:31}{mean(means):6.3f}{spread:8.3f}{better:8}{worse:7}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--first", type=int, help="downloads that count, all by default")
    parser.add_argument("--draws", type=int, default=4, help="settings of the weights, the present one included")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with refuse_bad_input(parser):
        run(options)


if __name__ == "__main__":
    main()
