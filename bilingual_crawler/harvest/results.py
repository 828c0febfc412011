"""Results: harvest curves of crawls, measured against the greedy oracle, and the tables of ``scrapy harvest``."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from math import ceil
from statistics import fmean, median
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from bilingual_crawler.harvest.sites import CERTAIN_SCORE, MIN_PAIRS_OF_TASK, linked_forms, share
from bilingual_crawler.storage.records import tsv_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from bilingual_crawler.harvest.sites import Partners, Site, Task
    from bilingual_crawler.items import Pair

_UNREACHED = 10**6
_COMPLETES, _GOLD, _BRIDGE = range(3)


def oracle_order(site: Site, task: Task) -> list[str]:
    """Return pages in the order in which the oracle downloads them, up to the last gold page.

    First a linked page whose partner is already downloaded, then a page of some gold pair, then the page nearest (in
    links) to a gold page not yet downloaded; ties by discovery. A strong reference, not a strict bound.
    """
    partners = site.partners(task)
    parents: defaultdict[str, list[str]] = defaultdict(list)
    for url, links in site.links.items():
        for link in links:
            parents[link].append(url)
    missing = set(partners)
    found: dict[str, int] = {}
    order: dict[str, None] = {}
    distance, outdated = _distances(missing, parents), False
    heap: list[tuple[tuple[int, int], int, str]] = []

    def tier(url: str) -> tuple[int, int]:
        if url not in partners:
            return _BRIDGE, distance.get(url, _UNREACHED)
        return (_COMPLETES if any(map(order.__contains__, partners[url])) else _GOLD), 0

    def push(urls: Iterable[str]) -> None:
        for url in urls:
            if url in site.languages and url not in order:
                heappush(heap, (tier(url), found.setdefault(url, len(found)), url))

    push(task.seeds)
    while heap and missing:
        before, _, url = heappop(heap)
        if url in order:
            continue
        if before[0] == _BRIDGE and outdated:
            distance, outdated = _distances(missing, parents), False
            heap = [(tier(u), n, u) for u, n in found.items() if u not in order]
            heapify(heap)
        elif tier(url) != before:
            push([url])
        else:
            order[url] = None
            outdated |= url in missing
            missing.discard(url)
            push(partner for partner in partners.get(url, ()) if partner in found)
            push(site.links[url])
    return list(order)


def _distances(targets: Iterable[str], parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Links from each page to the nearest of *targets*."""
    distance = dict.fromkeys(targets, 0)
    queue = deque(distance)
    while queue:
        url = queue.popleft()
        for parent in parents.get(url, ()):
            if parent not in distance:
                distance[parent] = distance[url] + 1
                queue.append(parent)
    return distance


def write_deciles(results: Sequence[Result], path: Path) -> None:
    """Write a line per language pair and policy: means over its tasks with pairs, percent of the pairs of a task."""
    groups: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in with_gold(results):
        groups[f"{result.lang_a}-{result.lang_b}", result.policy].append(result)
    lines = [("pair", "policy", "tasks", "relative_auc", *(f"{share}%" for share in DECILES))]
    for (pair, policy), group in sorted(groups.items()):
        shares = (fmean(100 * r.deciles[i] / r.gold_pairs for r in group) for i in range(len(DECILES)))
        auc = fmean(r.relative_auc for r in group)
        lines.append((pair, policy, str(len(group)), f"{auc:.3f}", *(f"{share:.1f}" for share in shares)))
    path.write_text("".join(map(tsv_line, lines)), encoding="utf-8")


DECILES = range(10, 101, 10)  # percentages of the reachable pages after which the pairs found are reported
SHARES = (50, 80, 90)  # percentages of the gold pairs for which the downloads needed are reported


