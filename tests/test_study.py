from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch
from support import tiny_xlmr
from support.pair_data import tiny_sources
from transformers import XLMRobertaForSequenceClassification

from training.parallelness.sets import main as pair_sets
from training.parallelness.study import COMBINATIONS, FoldResult, main, ranked, read_results
from training.transformer.recipes import RECIPES

if TYPE_CHECKING:
    from pathlib import Path


def test_there_are_63_combinations() -> None:
    assert len(set(COMBINATIONS)) == 63
    assert {"1", "6", "1+2+3+4+5", "1+2+3+4+5+6"} <= set(COMBINATIONS)


def test_ranking_by_hand() -> None:
    rows = ranked(
        [
            FoldResult("1", "small", 0, 1, 1, 0, 7),
            FoldResult("1", "small", 1, 0, 0, 1, 0),
            FoldResult("2+3", "small", 0, 2, 0, 0, 8),
        ],
    )
    assert [row.combination for row in rows] == ["2+3", "1"]
    assert rows[0].macro == 1
    assert rows[1].positive == pytest.approx(2 / 4)
    assert rows[1].negative == pytest.approx(14 / 16)
    assert rows[1].folds == 2


def test_study_goes_on_where_it_was_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tiny_sources(tmp_path, hosts=8)
    pair_sets(["negatives", str(sources.pairs), "--combination", "1+4", "--out", str(tmp_path / "tests.tsv")])
    arguments = ["--pairs", str(sources.pairs), "--tests", str(tmp_path / "tests.tsv"), "--folds", "2"]
    arguments += ["--results", str(tmp_path / "results.tsv"), "--sample", "60", "--epochs", "2", "--combinations"]
    main([*arguments, "1+4"])
    once = read_results(tmp_path / "results.tsv")
    assert [(result.combination, result.fold) for result in once] == [("1+4", 0), ("1+4", 1)]

    lines = (tmp_path / "results.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "results.tsv").write_text("".join(lines[:-1]) + lines[-1][:5])
    capsys.readouterr()
    main([*arguments, "1+4", "3"])
    again = read_results(tmp_path / "results.tsv")
    assert {(result.combination, result.fold) for result in again} == {("1+4", 0), ("1+4", 1), ("3", 0), ("3", 1)}
    assert again[:2] == once
    printed = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| 1+4 |") or line.startswith("| 3 |") for line in printed) == 2
    with pytest.raises(SystemExit, match="2"):
        main([*arguments[:5], "3", *arguments[6:], "1+4"])
    assert "results.tsv holds results on other tests or folds" in capsys.readouterr().err
    assert read_results(tmp_path / "results.tsv") == again
    macros = [float(line.split("|")[2]) for line in printed if line.startswith(("| 1+4", "| 3"))]
    assert macros == sorted(macros, reverse=True)


@pytest.mark.slow
def test_an_encoder_is_fine_tuned_in_place_of_the_small_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = replace(RECIPES["e5-small"]["parallelness"], rate=3e-3, warmup=10.0, batch=16, max_length=100)
    monkeypatch.setitem(RECIPES["e5-small"], "parallelness", quick)
    torch.manual_seed(1)
    base = tmp_path / "base"
    XLMRobertaForSequenceClassification(
        tiny_xlmr.config(
            max_position_embeddings=130,
            num_hidden_layers=2,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    ).save_pretrained(base)
    tiny_xlmr.tokenizer().save_pretrained(base)
    sources = tiny_sources(tmp_path, hosts=8)
    pair_sets(["negatives", str(sources.pairs), "--combination", "1+4", "--out", str(tmp_path / "tests.tsv")])
    arguments = ["--pairs", str(sources.pairs), "--tests", str(tmp_path / "tests.tsv"), "--folds", "2"]
    arguments += ["--results", str(tmp_path / "results.tsv"), "--sample", "80", "--epochs", "20"]
    encoder = ["--recipe", "e5-small", "--base", str(base), "--combinations", "1+4"]
    main([*arguments, *encoder])
    done = read_results(tmp_path / "results.tsv")
    assert [(result.fold, result.recipe) for result in done] == [(0, "e5-small"), (1, "e5-small")]
    assert ranked(done)[0].macro > 0.65
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--combinations", "1+4"])
    assert "results.tsv holds results of the recipe e5-small: give another --results" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--base", str(base)])
    assert "--base needs a --recipe that fine-tunes an encoder" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments[:7], str(tmp_path / "other.tsv"), *arguments[8:], *encoder[:3], str(tmp_path / "none")])
    assert f"error: no tokenizer in '{tmp_path / 'none'}', neither as a folder" in capsys.readouterr().err
    mine = tmp_path / "notes.tsv"
    mine.write_text("my\tnotes\n")
    with pytest.raises(SystemExit, match="2"):
        main([*arguments[:7], str(mine), *arguments[8:]])
    assert "notes.tsv holds no results of this study" in capsys.readouterr().err
    assert mine.read_text() == "my\tnotes\n"
