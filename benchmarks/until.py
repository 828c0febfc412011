"""When a crawl with `until` leaves a site: recall, downloads, and the estimate of the remaining pairs beside the truth.

    python -m benchmarks.until SITES_DIR [SITES_DIR …] [--until 0.98] [--untranslated 0.5] [--fit] [--json OUT]

`gain` on archived sites in the simulator, one row for each folder: the pairs that are found when the rule ends the
crawl, over all tasks and on the worst, the downloads as a share of all, and the least share after which so many pairs
are found in this order. A second row asks each site for a pair that it does not have. `--fit` fits the weights of
`crawl/remaining.py` to the folders, prints them, and measures each site with weights that were fitted to the others.
With `--untranslated` each site is crawled again as if such a share of the pages in the rarer language of a task had the
text of their translation at their own address, as many generators fill in what nobody has translated.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby, product, repeat
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from bilingual_crawler import settings as project
from bilingual_crawler.crawl.remaining import DEVIATION, LOG_REMAINING, MIN_PAIRS, OFFSET, RECENT, Estimate, Progress
from bilingual_crawler.harvest.sites import Task, read_site, read_tasks
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.scoring.linear import LinearModel
from bilingual_crawler.urls.hosts import registered_domain
from training.common.options import refuse_bad_input
from training.common.simulated import FrozenSite, freeze, simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.crawl.learner import Learner
    from bilingual_crawler.harvest.sites import Partners, Site

LACKING = ("mlt", "fin", "ukr", "por")
"""A site is asked for the first of these languages that it lacks."""
ENOUGH = 1500  # downloads after which a site that is asked for a pair that it lacks is given up in any case
FOLDS = 8
PENALTY = 0.003  # of the squared weights, against the squared errors of one task
FIRST = 10  # downloads before the first moment of a crawl that the fit uses
STEP = 1.03  # the moments lie this factor apart


@dataclass(frozen=True)
class Course:
    """What the rule sees after each download of a task, and the truth."""

    folder: str
    task: Task
    gold: int
    moments: NDArray[np.float64]
    """A row for each download: pages, found, recently, rarer, queued URLs, and the features."""
    gold_found: NDArray[np.int64]

    @property
    def lacks(self) -> bool:
        return self.gold == 0

    @property
    def to_come(self) -> NDArray[np.float64]:
        """Pairs that the crawl finds after each download."""
        found = self.moments[:, 1]
        to_come: NDArray[np.float64] = np.maximum(found[-1] - found, 0.0)
        return to_come

    @property
    def chosen(self) -> list[int]:
        """Downloads after which the fit looks."""
        rows, n = [], float(FIRST)
        while n <= len(self.moments):
            rows.append(int(n) - 1)
            n = max(n + 1, n * STEP)
        return rows or [len(self.moments) - 1]

    def least(self, until: float) -> int:
        """Downloads after which a crawl that knew the truth would end."""
        return int(np.searchsorted(self.gold_found, until * self.gold_found[-1])) + 1


@dataclass(frozen=True)
class Fit:
    model: LinearModel
    deviation: float

    def remaining(self, course: Course) -> NDArray[np.float64]:
        predicted = self.model.predict(dict(zip(FEATURES, course.moments[:, 5:].T, strict=True)))
        return np.where(course.moments[:, 4] > 0, np.maximum(np.exp(predicted) - OFFSET, 0.0), 0.0)

    def end(self, course: Course, until: float) -> int:
        """Downloads after which the rule ends the crawl."""
        for number, (row, left) in enumerate(zip(course.moments, self.remaining(course), strict=True), 1):
            pages, found, recently, rarer = map(int, row[:4])
            if Progress(pages, found, recently, rarer, float(left)).is_enough(until):
                return number
        return len(course.moments)


FEATURES = tuple(LOG_REMAINING.weights)
PRESENT = Fit(LOG_REMAINING, DEVIATION)


def record(sites: Path, tasks: Sequence[Task], untranslated: Sequence[float] = ()) -> list[Course]:
    """Crawl one site for each of its *tasks*, for pairs that it lacks, and with each share of pages *untranslated*."""
    site = read_site(sites / tasks[0].site)
    frozen = freeze(sites / tasks[0].site, site.languages)
    has = set(site.languages.values())
    lacks = next((language for language in LACKING if language not in has), None)
    kept = {language: task for task in tasks for language in (task.lang_a, task.lang_b)}
    missing = [
        Task(task.site, min(language, lacks), max(language, lacks), task.seeds)
        for language, task in kept.items()
        if lacks
    ]
    courses = [
        *(_course(sites.name, site, frozen, task, site.partners(task)) for task in tasks),
        *(_course(sites.name, site, frozen, task, {}) for task in missing),
    ]
    for task, share in product(tasks, untranslated):
        filled, partners = _filled_in(frozen, task, site.partners(task), share)
        if sum(map(len, partners.values())) >= 2 * MIN_PAIRS:
            courses.append(_course(f"{sites.name}, {share:.0%} untranslated", site, filled, task, partners))
    return courses


def _filled_in(frozen: FrozenSite, task: Task, partners: Partners, share: float) -> tuple[FrozenSite, Partners]:
    """The site with the text of the other language on a *share* of the pages that have it less, and its gold pairs."""
    pages = dict(frozen.pages)
    languages = Counter(pages[url].language for url in partners if url in pages)
    rarer = min((task.lang_a, task.lang_b), key=lambda language: languages[language])
    for url, others in partners.items():
        page, other = pages.get(url), frozen.pages.get(min(others))
        if page and other and page.language == rarer and zlib.crc32(url.encode()) < share * 2**32:
            filled = replace(other, url=url, links=page.links, canonical=page.canonical)
            pages[url] = replace(filled, declared=(rarer,), declared_language=rarer)
    kept = {url: others for url, others in partners.items() if pages.get(url) is frozen.pages.get(url)}
    left = {url: frozenset(others & kept.keys()) for url, others in kept.items()}
    return FrozenSite(pages, frozen.targets), {url: others for url, others in left.items() if others}


def _course(folder: str, site: Site, frozen: FrozenSite, task: Task, partners: Partners) -> Course:
    """Crawl *site* for *task*, whose gold pairs are those of *partners*."""
    policy = Gain(LanguagePair.parse(task.pair, equivalents=project.BILINGUAL_EQUIVALENT_LANGUAGES))
    moments: list[tuple[float, ...]] = []

    def note(learner: Learner, url: str) -> bool:
        key = registered_domain(url)
        (course,), queue = learner.remaining.courses(key), policy.promise(key)
        counts = course.pages, course.found, course.brought(RECENT), course.rarer, queue.urls
        moments.append((*counts, *map(course.features(queue).__getitem__, FEATURES)))
        return bool(partners) or len(moments) < ENOUGH

    held: set[str] = set()
    found, gold_found = 0, []
    for url in map(site.page, simulate(frozen, task.seeds, policy, note)):
        held.add(url)
        found += len(held & partners.get(url, frozenset()))
        gold_found.append(found)
    gold = sum(map(len, partners.values())) // 2
    return Course(folder, task, gold, np.array(moments), np.array(gold_found))


def fit(courses: Iterable[Course]) -> Fit:
    """Fit the weights to *courses*, each of which counts the same (ridge regression)."""
    rows, targets, counts = [], [], []
    for course in courses:
        chosen = course.chosen
        rows.append(course.moments[chosen, 5:])
        targets.append(np.log(course.to_come[chosen] + OFFSET))
        counts.append(np.full(len(chosen), 1 / len(chosen)))
    x, y, w = np.concatenate(rows), np.concatenate(targets), np.concatenate(counts)
    centre, scale = np.average(x, axis=0, weights=w), x.std(axis=0) + 1e-9
    z, level = (x - centre) / scale, np.average(y, weights=w)
    normal = z.T @ (z * w[:, None]) + PENALTY * np.eye(z.shape[1])
    slopes = np.linalg.solve(normal, z.T @ (w * (y - level))) / scale
    intercept = float(level - centre @ slopes)
    errors = y - intercept - x @ slopes
    model = LinearModel(intercept, dict(zip(FEATURES, slopes.tolist(), strict=True)))
    return Fit(model, float(np.sqrt(np.average(errors**2, weights=w))))


def left_out(courses: Sequence[Course]) -> dict[str, Fit]:
    """Return for each site the fit to the sites of other folds."""
    sites = sorted({course.task.site for course in courses})
    fold = {site: number % FOLDS for number, site in enumerate(np.random.default_rng(0).permutation(sites))}
    by_fold = [fit(course for course in courses if fold[course.task.site] != number) for number in range(FOLDS)]
    return {site: by_fold[number] for site, number in fold.items()}


def _error(course: Course, fitted: Fit) -> float:
    """Mean squared error of the logarithm of the remaining pairs."""
    chosen = course.chosen
    true, estimated = (one[chosen] + OFFSET for one in (course.to_come, fitted.remaining(course)))
    return float(np.mean(np.log(true / estimated) ** 2))


def row(name: str, courses: Sequence[Course], fits: Mapping[str, Fit], until: float) -> str:
    """Return one row of the table."""
    ends = [fits[course.task.site].end(course, until) for course in courses]
    if courses[0].lacks:
        pages = f"median {median(ends):.0f}, most {max(ends)}"
        return f"| {name}, a pair that it lacks | {len(courses)} | – | – | – | {pages} | – | – |"
    downloads = sum(len(course.moments) for course in courses)
    least = least_share(courses, until)
    found = [int(course.gold_found[end - 1]) for course, end in zip(courses, ends, strict=True)]
    recalls = [one / course.gold for one, course in zip(found, courses, strict=True)]
    worst = sorted(zip(recalls, map(str, (course.task for course in courses)), strict=True))[:2]
    inside = mean(_inside(course, end, fits[course.task.site]) for course, end in zip(courses, ends, strict=True))
    return (
        f"| {name} | {len(courses)} | {sum(found) / sum(course.gold for course in courses):.3f} | {mean(recalls):.3f} "
        f"| {', '.join(f'{recall:.2f} {task}' for recall, task in worst)} | {sum(ends) / downloads:.3f} | {least:.3f} "
        f"| {inside:.2f} |"
    )


def least_share(courses: Sequence[Course], until: float) -> float:
    """The share of all downloads after which crawls that knew the truth would end."""
    return sum(course.least(until) for course in courses) / sum(len(course.moments) for course in courses)


def figures(courses: Sequence[Course], until: float) -> dict[str, object]:
    """The least share of one folder, and the downloads of crawls for pairs that its sites lack, by the present rule."""
    lacking = [PRESENT.end(course, until) for course in courses if course.lacks]
    return {
        "name": courses[0].folder,
        "least": least_share([course for course in courses if not course.lacks], until),
        "lacking": {"tasks": len(lacking), "median": median(lacking), "most": max(lacking)} if lacking else None,
    }


def _inside(course: Course, end: int, fitted: Fit) -> float:
    """Whether the true share, when the crawl ends after so many downloads, lies in the estimated interval."""
    remaining = float(fitted.remaining(course)[end - 1])
    found, in_all = course.moments[end - 1, 1], max(course.moments[-1, 1], course.moments[end - 1, 1])
    low, high = Estimate(int(found), remaining, remaining**2 * math.expm1(fitted.deviation**2)).interval
    return float(low <= (found / in_all if in_all else 1.0) <= high)


COLUMNS = ("sites", "tasks", "recall", "mean", "worst", "downloads", "least", "in the interval")


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    courses: list[Course] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for sites in options.sites:
            groups = [list(group) for _, group in groupby(read_tasks(sites), key=lambda task: task.site)]
            for some in pool.map(record, repeat(sites), groups, repeat(options.untranslated)):
                courses += some
    fits = {course.task.site: PRESENT for course in courses}
    if options.fit:
        fitted = fit(courses)
        print(f"LOG_REMAINING: {fitted.model.intercept:.3f}")
        print(", ".join(f'"{name}": {weight:.3f}' for name, weight in fitted.model.weights.items()))
        fits = left_out(courses)
        errors = [_error(course, fits[course.task.site]) for course in courses]
        print(f"DEVIATION = {mean(errors) ** 0.5:.3f}  # of sites left out")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    by_folder: dict[str, list[Course]] = {}
    for course in courses:
        by_folder.setdefault(course.folder, []).append(course)
    for name, own in by_folder.items():
        for lacks in (False, True):
            if some := [course for course in own if course.lacks == lacks]:
                print(row(name, some, fits, options.until))
    if options.json:
        rows = [figures(own, options.until) for own in by_folder.values()]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+", help="folders with different names")
    parser.add_argument("--until", type=float, default=0.98)
    parser.add_argument("--untranslated", type=float, nargs="+", default=[], metavar="SHARE", help="0 to 1, of pages")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the least downloads, for benchmarks.report")
    options = parser.parse_args()
    with refuse_bad_input(parser):
        run(options)


if __name__ == "__main__":
    main()