@dataclass(frozen=True, slots=True)
class Result:
    """One crawl of the benchmark, measured; the object that ``results.json`` holds."""

    site: str
    lang_a: str
    lang_b: str
    policy: str
    reachable_pages: int
    """N, the length of the curve."""
    gold_pairs: int
    """T, pairs with both pages reachable."""
    downloads: int
    found: int
    """Pairs with both pages among the first N downloads."""
    auc: float
    relative_auc: float
    """AUC divided by the oracle's; slightly over 1 where a policy beats that greedy reference."""
    text_auc: float
    """The same where a pair counts as many times as its shorter page has characters of visible text."""
    relative_text_auc: float
    deciles: tuple[int, ...]
    """Pairs found after 10, 20, … 100 % of the reachable pages (Figure 7 of García-Romero 2026)."""
    downloads_to: dict[str, int | None]
    """Percentage of the pairs -> downloads needed, None if never reached."""
    missing: int = 0
    """Requests for URLs that the archive does not hold; not among the downloads."""
    seconds: float = 0.0
    error: str | None = None
    curve: tuple[float, ...] = field(default=(), repr=False)
    """Share of the pairs found after 0, 1, … 100 % of the reachable pages."""
    text_curve: tuple[float, ...] = field(default=(), repr=False)
    judged: int | None = None
    """Pairs found while the crawl ran that are right or false; None if the crawl failed."""
    right: int = 0
    paired: int = 0
    """Gold pairs with both pages reachable that are among the pairs found."""
    sure_and_false: int = 0
    """Judged pairs that are false, with a score of .9 or more."""
    orphans: int = 0
    """Pages known to have no translation that can be reached."""
    orphans_paired: int = 0
    until: float = 1.0
    """Share of the pairs of a site after which the crawl left it."""
    estimate: dict[str, float] = field(default_factory=dict)
    """What the crawl estimated at its end, as ``summary.json`` has it; empty if its policy promises no pairs."""

    @property
    def task(self) -> str:
        return f"{self.site}.{self.lang_a}-{self.lang_b}"


def with_gold(results: Iterable[Result]) -> list[Result]:
    """Return the results of tasks with gold pairs: there is no harvest curve of the others."""
    return [result for result in results if result.gold_pairs]


class Measure:
    """How early gold pairs are found that have weights: T is the weight of all of them, N the number of pages."""

    def __init__(
        self, partners: Partners, pages: int, oracle: Sequence[str], weigh: Callable[[str, str], int] = lambda *_: 1
    ) -> None:
        """*partners*: URL -> the URLs it forms a gold pair with; *weigh*: what the pair of two URLs weighs."""
        self._partners, self._pages, self._weigh = partners, pages, weigh
        self.total = sum(weigh(url, partner) for url, others in partners.items() for partner in others) // 2
        self.oracle_auc = self.auc(self.curve(oracle))

    def curve(self, order: Iterable[str]) -> list[int]:
        """Return y(1) … y(N): the weight of the gold pairs with both pages downloaded, held when *order* ends early."""
        seen: set[str] = set()
        found = 0
        curve: list[int] = []
        for url in islice(order, self._pages):
            if url not in seen:
                seen.add(url)
                found += sum(self._weigh(url, partner) for partner in self._partners.get(url, ()) if partner in seen)
            curve.append(found)
        return curve + [found] * (self._pages - len(curve))

    def auc(self, curve: Sequence[int]) -> float:
        """Return the area under a curve as a share of the rectangle N · T; 0 where there is no pair."""
        area = self._pages * self.total
        return sum(curve) / area if area else 0.0

    def relative_auc(self, curve: Sequence[int]) -> float:
        """The area under a curve divided by the oracle's; 0 where that is 0."""
        return self.auc(curve) / self.oracle_auc if self.oracle_auc else 0.0

    def shares(self, curve: Sequence[int]) -> tuple[float, ...]:
        """Return a curve as shares of T after 0, 1, … 100 % of the pages."""
        return tuple(round(_at(curve, percent) / max(self.total, 1), 4) for percent in range(101))


