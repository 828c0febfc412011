"""Harvest curves of a crawl, measured against the greedy oracle, which knows link graph and gold pairs."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from bilingual_crawler.harvest.sites import linked_forms
from bilingual_crawler.storage.records import tsv_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.harvest.sites import Site, Task
    from bilingual_crawler.items import Pair

    Weights: TypeAlias = Mapping[str, Mapping[str, int]]
    """URL -> the URLs it forms a gold pair with -> what that pair weighs."""

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


DECILES = range(10, 101, 10)
"""Percentages of the reachable pages after which the pairs found are reported."""
SHARES = (50, 80, 90)
"""Percentages of the gold pairs for which the downloads needed are reported."""


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
    """As in :class:`~bilingual_crawler.harvest.sites.Tally`, like `orphans`."""
    orphans: int = 0
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

    def __init__(self, weights: Weights, pages: int, oracle: Sequence[str]) -> None:
        self._weights, self._pages = weights, pages
        self.total = sum(sum(partners.values()) for partners in weights.values()) // 2
        self.oracle_auc = self.auc(self.curve(oracle))

    def curve(self, order: Iterable[str]) -> list[int]:
        """Return y(1) … y(N): the weight of the gold pairs with both pages downloaded, held when *order* ends early."""
        seen: set[str] = set()
        found = 0
        curve: list[int] = []
        for url in order:
            if len(curve) == self._pages:
                break
            if url not in seen:
                seen.add(url)
                partners = self._weights.get(url, {})
                found += sum(weight for partner, weight in partners.items() if partner in seen)
            curve.append(found)
        return curve + [found] * (self._pages - len(curve))

    def auc(self, curve: Sequence[int]) -> float:
        """Return the area under a curve as a share of the rectangle N · T; 0 where there is no pair."""
        area = self._pages * self.total
        return sum(curve) / area if area else 0.0

    def relative_auc(self, curve: Sequence[int]) -> float:
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
        number, text = {}, {}
        for url, others in site.partners(task).items():
            number[url] = dict.fromkeys(others, 1)
            text[url] = {other: min(lengths.get(url, 0), lengths.get(other, 0)) for other in others}
        self.by_number = Measure(number, self.pages, self._oracle)
        self.by_text = Measure(text, self.pages, self._oracle)

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
