"""The measure of main-content extraction."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.archives import write_warc
from support.tables import write_table

from benchmarks import own_text
from benchmarks.own_text import Score

TRUTH = (
    "Care of bees",
    "Bees fly out above the hedge in front of the hive.",
    "They come back before it rains, or never.",
)


def score(*lines: str) -> dict[str, float]:
    counted = Score(seconds=[0.001])
    counted.add(lines, TRUTH, {"Gardennotes"})
    return counted.shares()


@pytest.mark.parametrize(
    "lines",
    [
        TRUTH,
        ("- Care of bees", *TRUTH[1:]),
        (" ".join(TRUTH[:2]), TRUTH[2]),
        (TRUTH[0], TRUTH[1][:31], f"{TRUTH[1][32:]} {TRUTH[2]}"),
        ("Garden notes", *TRUTH),
    ],
    ids=["the truth", "bullet", "joined lines", "other breaks", "title"],
)
def test_form_counts_for_nothing(lines: Sequence[str]) -> None:
    assert set(score(*lines).values()) == {1.0}


def test_a_heading_that_the_menu_repeats_is_right_once() -> None:
    shares = score("Care of bees", *TRUTH)
    assert shares["line precision"] == 3 / 4
    assert shares["line recall"] == 1


def test_short_lines_are_not_sought_in_others() -> None:
    shares = score("hive", TRUTH[0])
    assert shares["line precision"] == 1 / 2
    assert shares["line recall"] == 1 / 3
    assert shares["character recall"] < 1 / 3


def test_a_site_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site, url, out = tmp_path / "hugo", "http://example.org/en/bees/", tmp_path / "figures.json"
    body = "".join(f"<p>{line}</p>" for line in TRUTH)
    page = f"<html lang=en><nav>Menu</nav><main><article><h1>Bees</h1>{body}</article></main><div>Ads</div></html>"
    headers = [(b"Content-Type", b"text/html; charset=utf-8")]
    write_warc(site, {"url": url, "body": page.encode(), "headers": headers}).rename(site / "crawl.warc.gz")
    write_table(site / "pages.tsv", "url page language kind", [f"{url}\tbees\teng\tdoc"])
    monkeypatch.setattr(sys, "argv", ["own_text", str(tmp_path), "--json", str(out), "--show", "3"])
    own_text.main()
    figures = json.loads(out.read_text())
    assert figures["pages"]["hugo"]["bilingual_crawler"]["line recall"] == 1
    assert figures["languages"]["hugo"]["right"] == {"doc": 1}
    assert "hugo" in capsys.readouterr().out