class Reference:
    """What a task offers: reachable pages N, gold pairs by number and by text, and the oracle's curves over them.

    *lengths* are the characters of visible text by page; a pair has those of its shorter page. N is at most *first*.
    """

    def __init__(self, site: Site, task: Task, lengths: Mapping[str, int], first: int | None = None) -> None:
        self._site, self._task = site, task
        reachable = len(site.reachable(task.seeds))
        self.pages = reachable if first is None else min(reachable, first)
        self._oracle = oracle_order(site, task)
        partners = site.partners(task)
        self.by_number = Measure(partners, self.pages, self._oracle)
        self.by_text = Measure(
            partners, self.pages, self._oracle, lambda *urls: min(lengths.get(url, 0) for url in urls)
        )

    def oracle_urls(self) -> list[str]:
        """The oracle's order with each page followed by the URLs that redirect to it."""
        forms = linked_forms(self._site)
        return [url for page in self._oracle for url in (page, *forms.get(page, ()))]

    def measure(self, policy: str, order: Sequence[str], pairs: Iterable[Pair] | None = None) -> Result:
        """Measure a crawl by the URLs it downloaded, in order, and by the pairs it found if it has not failed."""
        tally = self._site.judge(self._task, pairs or ())
        pages = [self._site.page(url) for url in order]
        curve, text_curve = self.by_number.curve(pages), self.by_text.curve(pages)
        task = self._task
        return Result(
            *(task.site, task.lang_a, task.lang_b, policy),
            reachable_pages=self.pages,
            gold_pairs=self.by_number.total,
            downloads=len(order),
            found=curve[-1] if curve else 0,
            auc=self.by_number.auc(curve),
            relative_auc=self.by_number.relative_auc(curve),
            text_auc=self.by_text.auc(text_curve),
            relative_text_auc=self.by_text.relative_auc(text_curve),
            deciles=tuple(_at(curve, percent) for percent in DECILES),
            downloads_to={str(share): downloads_to(curve, share, self.by_number.total) for share in SHARES},
            curve=self.by_number.shares(curve),
            text_curve=self.by_text.shares(text_curve),
            judged=None if pairs is None else tally.judged,
            right=tally.right,
            paired=tally.found,
            sure_and_false=tally.sure_and_false,
            orphans=tally.orphans,
            orphans_paired=tally.orphans_paired,
        )


def _at(curve: Sequence[int], percent: int) -> int:
    downloads = int(len(curve) * percent / 100 + 0.5)
    return curve[downloads - 1] if downloads else 0


def downloads_to(curve: Sequence[int], percent: int, pairs: int) -> int | None:
    """Return after how many downloads ``percent`` of the pairs were found; None if never."""
    wanted = max(ceil(pairs * percent / 100), 1)
    return next((n for n, found in enumerate(curve, 1) if found >= wanted), None)


def bootstrap(results: Sequence[Result]) -> tuple[float, float]:
    """Return the 95 % interval of the mean relative AUC when sites are drawn again with replacement."""
    by_site: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        by_site[result.site].append(result.relative_auc)
    means = [fmean(values) for values in by_site.values()]
    rng = random.Random(1)
    drawn = sorted(fmean([rng.choice(means) for _ in means]) for _ in range(1000))
    return drawn[25], drawn[975]


def worse_than(results: Sequence[Result], others: Sequence[Result]) -> float | None:
    """Return the share of common tasks on which ``results`` have a lower AUC; None without common tasks."""
    theirs = {other.task: other.auc for other in others}
    common = [result.auc < theirs[result.task] for result in results if result.task in theirs]
    return fmean(common) if common else None


BASELINE = "bfs"
ALL_FOUND = 0.98  # share of the pairs of a task from which it counts as done
_COMPLETE = f"≥ {100 * ALL_FOUND:.0f} %"
_PAGES_TO = f"{'/'.join(map(str, SHARES))} %"


