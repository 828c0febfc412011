"""The measure of main-content extraction."""

from __future__ import annotations

import json
import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from benchmarks import own_text
from benchmarks.own_text import Score

if TYPE_CHECKING:
    from pathlib import Path

TRUTH = [
    "Care of bees",
    "Bees fly out above the hedge in front of the hive.",
    "They come back before it rains, or never.",
]


def score(*lines: str) -> dict[str, float]:
    counted = Score(seconds=[0.001])
    counted.add(lines, TRUTH, {"Gardennotes"})
    return counted.shares()


def test_the_truth_is_all_right() -> None:
    assert set(score(*TRUTH).values()) == {1.0}


@pytest.mark.parametrize(
    "lines",
    [
        ("- Care of bees", *TRUTH[1:]),
        (" ".join(TRUTH[:2]), TRUTH[2]),
        (
            "Care of bees",
            "Bees fly out above the hedge in",
            "front of the hive. They come back before it rains, or never.",
        ),
        ("Garden notes", *TRUTH),
    ],
    ids=["bullet", "joined lines", "other breaks", "title"],
)
def test_form_counts_for_nothing(lines: tuple[str, ...]) -> None:
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
    site.mkdir()
    body = "".join(f"<p>{line}</p>" for line in TRUTH)
    page = f"<html lang=en><nav>Menu</nav><main><article><h1>Bees</h1>{body}</article></main><div>Ads</div></html>"
    with (site / "crawl.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", BytesIO(page.encode()), http_headers=headers))
    (site / "pages.tsv").write_text(f"url\tpage\tlanguage\tkind\n{url}\tbees\teng\tdoc\n")
    monkeypatch.setattr(sys, "argv", ["own_text", str(tmp_path), "--json", str(out), "--show", "3"])
    own_text.main()
    figures = json.loads(out.read_text())
    assert figures["pages"]["hugo"]["bilingual_crawler"]["line recall"] == 1
    assert figures["languages"]["hugo"]["right"] == {"doc": 1}
    assert "hugo" in capsys.readouterr().out
