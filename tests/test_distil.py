from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from support import tiny_xlmr
from support.pair_data import source_options, tiny_sources
from support.refusals import refused
from support.tables import write_table
from transformers import PreTrainedModel

from training import distil
from training.common.data import DataError, read_tsv
from training.common.soft_labels import Key, Lesson, SoftLabels, out_of_fold
from training.language.encoding import url_without_host
from training.transformer import out_of_fold as transformers_out_of_fold
from training.transformer.base import load_model
from training.transformer.out_of_fold import Lessons, fine_tuned
from training.transformer.recipes import TEACHERS, FineTuningRecipe

if TYPE_CHECKING:
    from training.common.soft_labels import Teacher

MODELS = Path(__file__).parents[1] / "models"
NAMES = ("eng", "mlt", "isl")
A, B, NEW = "https://a.com/", "https://b.com/", "https://new.com/"


def about_urls(path: Path) -> SoftLabels:
    """What a teacher of three labels said about two URLs, through a file."""
    said: dict[tuple[str, ...], list[float]] = {(A,): [0.7, 0.2, 0.1], (B,): [0.0, 0.25, 0.75]}
    SoftLabels.of(NAMES, [*said, *said], lambda urls: np.array([said[url] for url in urls], np.float32)).save(path)
    return SoftLabels.load(path)


def always(value: float, width: int = 1) -> Teacher:
    """A teacher that says the same of every text, for *width* labels."""
    return lambda texts: np.full((len(texts), width), value, np.float32)


def test_targets_are_a_mixture_of_label_and_teacher(tmp_path: Path) -> None:
    soft = about_urls(tmp_path / "soft.npz")
    assert len(soft.keys) == 2
    given = ([B, NEW, A], np.array([1, 1, 0]), ("isl", "mlt"), 0.5)
    lesson = Lesson([soft], *given)
    expected = torch.tensor([[0.375, 0.625], [0.0, 1.0], [1 / 6 + 0.5, 1 / 3]])  # eng is no label of the student
    assert torch.allclose(lesson.targets(np.array([0, 1, 2])), expected, atol=1e-3)
    assert torch.allclose(lesson.targets(np.array([2])), expected[2:], atol=1e-3)
    assert "2 examples" in str(lesson)
    both = Lesson([soft, SoftLabels.of(("mlt",), [(A,), (NEW,)], always(1))], *given)
    expected = torch.tensor([[0.375, 0.625], [0.0, 1.0], [0.5 + 0.05 / 1.3, 0.6 / 1.3]])
    assert torch.allclose(both.targets(np.array([0, 1, 2])), expected, atol=1e-3)


def test_pairs_are_the_same_in_both_orders() -> None:
    soft = SoftLabels.of(("parallel",), [("u", "v"), ("v", "u")], always(0.8))
    assert soft.probability([("v", "u"), ("u", "w")]) == pytest.approx([0.8, np.nan], abs=1e-3, nan_ok=True)


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
    return write_table(path, "url lang", rows)


def test_a_text_is_answered_by_the_teacher_of_its_fold() -> None:
    keys = [("a",), ("b",), ("c",), ("d",)]
    answer = out_of_fold([always(n, width=2) for n in range(3)], dict(zip(keys, (2, 0, 2, 1), strict=True)))
    assert answer(keys)[:, 0].tolist() == [2, 0, 2, 1]
    assert answer([("d",), ("b",)])[:, 1].tolist() == [1, 0]


def test_a_host_is_hidden_with_or_without_its_suffix() -> None:
    assert url_without_host("https://www.a.com.mt/news/x", suffix_too=False) == ".mt/news/x"
    assert url_without_host("https://www.a.com.mt/news/x", suffix_too=True) == "/news/x"
    assert url_without_host("https://www.a.com.mt/", suffix_too=True) == "https://www.a.com.mt/"


def test_a_hidden_host_does_not_hide_the_path_before_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Lessons] = []

    def teacher(lessons: Lessons, *_: object) -> Teacher:
        given.append(lessons)
        return always(1, width=2)

    monkeypatch.setattr(distil, "fine_tuned", teacher)
    distil.language_labels("e5-small", ["--data", str(url_list(tmp_path / "urls.tsv"))], tmp_path)
    keys = [("https://a.mt/ahbar?u=https://b.com/x",)] * 60
    read = set(given[0].texts(keys, np.random.default_rng(0)))
    assert read == {f"{start}/ ahbar ? u = https :// b . com / x" for start in ("a . mt ", ". mt ", "")}


def tiny_teacher(folder: Path, monkeypatch: pytest.MonkeyPatch, examples: int, most: int) -> FineTuningRecipe:
    """The recipe of the teachers `tiny`: encoders that learn from a few examples."""
    tiny_xlmr.save(folder, num_hidden_layers=1)
    monkeypatch.setattr(transformers_out_of_fold, "EXAMPLES", {"language": examples, "parallelness": examples})
    monkeypatch.setattr(transformers_out_of_fold, "MOST", most)
    recipe = FineTuningRecipe(base=str(folder), rate=3e-3, max_length=120)
    monkeypatch.setitem(TEACHERS, "tiny", {"language": recipe, "parallelness": recipe})
    return recipe


