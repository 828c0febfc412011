from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from training.report import main

MODELS = Path(__file__).parent.parent / "models"


def test_a_report_has_tables_and_figures(tmp_path: Path) -> None:
    languages = tmp_path / "languages.tsv"
    rows = [
        f"https://a{n}.{suffix}/{path}/{n}\t{lang}"
        for n in range(35)
        for suffix, path, lang in (("fi", "tuotteet", "fin"), ("is", "frettir", "isl"), ("com", "news", "eng"))
    ]
    languages.write_text("url\tlang\n" + "\n".join(rows) + "\n")
    pairs = tmp_path / "pairs.tsv"
    rows = [
        f"https://a.{suffix}/en/{n}\thttps://a.{suffix}/{path}/{n}\t{label}\t{kind}\t{languages}"
        for n in range(40)
        for suffix, languages in (("fi", "eng-fin"), ("is", "eng-isl"))
        for path, label, kind in ((suffix, 1, "positive"), (f"{suffix}/x", 0, "child"))
    ]
    pairs.write_text("url_a\turl_b\tlabel\tkind\tpair\n" + "\n".join(rows) + "\n")
    learnt = tmp_path / "learnt.tsv"
    learnt.write_text("url_a\turl_b\tlabel\tkind\tpair\n" + "\n".join(rows[:2]) + "\n")
    out = tmp_path / "out"
    main(
        [
            "--languages",
            str(languages),
            "--training",
            str(languages),
            "--pairs",
            str(pairs),
            "--training-pairs",
            str(learnt),
            "--min-urls",
            "35",
            "--min-domains",
            "35",
            "--out",
            str(out),
            "--language-models",
            str(MODELS / "url-language"),
            "rules",
            "--pair-models",
            str(MODELS / "url-parallelness"),
            "rules",
        ]
    )
    text = (out / "report.md").read_text()
    assert "| rules |" in text
    assert "Table 4" in text
    assert "expected calibration error" in text
    assert "| eng-fin | 1/1 (1) | 40/40 (1) |" in text
    assert "| eng-isl | 0 | 40/40 (1) |" in text
    for name in ("figure2", "figure3", "figure5", "kinds", "calibration"):
        assert f"({name}.png)" in text
        assert (out / f"{name}.png").stat().st_size > 3000


def test_a_model_may_lack_english_and_a_list_be_too_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = tmp_path / "model", tmp_path / "languages.tsv"
    shutil.copytree(MODELS / "url-language", model)
    config = json.loads((model / "config.json").read_text())
    labels = ["xho" if label == "eng" else label for label in config["labels"] if label != "xho"]
    (model / "config.json").write_text(json.dumps(config | {"labels": [*labels, "vol"]}))
    rows = [f"https://a{n}.fi/tuotteet/{n}\tfin" for n in range(35)]
    data.write_text("\n".join(["url\tlang", *rows]) + "\n")
    command = ["--languages", str(data), "--language-models", str(model), "--out", str(tmp_path / "out")]
    main(command)
    assert "taken for English: none" in (tmp_path / "out" / "report.md").read_text()
    for short in (rows[:9], []):
        data.write_text("\n".join(["url\tlang", *short]) + "\n")
        with pytest.raises(SystemExit, match="2"):
            main(command)
        said = capsys.readouterr().err
        assert ("no class has 30 URLs; give a longer list" if short else "no row to score") in said
    data.write_text("\n".join(["url\tlang", *rows]) + "\n")
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--min-domains", "36"])
    assert "no language has 36 domains; give --min-domains 35" in capsys.readouterr().err


def test_nothing_to_report_on_and_missing_data_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path)])
    assert "give --languages, --pairs or both" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--pairs", str(tmp_path / "none.tsv")])
    assert "none.tsv" in capsys.readouterr().err
