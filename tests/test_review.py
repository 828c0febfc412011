from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pairing.documents import Alignment, Pair
from bilingual_crawler.reporting.review import Review

if TYPE_CHECKING:
    from pathlib import Path

PAIR = LanguagePair.parse("eng-fin")


def alignment(count: int) -> Alignment:
    pairs = tuple(Pair(f"https://a.fi/en/{n}", f"https://a.fi/fi/{n}", 0.9, "url") for n in range(count))
    return Alignment("a.fi", pairs, {"https://a.fi/x": "no_candidate"})


def test_a_sample_is_drawn_evenly_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        review = Review(PAIR, sample=20)
        review.add(alignment(1000), lambda url: [f"text of {url}", "<script>alert(1)</script>"])
        review.write(tmp_path / name)
        assert review.methods == {"url": 1000}
        assert review.unpaired == {"no_candidate": 1}
    sheet = (tmp_path / "one" / "review.tsv").read_text()
    assert sheet == (tmp_path / "two" / "review.tsv").read_text()
    rows = list(csv.DictReader(sheet.splitlines(), delimiter="\t"))
    assert len(rows) == 20
    assert rows[0]["translation"] == ""
    assert max(int(row["url_a"].rsplit("/", 1)[1]) for row in rows) > 500


def test_pairs_are_shown_side_by_side_with_their_text_escaped(tmp_path: Path) -> None:
    review = Review(PAIR)
    review.add(alignment(2), lambda url: [f"text of {url}", "<script>alert(1)</script>"])
    review.write(tmp_path)
    html = (tmp_path / "review.html").read_text()
    assert html.count('class="two"') == 2
    assert "text of https://a.fi/fi/1" in html
    assert "<script>" not in html
    assert "nothing in the other language resembles them" in html
