from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.pair_data import WORDS, tiny_sources

from training.evaluate import main as evaluate
from training.parallelness.__main__ import main as train
from training.parallelness.sets import main as pair_sets

ROOT = Path(__file__).parent.parent
OPTIONS = [
    "--epochs",
    "4",
    "--batch",
    "64",
    "--rate",
    "0.01",
    "--pieces",
    "300",
    "--made-up",
    "2",
    "--word-epochs",
    "1",
    "--folds",
    "1",
]


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Those of a training of a few seconds."""
    sources = tiny_sources(tmp_path, hosts=12)
    places = {"pairs": sources.pairs, "sites": sources.sites, "lexicon": sources.lexicon}
    places |= {"work": tmp_path / "work", "out": tmp_path / "model"}
    named = [text for name, place in places.items() for text in (f"--{name}", str(place))]
    return [*named, *OPTIONS]


@pytest.mark.slow
def test_a_killed_training_goes_on_and_its_model_is_good(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "training.parallelness", *arguments]
    first = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert first.stdout is not None
    for line in first.stdout:
        if line.startswith("fold0: epoch 2"):
            break
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not (tmp_path / "model").exists()

    train(arguments)
    said = capsys.readouterr().out
    assert "fold0: going on after epoch" in said
    assert "fold0: epoch 1 " not in said
    assert "all: epoch 1 " in said
    assert "translation nearest" not in said

    pair_sets(["negatives", str(tmp_path / "pairs.tsv"), "--out", str(tmp_path / "set.tsv")])
    place = ["--model", str(tmp_path / "model"), "--data", str(tmp_path / "set.tsv"), "--json", str(tmp_path / "found")]
    assert evaluate(["parallelness", *place]) == 0
    report = json.loads((tmp_path / "found").read_text())
    assert report["positive"]["support"] == 12 * len(WORDS)
    assert report["positive"]["f1"] > 0.9
