"""A sample of document pairs for a human check: ``review.html`` shows them, ``review.tsv`` is the sheet to fill in."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.documents import REASONS
from bilingual_crawler.records import tsv_line
from bilingual_crawler.reporting.markup import write_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Alignment, Pair

SAMPLE = 100
LINES = 60
"""Lines of a document that are shown."""
COLUMNS = ("number", "url_a", "url_b", "score", "method", "translation", "remark")


class Review:
    """Counts the results of an alignment and draws a uniform sample of its pairs, the same for the same pairs."""

    def __init__(self, pair: LanguagePair, sample: int = SAMPLE) -> None:
        self._pair = pair
        self._size = sample
        self._random = random.Random(0)
        self._sample: list[tuple[Pair, tuple[list[str], list[str]]]] = []
        self.methods: Counter[str] = Counter()
        """Pairs by method."""
        self.unpaired: Counter[str] = Counter()
        """Documents without a partner by reason."""

    def add(self, alignment: Alignment, text: Callable[[str], list[str]]) -> None:
        """Add the pairs of one registered domain. *text* gives the lines of a document by its URL."""
        self.unpaired.update(alignment.unpaired.values())
        for pair in alignment.pairs:
            self.methods[pair.method] += 1
            place = self._random.randrange(self.methods.total())
            if len(self._sample) < self._size:
                place = len(self._sample)
            if place < self._size:
                self._sample[place : place + 1] = [(pair, (text(pair.url_a)[:LINES], text(pair.url_b)[:LINES]))]

    def write(self, directory: Path) -> None:
        """Write both files."""
        directory.mkdir(parents=True, exist_ok=True)
        rows = [(n, p.url_a, p.url_b, p.score, p.method, "", "") for n, (p, _) in enumerate(self._sample, 1)]
        sheet = "".join(map(tsv_line, (COLUMNS, *rows)))
        (directory / "review.tsv").write_text(sheet, encoding="utf-8", errors="replace")
        write_page(
            directory / "review.html",
            "review.html",
            languages=self._pair,
            methods=self.methods,
            unpaired=[(REASONS.get(reason, reason), count) for reason, count in self.unpaired.most_common()],
            sample=self._sample,
        )
