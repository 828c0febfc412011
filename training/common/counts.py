"""How many pairs or URLs, of how many domains, by language and split: Table 2 of the paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 20
SPLITS = ("train", "dev", "test")
ALL = "all"
"""The split of rows that are not split."""
Key = tuple[str, str]
"""Languages and split."""


def pair_name(lang_a: str, lang_b: str) -> str:
    """The name of two languages in either order, English first: ``eng-isl``."""
    return "-".join(sorted((lang_a, lang_b), key=lambda lang: (lang != "eng", lang)))


class Counts:
    """Rows (positives and negatives) and domains by languages and split."""

    def __init__(self) -> None:
        self._rows: dict[Key, Counter[bool]] = defaultdict(Counter)
        self._domains: dict[Key, set[str]] = defaultdict(set)

    def add(self, languages: str, split: str, label: str, domain: str) -> None:
        """Count one row."""
        self._rows[languages, split][label == "1"] += 1
        self._domains[languages, split].add(domain)

    def positives(self, split: str) -> int:
        """Positives of all languages in a split."""
        return sum(rows[True] for (_, name), rows in self._rows.items() if name == split)

    def rows(self) -> list[tuple[str, str, int, int, int]]:
        """Languages, split, positives, negatives, domains; languages with most rows first, then train, dev, test."""
        totals: Counter[str] = Counter()
        for (languages, _), rows in self._rows.items():
            totals[languages] += rows.total()
        order = sorted(self._rows, key=lambda key: (-totals[key[0]], key[0], (*SPLITS, key[1]).index(key[1])))
        return [(*key, self._rows[key][True], self._rows[key][False], len(self._domains[key])) for key in order]

    def table(self, splits: Sequence[str]) -> Table:
        """One line for each of the most frequent languages: positives, "/" and negatives if any, and domains."""
        table = Table("", *(f"{split} (domains)" for split in splits))
        cells: dict[str, dict[str, str]] = defaultdict(dict)
        sums, domains = defaultdict[str, Counter[bool]](Counter), defaultdict[str, set[str]](set)
        for (languages, split), rows in self._rows.items():
            sums[split] += rows
            domains[split] |= self._domains[languages, split]
        for languages, split, *numbers in self.rows():
            cells[languages][split] = cell(*numbers)
        for languages, of_split in list(cells.items())[:SHOWN]:
            table.add_row(languages, *(of_split.get(split, "0") for split in splits))
        table.add_section()
        table.add_row(f"all {len(cells):,}", *(cell(sums[s][True], sums[s][False], len(domains[s])) for s in splits))
        return table


def cell(positives: int, negatives: int, domains: int) -> str:
    """How a table shows the numbers of one line of :meth:`Counts.rows`."""
    return f"{positives:,}{f'/{negatives:,}' if negatives else ''} ({domains:,})"
