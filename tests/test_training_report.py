import json
import shutil
from pathlib import Path

import pytest
from support.refusals import refused
from support.tables import write_table

from training.report import main

MODELS = Path(__file__).parent.parent / "models"


def test_a_report_has_tables_and_figures(tmp_path: Path) -> None:
    urls = [
        f"https://a{n}.{suffix}/{path}/{n}\t{lang}"
        for n in range(35)
        for suffix, path, lang in (("fi", "tuotteet", "fin"), ("is", "frettir", "isl"), ("com", "news", "eng"))
    ]
    languages = write_table(tmp_path / "languages.tsv", "url lang", urls)
    rows = [
        f"https://a.{suffix}/en/{n}\thttps://a.{suffix}/{path}/{n}\t{label}\t{kind}\t{pair}"
        for n in range(40)
        for suffix, pair in (("fi", "eng-fin"), ("is", "eng-isl"))
        for path, label, kind in ((suffix, 1, "positive"), (f"{suffix}/x", 0, "child"))
    ]
    pairs = write_table(tmp_path / "pairs.tsv", "url_a url_b label kind pair", rows)
    learnt = write_table(tmp_path / "learnt.tsv", "url_a url_b label kind pair", rows[:2])
    out = tmp_path / "out"
    lists = f"--languages {languages} --training {languages} --pairs {pairs} --training-pairs {learnt} --out {out}"
    models = f"--language-models {MODELS}/url-language rules --pair-models {MODELS}/url-parallelness rules"
    main(f"{lists} {models} --min-urls 35 --min-domains 35".split())
    text = (out / "report.md").read_text()
    pairs_found = ("| eng-fin | 1/1 (1) | 40/40 (1) |", "| eng-isl | 0 | 40/40 (1) |")
    for part in ("| rules |", "Table 4", "expected calibration error", *pairs_found):
        assert part in text
    for name in ("figure2", "figure3", "figure5", "kinds", "calibration"):
        assert f"({name}.png)" in text
        assert (out / f"{name}.png").stat().st_size > 3000


def test_a_model_may_lack_english_and_a_list_be_too_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    shutil.copytree(MODELS / "url-language", model)
    config = json.loads((model / "config.json").read_text())
    labels = ["xho" if label == "eng" else label for label in config["labels"] if label != "xho"]
    (model / "config.json").write_text(json.dumps(config | {"labels": [*labels, "vol"]}))
    rows = [f"https://a{n}.fi/tuotteet/{n}\tfin" for n in range(35)]
    for count, more, message in (
        (9, [], "no class has 30 URLs; give a longer list"),
        (0, [], "no row to score"),
        (35, ["--min-domains", "36"], "no language has 36 domains; give --min-domains 35"),
    ):
        data = write_table(tmp_path / "languages.tsv", "url lang", rows[:count])
        command = ["--languages", str(data), "--language-models", str(model), "--out", str(tmp_path / "out")]
        assert message in refused(capsys, main, [*command, *more])
    main(command)
    assert "taken for English: none" in (tmp_path / "out" / "report.md").read_text()


def test_nothing_to_report_on_and_missing_data_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "give --languages, --pairs or both" in refused(capsys, main, f"--out {tmp_path}")
    assert "none.tsv" in refused(capsys, main, f"--out {tmp_path} --pairs {tmp_path}/none.tsv")
