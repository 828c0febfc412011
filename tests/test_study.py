from dataclasses import replace
from pathlib import Path

import pytest
from support import tiny_xlmr
from support.pair_data import tiny_sources
from support.refusals import refused

from training.parallelness.sets import main as pair_sets
from training.parallelness.study import COMBINATIONS, FoldResult, main, ranked, read_results
from training.transformer.recipes import RECIPES


def test_there_are_63_combinations() -> None:
    assert len(set(COMBINATIONS)) == 63
    assert {"1", "6", "1+2+3+4+5", "1+2+3+4+5+6"} <= set(COMBINATIONS)


def test_ranking_by_hand() -> None:
    one = [FoldResult("1", "small", 0, 1, 1, 0, 7), FoldResult("1", "small", 1, 0, 0, 1, 0)]
    rows = ranked([*one, FoldResult("2+3", "small", 0, 2, 0, 0, 8)])
    assert [row.combination for row in rows] == ["2+3", "1"]
    assert rows[0].macro == 1
    assert rows[1].positive == pytest.approx(2 / 4)
    assert rows[1].negative == pytest.approx(14 / 16)
    assert rows[1].folds == 2


def options(folder: Path, **chosen: object) -> list[str]:
    """The options of a study of made-up pairs in two folds, with others and those that are *chosen*."""
    pairs, tests = tiny_sources(folder, hosts=8).pairs, folder / "tests.tsv"
    pair_sets(f"negatives {pairs} --combination 1+4 --out {tests}".split())
    given = {"pairs": pairs, "tests": tests, "folds": 2, "results": folder / "results.tsv", **chosen}
    return [text for name, value in given.items() for text in (f"--{name}", str(value))]


def test_study_goes_on_where_it_was_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*options(tmp_path, sample=60, epochs=2), "--combinations"]
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
    ranking = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| 1+4 |", "| 3 |"))]
    macros = [float(line.split("|")[2]) for line in ranking]
    assert len(macros) == 2
    assert macros == sorted(macros, reverse=True)
    said = refused(capsys, main, [*arguments, "1+4", "--folds", "3"])
    assert "results.tsv holds results on other tests or folds" in said
    assert read_results(tmp_path / "results.tsv") == again


@pytest.mark.slow
def test_an_encoder_is_fine_tuned_in_place_of_the_small_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = replace(RECIPES["e5-small"]["parallelness"], rate=3e-3, warmup=10.0, batch=16, max_length=100)
    monkeypatch.setitem(RECIPES["e5-small"], "parallelness", quick)
    base = tiny_xlmr.save(tmp_path / "base", dropout=0.0)
    arguments = options(tmp_path, sample=80, epochs=20)
    encoder = ["--recipe", "e5-small", "--base", str(base), "--combinations", "1+4"]
    main([*arguments, *encoder])
    done = read_results(tmp_path / "results.tsv")
    assert [(result.fold, result.recipe) for result in done] == [(0, "e5-small"), (1, "e5-small")]
    assert ranked(done)[0].macro > 0.65
    mine = tmp_path / "notes.tsv"
    mine.write_text("my\tnotes\n")
    other = ["--results", tmp_path / "other.tsv", *encoder[:3], tmp_path / "none"]
    for more, message in (
        (["--combinations", "1+4"], "results.tsv holds results of the recipe e5-small: give another --results"),
        (["--base", base], "--base needs a --recipe that fine-tunes an encoder"),
        (other, f"error: no tokenizer in '{tmp_path / 'none'}', neither as a folder"),
        (["--results", mine], "notes.tsv holds no results of this study"),
    ):
        assert message in refused(capsys, main, [*arguments, *more])
    assert mine.read_text() == "my\tnotes\n"
