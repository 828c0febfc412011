"""The tables that ``scrapy harvest`` prints."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from bilingual_crawler.harvest.curve import SHARES, Result, bootstrap, with_gold, worse_than
from bilingual_crawler.harvest.sites import CERTAIN_SCORE, MIN_PAIRS_OF_TASK, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

BASELINE = "bfs"
ALL_FOUND = 0.98
"""Share of the pairs of a task from which it counts as done."""
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
