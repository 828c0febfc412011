"""How early a crawl found the gold pairs: the curve y(n), its area, and means over tasks."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bilingual_crawler.harvest.oracle import oracle_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.harvest.sites import Partners, Site, Task

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
    deciles: tuple[int, ...]
    """Pairs found after 10, 20, … 100 % of the reachable pages (Figure 7 of García-Romero 2026)."""
    downloads_to: dict[str, int | None]
    """Percentage of the pairs -> downloads needed, none if never reached."""
    missing: int = 0
    """Requests for URLs that the archive does not hold; not among the downloads."""
    links: str = "all"
    seconds: float = 0.0
    error: str | None = None
    curve: tuple[float, ...] = field(default=(), repr=False)
    """Share of the pairs found after 0, 1, … 100 % of the reachable pages."""

    @property
    def task(self) -> str:
        """Site and language pair."""
        return f"{self.site}.{self.lang_a}-{self.lang_b}"

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        return asdict(self)


def pairs_found(order: Iterable[str], partners: Partners, pages: int) -> list[int]:
    """Return y(1) … y(pages): gold pairs with both pages downloaded, held when the order ends early."""
    seen: set[str] = set()
    found = 0
    curve: list[int] = []
    for url in order:
        if len(curve) == pages:
            break
        if url not in seen:
            seen.add(url)
            found += len(partners.get(url, frozenset()) & seen)
        curve.append(found)
    return curve + [found] * (pages - len(curve))


class Reference:
    """What a task offers: reachable pages N, gold pairs T and the oracle's curve over them."""

    def __init__(self, site: Site, task: Task) -> None:
        self._site = site
        self._task = task
        self.partners = site.partners(task)
        self.pages = len(site.reachable(task.seeds))
        self.pairs = sum(map(len, self.partners.values())) // 2
        self.oracle_auc = self.auc(pairs_found(oracle_order(site, task), self.partners, self.pages))

    def auc(self, curve: Sequence[int]) -> float:
        """Return the area under a curve as a share of the rectangle N · T; 0 where there is no pair."""
        area = self.pages * self.pairs
        return sum(curve) / area if area else 0.0

    def measure(
        self,
        policy: str,
        order: Sequence[str],
        *,
        missing: int = 0,
        links: str = "all",
        seconds: float = 0.0,
        error: str | None = None,
    ) -> Result:
        """Measure a crawl by the URLs it downloaded, in order."""
        curve = pairs_found(map(self._site.page, order), self.partners, self.pages)
        auc = self.auc(curve)
        return Result(
            site=self._task.site,
            lang_a=self._task.lang_a,
            lang_b=self._task.lang_b,
            policy=policy,
            reachable_pages=self.pages,
            gold_pairs=self.pairs,
            downloads=len(order),
            found=curve[-1] if curve else 0,
            auc=auc,
            relative_auc=auc / self.oracle_auc if self.oracle_auc else 0.0,
            deciles=tuple(_at(curve, percent) for percent in DECILES),
            downloads_to={str(share): downloads_to(curve, share, self.pairs) for share in SHARES},
            missing=missing,
            links=links,
            seconds=round(seconds, 1),
            error=error,
            curve=tuple(round(_at(curve, percent) / max(self.pairs, 1), 4) for percent in range(101)),
        )


def _at(curve: Sequence[int], percent: int) -> int:
    downloads = int(len(curve) * percent / 100 + 0.5)
    return curve[downloads - 1] if downloads else 0


def downloads_to(curve: Sequence[int], percent: int, pairs: int) -> int | None:
    """Return after how many downloads ``percent`` of the pairs were found; None if never."""
    wanted = max(ceil(pairs * percent / 100), 1)
    return next((n for n, found in enumerate(curve, 1) if found >= wanted), None)


def bootstrap(results: Sequence[Result], samples: int = 1000) -> tuple[float, float]:
    """Return the 95 % interval of the mean relative AUC when sites are drawn again with replacement."""
    by_site: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        by_site[result.site].append(result.relative_auc)
    means = [fmean(values) for values in by_site.values()]
    rng = random.Random(1)
    drawn = sorted(fmean([rng.choice(means) for _ in means]) for _ in range(samples))
    return drawn[samples * 25 // 1000], drawn[samples * 975 // 1000]


def worse_than(results: Sequence[Result], others: Sequence[Result]) -> float | None:
    """Return the share of common tasks on which ``results`` have a lower AUC; None without common tasks."""
    theirs = {other.task: other.auc for other in others}
    common = [result.auc < theirs[result.task] for result in results if result.task in theirs]
    return fmean(common) if common else None
