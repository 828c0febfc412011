from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from support.pair_data import tiny_sources

from training import distil
from training.common.data import DataError
from training.common.soft_labels import Lesson, SoftLabels, softened

MODELS = Path(__file__).parents[1] / "models"
NAMES = ("eng", "mlt", "isl")


def about_urls(path: Path) -> SoftLabels:
    """What a teacher of three labels said about two URLs, through a file."""
    said: dict[tuple[str, ...], list[float]] = {
        ("https://a.com/",): [0.7, 0.2, 0.1],
        ("https://b.com/",): [0.0, 0.25, 0.75],
    }
    SoftLabels.of(NAMES, [*said, *said], lambda urls: np.array([said[url] for url in urls], np.float32)).save(path)
    return SoftLabels.load(path)


def test_targets_are_a_mixture_of_label_and_teacher(tmp_path: Path) -> None:
    soft = about_urls(tmp_path / "soft.npz")
    assert len(soft.keys) == 2
    urls = ["https://b.com/", "https://new.com/", "https://a.com/"]
    lesson = Lesson(soft, urls, np.array([1, 1, 0]), ("isl", "mlt"), 0.5)
    expected = torch.tensor([[0.375, 0.625], [0.0, 1.0], [1 / 6 + 0.5, 1 / 3]])  # eng is no label of the student
    assert torch.allclose(lesson.targets(np.array([0, 1, 2])), expected, atol=1e-3)
    assert torch.allclose(lesson.targets(np.array([2])), expected[2:], atol=1e-3)
    assert "2 examples" in str(lesson)


def test_pairs_are_the_same_in_both_orders() -> None:
    soft = SoftLabels.of(
        ("parallel",), [("u", "v"), ("v", "u")], lambda pairs: np.full((len(pairs), 1), 0.8, np.float32)
    )
    labels = np.array([0.0, 1.0], np.float32)
    assert softened(soft, [("v", "u"), ("u", "w")], labels, 0.25) == pytest.approx([0.2, 1.0], abs=1e-3)


def test_other_files_are_refused(tmp_path: Path) -> None:
    about_urls(tmp_path / "whole.npz")
    for content in (b"no", b"", (tmp_path / "whole.npz").read_bytes()[:300]):
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"x\.npz"):
            SoftLabels.load(tmp_path / "x.npz")


def test_what_was_killed_while_it_wrote_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", killed)
    with pytest.raises(KeyboardInterrupt):
        about_urls(tmp_path / "x.npz")
    assert not (tmp_path / "x.npz").exists()


def url_list(path: Path) -> Path:
    words = {"eng": "news", "mlt": "ahbar"}
    rows = [f"https://{lang}{i % 40}.com/{word}/{i}\t{lang}" for lang, word in words.items() for i in range(200)]
    path.write_text("\n".join(["url\tlang", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_language_student_learns_from_a_teacher(tmp_path: Path) -> None:
    tiny = "--epochs 1 --epoch-size 640 --batch 64 --held-out .3 --rows 1009 --word-rows 503 --columns 8 --width 16"
    command = ["language", "--teacher", f"{MODELS}/url-language", "--scores", f"{tmp_path}/soft.npz", *tiny.split()]
    distil.main([*command, "--data", str(url_list(tmp_path / "urls.tsv")), "--out", str(tmp_path / "student")])
    assert "a teacher's probabilities for 400 examples" in (tmp_path / "student" / "README.md").read_text()
    assert "eng" in SoftLabels.load(tmp_path / "soft.npz").labels


@pytest.mark.slow
def test_a_pair_student_learns_from_a_teacher(tmp_path: Path) -> None:
    sources = tiny_sources(tmp_path)
    given = {name: getattr(sources, name) for name in ("pairs", "sites", "urls", "lexicon")}
    files = [text for name, path in given.items() if path for text in (f"--{name}", str(path))]
    tiny = "--epochs 1 --batch 64 --pieces 300 --made-up 5 --word-epochs 1 --folds 1"
    command = ["parallelness", "--teacher", f"{MODELS}/url-parallelness", "--scores", f"{tmp_path}/soft.npz"]
    distil.main([*command, *tiny.split(), *files, "--work", f"{tmp_path}/work", "--out", f"{tmp_path}/student"])
    soft = SoftLabels.load(tmp_path / "soft.npz")
    assert soft.probabilities.shape == (len(soft.keys), 1)
    assert 0 < soft.probabilities.mean() < 1
    assert (tmp_path / "student" / "model.onnx").exists()
