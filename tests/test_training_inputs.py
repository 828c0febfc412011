"""Input that a training or benchmark cannot use is one line on standard error, and status 2."""

import lzma
import pickle
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest
from rich.progress import Progress
from support.pair_data import frozen_site
from support.refusals import refused
from support.tables import write_table

from bilingual_crawler.storage.warc import ArchiveError
from training.common.data import read_tsv
from training.evaluate import main as evaluate
from training.parallelness.__main__ import main as train_pairs
from training.parallelness.comparison import main as compare_pairs
from training.parallelness.evaluation import read_labelled_pairs
from training.parallelness.links import main as pair_links
from training.parallelness.sets import main as pair_sets
from training.parallelness.study import main as study
from training.prepare.split import read_excluded
from training.prepare.synthetic import main as synthetic
from training.wmt16 import read_gold

COMMANDS = [
    f"training.{name}"
    for name in ("discovery.__main__", "documents.__main__", "documents.resemblance", "policies.__main__", "sentences")
]
BENCHMARKS = [f"benchmarks.{name}" for name in ("crawl_priors", "detector", "editions", "until", "url_models")]
HEADER = "site\tlang_a\tlang_b\tseeds\n"
OTHER = "wrong\tcolumns\n1\t2\n"
CONTENTS = (None, OTHER, "", HEADER)


@pytest.mark.parametrize(("command", "tasks"), [*product(COMMANDS, CONTENTS), *product(BENCHMARKS, CONTENTS[:2])])
def test_a_folder_that_holds_no_sites_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, tasks: str | None
) -> None:
    if tasks is not None:
        (tmp_path / "tasks.tsv").write_text(tasks)
    monkeypatch.setattr(sys, "argv", [command, str(tmp_path)])
    assert f"error: {tmp_path}" in refused(capsys, lambda _: import_module(command).main(), "")


def test_an_error_about_an_archive_comes_back_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(ArchiveError(Path("a.warc"), "is empty: fetch it again")))
    assert str(error) == "a.warc: is empty: fetch it again"
    assert error.path == Path("a.warc")


def test_sites_without_labelled_links_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites, out = tmp_path / "sites", tmp_path / "links.tsv"
    for folder in (sites, tmp_path):
        assert f"{folder} holds no frozen sites" in refused(capsys, pair_sets, f"links {folder} --out {out}")
    frozen_site(sites / "s", "https://s.example")
    with lzma.open(sites / "s" / "pairs.tsv.xz", "wt") as file:
        file.write("url_a\tlang_a\turl_b\tlang_b\n")
    assert f"{sites}: no gold page links to its partner" in refused(capsys, pair_sets, f"links {sites} --out {out}")
    with lzma.open(sites / "s" / "graph.tsv.xz", "wt") as file:
        file.write("lang\turl\tlength\neng\thttps://s.example/\t5\n")
    assert "graph.tsv.xz lists no page" in refused(capsys, pair_sets, f"links {sites} --out {out}")
    assert not out.exists()
    said = refused(capsys, pair_links, f"--sites {sites} --model rules")
    assert f"{sites} is no folder of benchmark sites: tasks.tsv" in said


def test_labelled_pairs_that_cannot_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content, message in (
        ("a.tsv.gz", b"url_a\turl_b\tlabel\nhttps://a.is/en\thttps://a.is/is\t1\n", "Not a gzipped file"),
        ("a.tsv", b"url_a\turl_b\tlabel\nhttps://a.is/\xe9\thttps://a.is/is\t1\n", "can't decode byte 0xe9"),
        ("a.tsv", b"label\turl_a\turl_b\n1\thttps://a.is/en\n", "a.tsv:2: a URL is missing"),
    ):
        (tmp_path / name).write_bytes(content)
        assert message in refused(capsys, evaluate, f"parallelness --model rules --data {tmp_path / name}")
        command = f"--pairs {tmp_path}/none --tests {tmp_path / name} --results {tmp_path}/results.tsv"
        assert message in refused(capsys, study, command)


def test_lists_of_windows_editors_are_read(tmp_path: Path) -> None:
    pairs, urls, gold, hosts = (tmp_path / name for name in ("pairs.tsv", "urls.tsv", "test.pairs", "hosts.txt"))
    pairs.write_bytes("\ufeffurl_a\turl_b\tlabel\r\nhttps://a.is/en\thttps://a.is/is\t1\r\n".encode())
    urls.write_bytes("\ufeffurl\tlang\r\nhttps://a.is/is\tisl\r\n".encode())
    gold.write_bytes("\ufeffhttps://a.is/en\thttps://a.is/is\r\n".encode())
    hosts.write_bytes("\ufeffa.is\r\nb.is\r\n".encode())
    assert [row.kind for row in read_labelled_pairs(pairs)] == ["positive"]
    assert read_tsv(urls, ("url", "lang")).rows == [("https://a.is/is", "isl")]
    assert read_gold(gold) == {("https://a.is/en", "https://a.is/is")}
    with Progress(disable=True) as progress:
        assert read_excluded([hosts], progress, lambda _: None) == {"a", "b"}


def test_lists_of_one_domain_leave_nothing_to_train_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frozen_site(tmp_path / "sites" / "s", "https://s.example")
    rows = [f"https://s.example/en/{n}\thttps://s.example/is/{n}\tgold\t1" for n in range(30)]
    pairs = write_table(tmp_path / "pairs.tsv", "url_a url_b evidence label", rows)
    given = f"--pairs {pairs} --sites {tmp_path}/sites --work {tmp_path}/work --pieces 300 --made-up 0"
    for main, command in (
        (train_pairs, f"{given} --out {tmp_path}/model"),
        (compare_pairs, f"{given} --json {tmp_path}/o.json --table {tmp_path}/o.md"),
        (study, f"--pairs {pairs} --tests {pairs} --results {tmp_path}/results.tsv"),
    ):
        assert "give pairs of more domains" in refused(capsys, main, command)


def test_urls_are_made_up_from_home_pages_not_from_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "isl.words.txt").write_text("hestur\nfiskur\n" * 200)
    command = f"--words {tmp_path} --out {tmp_path}/o.tsv.gz --slugs 20 --markers 5 --data"
    homes = write_table(tmp_path / "homes.tsv", "url lang", [f"https://{n}.is/\tisl" for n in range(9)])
    synthetic([*command.split(), str(homes)])
    assert "25 synthetic URLs" in capsys.readouterr().out
    marked = write_table(tmp_path / "marked.tsv", "url lang", ["https://a.is/is/frettir\tisl"])
    assert "no URL without a mark" in refused(capsys, synthetic, f"{command} {marked}")
    assert "none.tsv" in refused(capsys, synthetic, f"{command} {tmp_path}/none.tsv")


def test_a_list_of_pairs_that_gives_no_positive_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for columns, options, message in (
        ("a b c", "", "no column url_a, url_b, evidence"),
        ("url_a url_b evidence", "--evidence gild", "no pair with --evidence gild, but gold"),
        ("url_a url_b evidence", "--combination 9", "unknown kind of negative '9'"),
    ):
        pairs = write_table(tmp_path / "pairs.tsv", columns, ["https://s.example/en\thttps://s.example/fi\tgold"])
        assert message in refused(capsys, pair_sets, f"negatives {pairs} --out {tmp_path}/set.tsv {options}")