@pytest.mark.slow
def test_teachers_see_no_example_of_their_fold_and_are_not_trained_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_teacher(tmp_path / "tiny", monkeypatch, examples=800, most=16)
    keys = [(f"{'ae'[i % 2] * 8}-{i}",) for i in range(60)]
    folds = np.arange(60) // 20
    shown: list[set[int]] = []

    def texts(some: Sequence[Key], rng: np.random.Generator | None) -> list[str]:
        if rng is not None:
            shown[-1] |= {int(folds[keys.index((key,))]) for (key,) in some}
        return [key for (key,) in some]

    def begun(*of: Any) -> PreTrainedModel:
        shown.append(set())
        return load_model(*of)

    monkeypatch.setattr(transformers_out_of_fold, "load_model", begun)
    lessons = Lessons("language", ("a", "e"), keys, np.arange(60) % 2, np.full(60, 1 / 60), folds, texts)
    answers = [fine_tuned(lessons, recipe, tmp_path / "teachers")(keys) for _ in range(2)]
    assert shown == [{1, 2}, {0, 2}, {0, 1}, set(), set(), set()]
    assert answers[0] == pytest.approx(answers[1], abs=1e-5)
    assert (answers[0].argmax(1) == np.arange(60) % 2).mean() > 0.9


TINY_STUDENT = (
    "--epochs 1 --epoch-size 640 --batch 64 --held-out .3 --rows 1009 --word-rows 503 --columns 8 --width 16 "
    "--fold-epochs 1"
)
TINY_PAIR_STUDENT = "--epochs 1 --batch 64 --pieces 300 --made-up 2 --word-epochs 1 --folds 2"


def pair_options(root: Path) -> list[str]:
    """The options of a student of pairs that name its data, which are written to *root*."""
    return [*TINY_PAIR_STUDENT.split(), *source_options(tiny_sources(root)), "--work", f"{root}/work"]


@pytest.mark.slow
def test_a_language_student_learns_from_encoders_out_of_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_teacher(tmp_path / "tiny", monkeypatch, examples=64, most=256)
    command = ["language", "--teacher", "tiny", "--scores", f"{tmp_path}/l.npz", *TINY_STUDENT.split()]
    distil.main([*command, "--data", str(url_list(tmp_path / "urls.tsv")), "--out", str(tmp_path / "student")])
    assert "teachers' probabilities for 400, " in (tmp_path / "student" / "README.md").read_text()
    soft = SoftLabels.load(tmp_path / "l.npz")
    assert sorted(soft.labels) == ["eng", "mlt"]
    assert np.isfinite(soft.probabilities).all()
    assert 0 < soft.probabilities.mean() < 1
    assert not list(tmp_path.glob("*.teachers"))


@pytest.mark.slow
def test_a_model_teaches_a_language_student_its_labels(tmp_path: Path) -> None:
    data = url_list(tmp_path / "urls.tsv")
    soft = distil.language_labels(f"{MODELS}/url-language", [*TINY_STUDENT.split(), "--data", str(data)], tmp_path)
    assert "eng" in soft.labels
    urls = [url for url, _ in read_tsv(data, ("url", "lang")).rows]
    lesson = Lesson([soft], urls, np.zeros(len(urls), np.int64), ("eng", "mlt"), 0.5)
    assert "teachers' probabilities for 400 " in str(lesson)
    assert lesson.targets(np.arange(len(urls))).sum(1).numpy() == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_a_pair_student_learns_from_a_model(tmp_path: Path) -> None:
    command = ["parallelness", "--teacher", f"{MODELS}/url-parallelness", "--scores", f"{tmp_path}/soft.npz"]
    distil.main([*command, *pair_options(tmp_path), "--out", f"{tmp_path}/student"])
    assert "teachers' share of the targets: 0.5" in (tmp_path / "student" / "README.md").read_text()
    soft = SoftLabels.load(tmp_path / "soft.npz")
    assert soft.probabilities.shape == (len(soft.keys), 1)
    assert 0 < soft.probabilities.mean() < 1
    assert (tmp_path / "student" / "model.onnx").exists()


@pytest.mark.slow
def test_encoders_teach_pairs_out_of_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_teacher(tmp_path / "tiny", monkeypatch, examples=64, most=256)
    soft = distil.pair_labels("tiny", pair_options(tmp_path), tmp_path / "teachers")
    assert soft.labels == ("parallel",)
    assert np.isfinite(soft.probabilities).all()
    assert 0 < soft.probabilities.mean() < 1


def test_teachers_that_cannot_learn_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["language", "--teacher", "e5-small", "--scores", f"{tmp_path}/l.npz", "--folds", "1", "--out", "x"]
    said = refused(capsys, distil.main, [*command, "--data", url_list(tmp_path / "urls.tsv")])
    assert "give more --folds, or more data" in said
    assert not (tmp_path / "l.npz").exists()


@pytest.mark.parametrize(("folds", "scores"), [(0, "pairs.npz"), (5, "urls.npz")])
def test_a_student_of_pairs_that_no_teacher_teaches_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folds: int, scores: str
) -> None:
    sources = tiny_sources(tmp_path, hosts=4)
    about_urls(tmp_path / "urls.npz")
    command = f"parallelness --teacher {MODELS}/url-parallelness --scores {tmp_path}/{scores} --folds {folds}"
    command += f" --pairs {sources.pairs} --sites {sources.sites} --work {tmp_path}/work --out {tmp_path}/student"
    said = refused(capsys, distil.main, f"{command} --pieces 300 --made-up 0")
    assert f"{scores} says nothing of the examples in {folds} folds" in said
    assert not (tmp_path / "student").exists()
