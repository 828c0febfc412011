"""Finished crawls of the same seeds, compared by what they cost: Figure 7 of García-Romero (2026) on live sites."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.curve import DECILES, SHARES
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.harvest.table import new_table
from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.records import CRAWL, PAIRS, read_tsv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Run:
    """A finished crawl: what it had after each of its requests."""

    name: str
    pairs: tuple[int, ...]
    """Pairs of ``pairs.tsv`` with both pages downloaded, summed over sites."""
    seconds: tuple[float, ...]
    """Since its first request, pauses between runs included."""
    sizes: tuple[int, ...]
    """Bytes downloaded, by its archive; zeros without one."""

    def decile(self, percent: int) -> int:
        return self.pairs[ceil(len(self.pairs) * percent / 100) - 1]

    def until(self, pairs: int) -> tuple[int, int, float] | None:
        """Requests, bytes and seconds until it had *pairs*; None if it never had."""
        place = next((n for n, found in enumerate(self.pairs) if found >= pairs), None)
        return None if place is None else (place + 1, self.sizes[place], self.seconds[place])


def read_run(folder: Path) -> Run:
    """Read the outputs of a crawl; raises SiteError for a folder without any, ArchiveError for a damaged archive."""
    rows = list(read_tsv(folder / CRAWL))
    if not rows or not (folder / PAIRS).exists():
        raise SiteError(f"{folder} has no {CRAWL} and {PAIRS} of a crawl; give the output folder of a finished crawl")
    partners = defaultdict[str, list[str]](list)
    for pair in read_tsv(folder / PAIRS):
        partners[pair["url_a"]].append(pair["url_b"])
        partners[pair["url_b"]].append(pair["url_a"])
    heads = (head for path in sorted(folder.glob("*.warc.gz")) for _, head in open_warc(path).heads())
    lengths = {head.url: head.length for head in heads if head.status is not None}
    start = datetime.fromisoformat(rows[0]["time"])
    seen, found, size = set[str](), 0, 0
    steps: list[tuple[int, float, int]] = []
    for row in rows:
        url = row["url"]
        if row["status"].startswith("2") and url not in seen:
            seen.add(url)
            found += sum(other in seen for other in partners.get(url, ()))
        size += lengths.pop(url, 0)
        steps.append((found, (datetime.fromisoformat(row["time"]) - start).total_seconds(), size))
    return Run(folder.name, *zip(*steps, strict=True))


def runs_table(runs: Sequence[Run]) -> Table:
    """The table with a line for each of *runs*: pairs by decile, and the cost of shares of the most pairs of a run."""
    most = max(run.pairs[-1] for run in runs)
    table = new_table(
        f"Pairs after each tenth of a crawl's requests, and requests / MB / minutes to {most} pairs",
        ("crawl",),
        ("requests", *(f"{percent} %" for percent in DECILES), *(f"to {share} %" for share in SHARES)),
    )
    for run in runs:
        costs = (run.until(max(1, ceil(most * share / 100))) for share in SHARES)
        table.add_row(
            run.name,
            str(len(run.pairs)),
            *(str(run.decile(percent)) for percent in DECILES),
            *(f"{cost[0]} / {cost[1] / 1e6:.1f} / {cost[2] / 60:.1f}" if cost else "–" for cost in costs),
        )
    return table
