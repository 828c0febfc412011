"""A sample of document pairs for a human check: side by side in ``review.html``, and a sheet to fill, ``review.tsv``."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.languages import language_name, to_bcp47
from bilingual_crawler.pairing.documents import REASONS
from bilingual_crawler.records import tsv_line
from bilingual_crawler.reporting.html import POLICY
from bilingual_crawler.reporting.markup import escape, link, note, section, table
from bilingual_crawler.reporting.style import CSS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Alignment, Pair

SAMPLE = 100
LINES = 60
"""Lines of a document that are shown."""
COLUMNS = ("number", "url_a", "url_b", "score", "method", "translation", "remark")
STYLE = ".two{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.two p{margin:.2rem 0;overflow-wrap:anywhere}"


class Review:
    """Counts what alignment did and draws a uniform sample of its pairs; the same pairs give the same sample."""

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
        """Take in the pairs of one registered domain; *text* gives the lines of a document by its URL."""
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
        shown = "".join(self._side_by_side(n, *drawn) for n, drawn in enumerate(self._sample, 1))
        html = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            f"<title>Document pairs to check</title><style>{CSS}{STYLE}</style></head><body><main>"
            f"<h1>Document pairs to check</h1>{self._counts()}{shown}</main></body></html>\n"
        )
        (directory / "review.html").write_text(html, encoding="utf-8", errors="replace")

    def _counts(self) -> str:
        return (
            section("Pairs by method", table(("method", "pairs"), list(self.methods.most_common())))
            + section(
                "Documents without a partner",
                table(
                    ("why", "documents"),
                    [(REASONS.get(reason, reason), count) for reason, count in self.unpaired.most_common()],
                ),
            )
            + note(
                f"{len(self._sample)} of {self.methods.total()} pairs, drawn at random. For the precision, write 1"
                " (translations) or 0 into the column translation of review.tsv."
            )
        )

    def _side_by_side(self, number: int, pair: Pair, texts: tuple[list[str], list[str]]) -> str:
        columns = "".join(
            f'<div lang="{to_bcp47(language)}"><p class="soft">{escape(language_name(language))} · {link(url)}</p>'
            + "".join(f'<p dir="auto">{escape(line)}</p>' for line in lines)
            + "</div>"
            for url, language, lines in zip((pair.url_a, pair.url_b), (self._pair.a, self._pair.b), texts, strict=True)
        )
        return section(f"{number}. {pair.method}, {pair.score:.2f}", f'<div class="two">{columns}</div>')
