"""``deciles.tsv``: share of the pairs found after each tenth of the pages, by language pair (Figure 7 of the paper)."""

from __future__ import annotations

import csv
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.curve import DECILES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.harvest.curve import Result


def write_deciles(results: Sequence[Result], path: Path) -> None:
    """Write a line per language pair and policy: means over its tasks, percent of the pairs of a task."""
    groups: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[f"{result.lang_a}-{result.lang_b}", result.policy].append(result)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["pair", "policy", "tasks", "relative_auc", *(f"{share}%" for share in DECILES)])
        for (pair, policy), group in sorted(groups.items()):
            shares = [fmean(100 * r.deciles[i] / r.gold_pairs for r in group) for i in range(len(DECILES))]
            auc = fmean(r.relative_auc for r in group)
            writer.writerow([pair, policy, len(group), f"{auc:.3f}", *(f"{share:.1f}" for share in shares)])
