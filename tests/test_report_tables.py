"""The tables of figures: pages have what the data say, and a command measures a run again."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from benchmarks import report

ROWS = [{"name": "a", "auc": 0.5, "n": 1234}, {"name": "b", "auc": 1.0, "n": None}, {"name": "c", "auc": 0.1, "n": 1}]

FIGURE = re.compile(r"[*]*[\d.,]+[*]*( %)?( ± [\d.]+)?( \(.+\))?( \|)?")
NESTED: dict[str, dict[str, Any]] = {
    "a": {"all sites": {"worst decile": 0.07}, "gold": {"pairs": 12}},
    "b": {"gold": None},
}
JOINT = [
    {"budget": "even", "pair": "deu-eng", "shares": [0.0, 0.5]},
    {"budget": "best", "pair": "deu-eng", "shares": [0.0, 1.0]},
    {"budget": "even", "pair": "eng-spa", "shares": [0.0, 0.25]},
]
EVEN = {"name": "even", "by_pair": {"deu-eng": 0.5, "eng-spa": 0.25}, "means": {"after_0": 0.0, "after_1": 0.375}}
BEST = {"name": "best", "by_pair": {"deu-eng": 1.0}, "means": {"after_0": 0.0, "after_1": 1.0}}


def run(command: str, **more: Any) -> dict[str, Any]:
    old = {"commit": "0000000", "date": "2000-01-01", "machine": "none", "rows": [{"name": "a", "auc": 0.25, "n": 3}]}
    return {"name": "one", "command": command, **old, **more}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "README.md").write_text("Before\n\n<!-- table: t -->\nold\n<!-- end -->\n\nAfter\n")
    folder = tmp_path / "docs" / "data"
    folder.mkdir(parents=True)
    monkeypatch.setattr(report, "DATA", folder)
    monkeypatch.setattr(report, "pages", lambda: [tmp_path / "README.md"])
    return folder


def write(data: Path, *runs: dict[str, Any], more: Mapping[str, str] = MappingProxyType({})) -> None:
    columns = {"policy": "name", "mean": "auc", "pages": "n", "share": "{auc:.3f} or {auc:.0%}", **more}
    (data / "t.json").write_text(json.dumps({"columns": columns, "runs": runs}))


@pytest.mark.parametrize("page", report.pages(), ids=lambda page: page.stem)
def test_pages_have_the_tables_of_the_data_and_no_table_of_figures_is_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == text.count("<!-- end -->") == len(re.findall(r"<!-- table: .+? -->\n", text))
    assert report.render(text) == text, "run python -m benchmarks.report"
    rest = re.sub(r"<!-- table: .*?<!-- end -->", "", text, flags=re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n){3,}", rest, re.MULTILINE):
        cells = [cell for line in table.splitlines()[2:] for cell in line.split(" | ")[1:]]
        figures = [cell for cell in cells if FIGURE.fullmatch(cell)]
        assert 2 * len(figures) <= len(cells), f"give its figures to docs/data:\n{table}"


@pytest.mark.parametrize("name", report.table_names())
def test_figures_say_where_they_come_from(name: str) -> None:
    table = report.read_table(name)
    assert any(f"<!-- table: {name}" in page.read_text(encoding="utf-8") for page in report.pages())
    for one in table["runs"]:
        assert re.fullmatch(r"[0-9a-f]{7,}\+?", one["commit"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"])
        assert "OUT" in one["command"]
        assert one["machine"]
        assert one["rows"]
    assert len({one["name"] for one in table["runs"]}) == len(table["runs"])


def test_a_command_measures_a_run_again_and_the_page_has_it(data: Path) -> None:
    lines = json.dumps(json.dumps([row | {"more": 1} for row in ROWS]))
    write(data, run(f"echo figures > OUT && echo {lines} >> OUT", keys={"b": "`b`", "a": "`a`"}))
    report.main(["t.one"])
    (measured,) = report.read_table("t")["runs"]
    assert measured["rows"] == [ROWS[1], ROWS[0]], "without the field that no column has"
    assert measured["commit"] != "0000000"
    assert measured["date"] > "2000-01-01"
    page = (data.parents[1] / "README.md").read_text()
    assert page.startswith("Before\n\n<!-- table: t -->\n\n| policy | mean | pages | share |\n|---|---:|---:|---:|\n")
    rows = "| `b` | 1.000 | – | 1.000 or 100 % |\n| `a` | .500 | 1,234 | .500 or 50 % |\n"
    assert f"\n{rows}\n[Measured](data/t.json) at `" in page
    assert page.endswith(").\n\n<!-- end -->\n\nAfter\n")


def test_what_a_command_has_written_can_be_read(data: Path, tmp_path: Path) -> None:
    write(data, run("false OUT", labels={"name": "all"}), run("true OUT", name="two"))
    (tmp_path / "out").write_text(json.dumps({"auc": 0.75}))
    report.main(["t.one", "--read", str(tmp_path / "out")])
    assert "\n| all | .750 | – | .750 or 75 % |\n| a | .250 | 3 |" in (tmp_path / "README.md").read_text()


def test_fields_of_fields_and_what_a_row_lacks(data: Path) -> None:
    nested = {"recall": "{all sites[worst decile]:.2f}", "gold": "gold.pairs"}
    write(data, run(f"echo '{json.dumps(NESTED)}' > OUT"), more=nested)
    report.main(["t.one"])
    assert report.read_table("t")["runs"][0]["rows"] == [{"name": name} | row for name, row in NESTED.items()]
    page = (data.parents[1] / "README.md").read_text()
    assert "\n| a | – | – | – | .07 | 12 |\n| b | – | – | – | – | – |\n" in page


def test_crawls_of_many_sites_as_one(tmp_path: Path) -> None:
    (tmp_path / "together.json").write_text(json.dumps(JOINT))
    assert list(report.read_rows(tmp_path)) == [EVEN, BEST]


def test_some_columns_without_the_measurement(data: Path) -> None:
    write(data, run("true OUT"))
    begin, end = "<!-- table: t: policy | pages -->\n", "<!-- end -->"
    assert report.render(begin + end) == f"{begin}\n| policy | pages |\n|---|---:|\n| a | 3 |\n\n{end}"


def test_what_cannot_be_measured_changes_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, command, message in (
        (["x"], "true OUT", "no table x; there are t"),
        (["t.x"], "true OUT", "t.x: choose among t.one, t.two"),
        (["t", "--read", "out"], "true OUT", "t: --read is for one run; choose among t.one, t.two"),
        (["t.one"], "echo '{}' > OUT", "one: its command gives no a"),
        (["t.one"], "false OUT", "returned non-zero exit status 1"),
    ):
        write(data, run(command, keys={"a": "a"}), run("true OUT", name="two"))
        before = (data / "t.json").read_bytes()
        with pytest.raises(SystemExit):
            report.main(given)
        assert message in capsys.readouterr().err
        assert (data / "t.json").read_bytes() == before
