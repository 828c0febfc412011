import copy
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pair_data import WORDS, source_options, tiny_sources
from support.tables import write_table

from bilingual_crawler.scoring.models import ParallelnessModel
from training.common.calibration import fit_calibration
from training.common.data import DataError
from training.common.scores import average_precision, calibration_error
from training.evaluate import main as evaluate
from training.parallelness import evaluation
from training.parallelness.__main__ import main as train
from training.parallelness.evaluation import LabelledPair, read_labelled_pairs, write_labelled_pairs
from training.parallelness.fit import fit
from training.parallelness.recipe import PairRecipe as Recipe
from training.parallelness.sets import main as pair_sets
from training.parallelness.train import prepare

ROOT = Path(__file__).parents[1]
OPTIONS = "--epochs 4 --batch 64 --rate 0.01 --pieces 300 --made-up 5 --word-epochs 1 --folds 1"


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model trained on made-up sites in seconds, by a run that was killed and one that went on; what that said."""
    root = tmp_path_factory.mktemp("training")
    sources = source_options(tiny_sources(root))
    arguments = [*sources, *OPTIONS.split(), "--work", f"{root}/work", "--out", f"{root}/model"]
    command = [sys.executable, "-m", "training.parallelness", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as first:
        assert first.stdout
        for line in first.stdout:
            if line.startswith("fold0: epoch 2"):
                break
        first.kill()
    assert first.returncode == -signal.SIGKILL
    assert not (root / "model").exists()
    said = io.StringIO()
    with redirect_stdout(said):
        train(arguments)
    return root / "model", said.getvalue()


@pytest.fixture(scope="module")
def model(resumed: tuple[Path, str]) -> Path:
    return resumed[0]


@pytest.mark.slow
def test_a_killed_training_goes_on_and_its_model_is_good(resumed: tuple[Path, str], tmp_path: Path) -> None:
    model, said = resumed
    assert "fold0: going on after epoch" in said
    assert "fold0: epoch 1 " not in said
    assert "all: epoch 1 " in said
    assert "translation nearest" not in said
    pair_sets(["negatives", str(model.parent / "pairs.tsv"), "--out", str(tmp_path / "set.tsv")])
    report = scores(tmp_path, model, tmp_path / "set.tsv")
    assert report["positive"]["support"] == 30 * len(WORDS)
    assert report["positive"]["f1"] > 0.9


def positives() -> list[LabelledPair]:
    return [LabelledPair(f"https://n.com/en/{w}", f"https://n.com/fr/{w}", 1, "positive") for w in WORDS]


def scores(folder: Path, model: Path | str, data: Path, *more: str) -> dict[str, Any]:
    """What an evaluation of *model* on the pairs in *data* writes."""
    out = folder / "scores.json"
    assert evaluate(["parallelness", "--model", str(model), "--data", str(data), "--json", str(out), *more]) == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.mark.slow
def test_model_tells_translations_from_other_pages(model: Path) -> None:
    others = ("is/wine/4", "is/wine/5", "en/team/4", "en/wine/4?print=1")
    pairs = [("https://new.com/en/wine/4", f"https://new.com/{other}") for other in others]
    found = ParallelnessModel(model).probabilities(pairs)
    assert found.dtype == np.float32
    assert found[0] > 0.5 > found[1:].max()
    swapped = ParallelnessModel(model).probabilities([(v, u) for u, v in pairs])
    np.testing.assert_allclose(found, swapped, atol=1e-6)
    assert ParallelnessModel(model).probabilities([]).shape == (0,)


def test_a_second_run_numbers_the_pieces_of_words_as_the_first(tmp_path: Path) -> None:
    recipe = Recipe(pieces=300, made_up=5, word_epochs=0)
    sources = tiny_sources(tmp_path, hosts=12)
    first, second = (prepare(sources, recipe, tmp_path / "work").tokenizer.to_str() for _ in range(2))
    assert first == second


def test_a_training_for_other_targets_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Recipe(epochs=1, batch=64, pieces=300, made_up=0, word_epochs=0)
    p = prepare(tiny_sources(tmp_path, hosts=4), recipe, tmp_path / "work")
    chosen = np.flatnonzero(p.weights > 0)
    for targets in (p.labels, p.labels, 1 - p.labels):
        fit(copy.deepcopy(p.start), p.data, targets, p.weights, chosen, recipe, tmp_path / "all.pt")
    said = [line.partition(" ")[2][:8] for line in capsys.readouterr().out.splitlines()[-3:]]
    assert said == ["epoch 1 ", "going on", "epoch 1 "]


def test_a_training_may_take_ten_steps(tmp_path: Path) -> None:
    recipe = Recipe(epochs=10, batch=9999, pieces=300, made_up=0, word_epochs=0)
    p = prepare(tiny_sources(tmp_path, hosts=4), recipe, tmp_path / "work")
    fit(copy.deepcopy(p.start), p.data, p.labels, p.weights, np.flatnonzero(p.weights > 0), recipe)


@pytest.mark.slow
def test_folder_is_small_and_its_card_complete(model: Path) -> None:
    assert sum(file.stat().st_size for file in model.iterdir()) < 5_000_000
    card = (model / "README.md").read_text()
    for text in ("Training data", "WMT16 gold: F1", "links of sites", "sha256", "calibration error"):
        assert text in card


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rules", "yoda", "model"])
def test_evaluation_writes_the_agreed_json(model: Path, tmp_path: Path, name: str) -> None:
    negatives = [LabelledPair(f"https://n.com/en/{w}", "https://n.com/fr/other", 0, "random-bi") for w in WORDS]
    write_labelled_pairs(tmp_path / "data.tsv.gz", positives() + negatives)
    report = scores(tmp_path, model if name == "model" else name, tmp_path / "data.tsv.gz")
    named = "positive negative macro average_precision pairs_per_second kinds languages"
    assert set(report) == set(named.split())
    assert report["kinds"]["random-bi"]["n"] == len(WORDS)
    assert report["positive"]["support"] == len(WORDS)
    assert report["average_precision"] > 0.9


@pytest.mark.slow
def test_evaluation_takes_pairs_for_links_if_asked(model: Path, tmp_path: Path) -> None:
    data, shifted = tmp_path / "data.tsv", tmp_path / "model"
    write_labelled_pairs(data, positives())
    shutil.copytree(model, shifted)
    config = json.loads((model / "config.json").read_text())
    (shifted / "config.json").write_text(json.dumps(config | {"link_shift": -100.0}))
    assert scores(tmp_path, shifted, data)["positive"]["recall"] > 0.5
    assert scores(tmp_path, shifted, data, "--links")["positive"]["recall"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("url_a\turl_b\tlabel\nhttp://a\thttp://b\t2\n", r"bad\.tsv:2: label '2'"),
        ("url_a\turl_b\tlabel\n", r"bad\.tsv: no pair to score"),
        ("url_a\tlabel\nhttp://a\t1\n", "url_b"),
        (None, "no such file"),
    ],
)
def test_bad_data_is_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "bad.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_labelled_pairs(tmp_path / "bad.tsv")


def test_scores_by_hand() -> None:
    kinds = ((1, "p", "eng-isl"), (1, "p", "eng-mlt"), (0, "n", "eng-mlt"), (0, "n", "eng-isl"))
    rows = [LabelledPair(str(number), "b", *kind) for number, kind in enumerate(kinds)]
    result = evaluation.evaluate_parallelness(rows, lambda pairs: np.array([0.9, 0.2, 0.6, 0.1], dtype=np.float32))
    assert result["positive"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}
    assert result["kinds"] == {"n": {"n": 2, "accuracy": 0.5}, "p": {"n": 2, "accuracy": 0.5}}
    assert result["languages"] == {"eng-isl": {"n": 2, "f1": 1.0}, "eng-mlt": {"n": 2, "f1": 0.0}}
    assert result["average_precision"] == pytest.approx((1 + 2 / 3) / 2)


def test_negatives_are_made_and_counted_by_language_pair(tmp_path: Path) -> None:
    """One site in three languages: no negative mixes the pairs."""
    rows = [
        (f"https://n.com/en/{word}", "eng", f"https://n.com/{code}/{word}", language, "gold")
        for word in WORDS
        for code, language in (("is", "isl"), ("mt", "mlt"))
    ]
    pairs = write_table(tmp_path / "pairs.tsv", "url_a lang_a url_b lang_b evidence", rows)
    pair_sets(["negatives", str(pairs), "--out", str(tmp_path / "labelled.tsv")])
    found = read_labelled_pairs(tmp_path / "labelled.tsv")
    for pair, code, other in (("eng-isl", "/is/", "/mt/"), ("eng-mlt", "/mt/", "/is/")):
        own = [row for row in found if row.pair == pair]
        assert sum(row.label for row in own) == len(WORDS)
        assert any(not row.label and code in row.url_b for row in own)
        assert not any(other in row.url_a + row.url_b for row in own)
    assert {row.pair for row in found} == {"eng-isl", "eng-mlt"}


def test_average_precision_does_not_depend_on_the_order_of_ties() -> None:
    scores = np.array([0.5, 0.5, 0.5, 0.1])
    for labels in ([1, 0, 0, 0], [0, 0, 1, 0]):
        assert average_precision(np.array(labels), scores) == pytest.approx(1 / 3)
    assert average_precision(np.array([0, 0, 0, 0]), scores) == 0


def test_calibration_softens_what_is_too_sure() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 4000).astype(np.float32)
    labels = (rng.random(4000) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    temperature, shift = fit_calibration(logits * 3 - 2, labels, np.ones(4000, dtype=np.float32))
    assert temperature == pytest.approx(3, rel=0.15)
    assert shift == pytest.approx(2, abs=0.4)


def test_calibration_error_is_the_gap_between_probability_and_truth() -> None:
    probabilities, labels = np.array([0.9] * 10 + [0.1] * 10), np.array([1] * 7 + [0] * 3 + [0] * 10)
    assert calibration_error(probabilities, labels, np.ones(20)) == pytest.approx((0.2 + 0.1) / 2)
    assert calibration_error(probabilities, labels, np.repeat([0.0, 1.0], 10)) == pytest.approx(0.1)
    scores, right = np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False])
    assert calibration_error(scores, right, bins=10) == pytest.approx((2 * 0.45 + 2 * 0.15) / 4)
    classes = np.tile(np.array([[0.9, 0.1]], dtype=np.float32), (10, 1))
    assert calibration_error(classes, np.array([0] * 9 + [1])) == pytest.approx(0, abs=1e-6)
    assert calibration_error(classes, np.array([0] * 5 + [7] * 5)) == pytest.approx(0.4, abs=1e-6)
