from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.refusals import refused
from support.tables import write_table
from test_training_language import TINY, write_urls

from training.common.data import DataError, read_tsv
from training.common.soft_labels import Lesson, SoftLabels
from training.language import leave_out
from training.language.examples import Examples, prepare


def test_parts_keep_domains_countries_and_sources_together() -> None:
    hosts = [f"{'www.' * (i % 2)}site{i // 2}.{('de', 'com')[i % 4 // 2]}" for i in range(400)]
    rows = [(f"https://{host}/", "eng", f"s{i % 5}", "list") for i, host in enumerate(hosts)]
    domains, countries, sources = (leave_out.parts_of(kind, rows, 3) for kind in leave_out.KINDS)
    assert (domains[::2] == domains[1::2]).all()
    assert set(domains) == {0, 1, 2}
    german = np.array([".de/" in row[0] for row in rows])
    assert len(set(countries[german])) == 1
    assert set(countries[~german]) == {0, 1, 2}
    assert all(len(set(sources[start::5])) == 1 for start in range(5))
    assert np.bincount(sources).max() == 160


def test_lists_hold_whole_domains_and_few_home_pages_of_a_country() -> None:
    rows = [(f"https://site{i}.rs/", "srp", "seeds", "cctld") for i in range(2000)]
    rows += [(f"https://paper{i // 150}.rs/vesti/{i}", "srp", "papers", "list") for i in range(3000)]
    kept = leave_out.choose_rows(rows)
    homes = np.count_nonzero(kept < 2000)
    assert 50 < homes < 150
    assert len(kept) - homes == 20 * leave_out.PER_DOMAIN
    chosen = [rows[i] for i in kept]
    for members in leave_out.draw_lists(chosen, np.zeros(len(chosen), dtype=np.int64))[:20]:
        papers = [chosen[i][0].split("/")[2] for i in members if chosen[i][2] == "papers"]
        assert all(papers.count(paper) == leave_out.PER_DOMAIN for paper in set(papers))


def test_networks_answer_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = read_tsv(write_urls(tmp_path / "urls.tsv", domains=20), ("url", "lang", "source")).rows
    rows = [(url, lang, source, "list") for url, lang, source in listed]
    recipe = replace(TINY, folds=3)
    examples = prepare([row[:2] for row in rows], [], set(), recipe)
    asked: list[int] = []

    def predict(_net: object, _data: object, indices: NDArray[np.int64]) -> torch.Tensor:
        asked.append(len(indices))
        return torch.tensor([0.0, 0.0] if len(asked) % 2 else [np.log(3), 0.0]).repeat(len(indices), 1)

    monkeypatch.setattr(leave_out, "fit_on_part", lambda *_: None)
    monkeypatch.setattr(leave_out, "predict", predict)
    kept = np.arange(0, len(rows), 2)

    def answers(rows: list[leave_out.Row], examples: Examples, *lesson: Lesson) -> NDArray[np.float32]:
        return leave_out.answers("domain", rows, kept, examples, recipe, 2, tmp_path, *lesson)

    answered = answers(rows, examples)
    assert len(asked) == 6
    assert sum(asked[::2]) == len(kept) == sum(asked[1::2])
    assert answered == pytest.approx(np.tile([0.625, 0.375], (len(kept), 1)))
    answers(rows, examples)
    assert len(asked) == 6
    # another list of the same length, other data to train on, another teacher: nothing is read
    turned = [(url, {"eng": "mlt", "mlt": "eng"}[lang], source, evidence) for url, lang, source, evidence in rows]
    answers(turned, examples)
    assert len(asked) == 12
    others = prepare([*(row[:2] for row in rows), ("https://new.example/x", "mlt")], [], set(), recipe)
    answers(turned, others)
    assert len(asked) == 18
    taught = SoftLabels.of(("eng", "mlt"), [(url,) for url in others.urls], lambda urls: np.full((len(urls), 2), 0.5))
    for probabilities in (taught.probabilities, taught.probabilities / 4):
        soft = replace(taught, probabilities=probabilities.astype(np.float16))
        answers(turned, others, Lesson([soft], others.urls, others.labels, others.names, 0.5))
    assert len(asked) == 30


def test_lists_without_a_language_do_not_count() -> None:
    rows = [(f"https://a.is/{i}", "isl", "s", "list") for i in range(40)]
    drawn, zeros = [np.arange(40), np.arange(10), np.arange(0)], np.zeros(40, dtype=np.int64)
    macro, by_language = leave_out.Judged(rows, zeros, ("isl", "fao"), drawn).scores(zeros)
    assert macro.tolist() == [1.0]
    assert np.isnan(by_language[1:]).all()
    with pytest.raises(DataError, match="no drawn list has 30 URLs of a language"):
        leave_out.Judged(rows, zeros, ("isl", "fao"), drawn[1:]).scores(zeros)


def test_a_list_without_rows_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = write_table(tmp_path / "empty.tsv", "url lang source evidence")
    data = write_urls(tmp_path / "urls.tsv", domains=400)
    said = refused(capsys, leave_out.main, f"--list {empty} --data {data} --out {tmp_path}/out")
    assert "empty.tsv: no URL to judge" in said


@pytest.mark.slow
def test_lists_are_drawn_from_answers_that_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leave_out, "HELD_OUT", 0.1)
    monkeypatch.setattr(leave_out, "SHARE", 0.5)
    rows = read_tsv(write_urls(tmp_path / "urls.tsv", domains=40), ("url", "lang", "source")).rows
    data = write_table(tmp_path / "urls.tsv", "url lang source evidence", [(*row, "list") for row in rows])
    sizes = asdict(replace(TINY, epochs=1, epoch_size=64)).items()
    options = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in sizes)
    command = f"--list {data} --out {tmp_path / 'out'} --kinds domain {options}".split()
    leave_out.main(command)
    said = capsys.readouterr().out
    assert "| domain | " in said
    monkeypatch.setattr(leave_out, "fit_on_part", lambda *_: pytest.fail("the answers of the first run are read"))
    leave_out.main(command)
    assert said.splitlines()[-4:] == capsys.readouterr().out.splitlines()[-4:]