def by_policy(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Group results by policy, the policy of the lowest mean first."""
    groups: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.policy].append(result)
    return dict(sorted(groups.items(), key=lambda item: fmean(r.relative_auc for r in item[1])))


def print_tables(results: Sequence[Result], console: Console) -> None:
    """Print harvest and pairs of each policy, where they ended, and the crawls that failed."""
    if groups := by_policy(with_gold(results)):
        console.print(policy_table(groups), "")
    if judged := by_policy([result for result in results if result.judged is not None]):
        console.print(pairs_table(judged), "")
    if any(result.until < 1 for result in results):
        console.print(ends_table(by_policy(results)), "")
    for result in results:
        if result.error:
            console.print(f"[red]failed[/red] {result.task} {result.policy}:", highlight=False)
            console.print(result.error, style="dim", markup=False, highlight=False)


def policy_table(groups: Mapping[str, Sequence[Result]]) -> Table:
    table = new_table(
        "Area under the harvest curve, relative to the oracle",
        ("policy",),
        ("tasks", "mean", "95 % by site", "min", "text", f"< {BASELINE}", _PAGES_TO, _COMPLETE),
        "text: the mean where a pair counts by the characters of its shorter page;"
        f" {_PAGES_TO}: pages downloaded to find that share of the pairs, of all reachable"
        f" (100 % where never); {_COMPLETE}: tasks with that share of the pairs or more",
    )
    for name, group in groups.items():
        low, high = bootstrap(group)
        worse = worse_than(group, groups.get(BASELINE, ())) if name != BASELINE else None
        table.add_row(
            name,
            str(len(group)),
            f"{fmean(r.relative_auc for r in group):.3f}",
            f"{low:.3f}–{high:.3f}",
            f"{min(r.relative_auc for r in group):.3f}",
            f"{fmean(r.relative_text_auc for r in group):.3f}",
            "–" if worse is None else f"{worse:.0%}",
            "/".join(f"{100 * fmean(pages_to(r, share) for r in group):.0f}" for share in SHARES),
            str(sum(r.found >= ALL_FOUND * r.gold_pairs for r in group)),
        )
    return table


def pairs_table(groups: Mapping[str, Sequence[Result]]) -> Table:
    table = new_table(
        "Pairs found while the crawl ran",
        ("policy",),
        ("judged", "precision", "min", "recall", "orphans paired", f"false ≥ {CERTAIN_SCORE:.1f}"),
        "judged: pairs with a page in gold, or with a page that is known to have no translation (orphan);"
        f" precision: share of these that are gold; min: of a task with {MIN_PAIRS_OF_TASK} or more;"
        " recall: share of the gold pairs",
    )
    for name, group in groups.items():
        judged, orphans = sum(r.judged or 0 for r in group), sum(r.orphans for r in group)
        worst = min((r.right / r.judged for r in group if r.judged and r.judged >= MIN_PAIRS_OF_TASK), default=None)
        table.add_row(
            name,
            str(judged),
            decimals(share(sum(r.right for r in group), judged)),
            decimals(worst),
            decimals(share(sum(r.paired for r in group), sum(r.gold_pairs for r in group))),
            f"{sum(r.orphans_paired for r in group)} of {orphans}" if orphans else "–",
            str(sum(r.sure_and_false for r in group)),
        )
    return table


def ends_table(groups: Mapping[str, Sequence[Result]]) -> Table:
    table = new_table(
        "Where the crawls ended",
        ("policy",),
        ("recall", "min", "downloads", "estimated", "true", "inside", "no pair"),
        "recall: share of the gold pairs of all tasks; min: of one task; downloads: share of the pages that"
        " can be reached; estimated: mean of the estimated shares; true: mean of the shares that were found; inside:"
        " tasks whose true share lies in the estimated interval; no pair: most and median pages of tasks without one",
    )
    for name, group in groups.items():
        gold, barren = with_gold(group), [result.downloads for result in group if not result.gold_pairs]
        estimated = [result for result in gold if result.estimate]
        inside = map(in_interval, estimated)
        table.add_row(
            name,
            decimals(share(sum(r.found for r in gold), sum(r.gold_pairs for r in gold))),
            decimals(min((r.found / r.gold_pairs for r in gold), default=None)),
            decimals(share(sum(r.downloads for r in gold), sum(r.reachable_pages for r in gold))),
            decimals(fmean(r.estimate["share"] for r in estimated) if estimated else None),
            decimals(fmean(r.found / r.gold_pairs for r in estimated) if estimated else None),
            f"{sum(inside)} of {len(estimated)}" if estimated else "–",
            f"{max(barren)}, {median(barren):.0f}" if barren else "–",
        )
    return table


def in_interval(result: Result) -> bool:
    """Whether the share of the gold pairs that a crawl found lies in the interval that it estimated."""
    estimate = result.estimate
    return bool(estimate) and estimate["low"] <= result.found / result.gold_pairs <= estimate["high"]


def decimals(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def new_table(title: str, names: Sequence[str], figures: Sequence[str], caption: str | None = None) -> Table:
    """Return a table without rows in the style of this command: columns of *names*, then columns of *figures*."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, title=title, caption=caption)
    table.title_justify = table.caption_justify = "left"
    table.title_style, table.caption_style = "bold", "dim"
    for heading in names:
        table.add_column(heading, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def pages_to(result: Result, share: int) -> float:
    """The share of the pages after which *share* % of the pairs are found; 1 where they never are."""
    needed = result.downloads_to[str(share)]
    return 1.0 if needed is None else needed / result.reachable_pages
