"""Input that a training or benchmark cannot use is one line on standard error, and status 2."""

from __future__ import annotations

import lzma
import pickle
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rich.progress import Progress
from support.pair_data import frozen_site

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

COMMANDS = (
    *("training.discovery.__main__", "training.documents.__main__", "training.documents.resemblance"),
    *("training.policies.__main__", "training.sentences"),
)
BENCHMARKS = (
    *("benchmarks.crawl_priors", "benchmarks.detector", "benchmarks.editions"),
    *("benchmarks.until", "benchmarks.url_models"),
)
HEADER = "site\tlang_a\tlang_b\tseeds\n"
OTHER = "wrong\tcolumns\n1\t2\n"


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line on standard error, after the usage."""
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "tasks"),
    [(command, tasks) for command in COMMANDS for tasks in (None, "", OTHER, HEADER)]
    + [(command, tasks) for command in BENCHMARKS for tasks in (None, OTHER)],
)
def test_a_folder_that_holds_no_sites_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, tasks: str | None
) -> None:
    if tasks is not None:
        (tmp_path / "tasks.tsv").write_text(tasks)
    monkeypatch.setattr(sys, "argv", [command, str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        import_module(command).main()
    assert f"error: {tmp_path}" in refused(capsys)


def test_an_error_about_an_archive_comes_back_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(ArchiveError(Path("a.warc"), "is empty: fetch it again")))
    assert str(error) == "a.warc: is empty: fetch it again"
    assert error.path == Path("a.warc")


def test_sites_without_labelled_links_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites, out = tmp_path / "sites", tmp_path / "links.tsv"
    for folder in (sites, tmp_path):
        with pytest.raises(SystemExit, match="2"):
            pair_sets(["links", str(folder), "--out", str(out)])
        assert f"{folder} holds no frozen sites" in refused(capsys)
    frozen_site(sites / "s", "https://s.example")
    with lzma.open(sites / "s" / "pairs.tsv.xz", "wt") as file:
        file.write("url_a\tlang_a\turl_b\tlang_b\n")
    with pytest.raises(SystemExit, match="2"):
        pair_sets(["links", str(sites), "--out", str(out)])
    assert f"{sites}: no gold page links to its partner" in refused(capsys)
    with lzma.open(sites / "s" / "graph.tsv.xz", "wt") as file:
        file.write("lang\turl\tlength\neng\thttps://s.example/\t5\n")
    with pytest.raises(SystemExit, match="2"):
        pair_sets(["links", str(sites), "--out", str(out)])
    assert "graph.tsv.xz lists no page" in refused(capsys)
    assert not out.exists()
    with pytest.raises(SystemExit, match="2"):
        pair_links(["--sites", str(sites), "--model", "rules"])
    assert f"{sites} is no folder of benchmark sites: tasks.tsv" in refused(capsys)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv.gz", b"url_a\turl_b\tlabel\nhttps://a.is/en\thttps://a.is/is\t1\n", "Not a gzipped file"),
        ("a.tsv", b"url_a\turl_b\tlabel\nhttps://a.is/\xe9\thttps://a.is/is\t1\n", "can't decode byte 0xe9"),
        ("a.tsv", b"label\turl_a\turl_b\n1\thttps://a.is/en\n", "a.tsv:2: a URL is missing"),
    ],
)
def test_labelled_pairs_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert evaluate(["parallelness", "--model", "rules", "--data", str(tmp_path / name)]) == 2
    assert message in refused(capsys)
    with pytest.raises(SystemExit, match="2"):
        study(f"--pairs {tmp_path}/none --tests {tmp_path / name} --results {tmp_path}/results.tsv".split())
    assert message in refused(capsys)


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
    (tmp_path / "pairs.tsv").write_text("url_a\turl_b\tevidence\tlabel\n" + "\n".join(rows) + "\n")
    given = f"--pairs {tmp_path}/pairs.tsv --sites {tmp_path}/sites --work {tmp_path}/work --pieces 300 --made-up 0"
    for command, more in (
        (train_pairs, f"{given} --out {tmp_path}/model"),
        (compare_pairs, f"{given} --json {tmp_path}/o.json --table {tmp_path}/o.md"),
        (study, f"--pairs {tmp_path}/pairs.tsv --tests {tmp_path}/pairs.tsv --results {tmp_path}/results.tsv"),
    ):
        with pytest.raises(SystemExit, match="2"):
            command(more.split())
        assert "give pairs of more domains" in refused(capsys)


def test_urls_are_made_up_from_home_pages_but_not_from_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "urls.tsv"
    (tmp_path / "isl.words.txt").write_text("hestur\nfiskur\n" * 200)
    command = f"--words {tmp_path} --out {tmp_path}/o.tsv.gz --slugs 20 --markers 5".split()
    data.write_text("url\tlang\n" + "".join(f"https://{n}.is/\tisl\n" for n in range(9)))
    synthetic(["--data", str(data), *command])
    assert "25 synthetic URLs" in capsys.readouterr().out
    data.write_text("url\tlang\nhttps://a.is/is/frettir\tisl\n")
    for given, message in ((data, "no URL without a mark"), (tmp_path / "none.tsv", "none.tsv")):
        with pytest.raises(SystemExit, match="2"):
            synthetic(["--data", str(given), *command])
        assert message in refused(capsys)


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("a\tb\tc", [], "no column url_a, url_b, evidence"),
        ("url_a\turl_b\tevidence", ["--evidence", "gild"], "no pair with --evidence gild, but gold"),
        ("url_a\turl_b\tevidence", ["--combination", "9"], "unknown kind of negative '9'"),
    ],
)
def test_a_list_of_pairs_that_gives_no_positive_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: str, options: list[str], message: str
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{header}\nhttps://s.example/en\thttps://s.example/fi\tgold\n")
    with pytest.raises(SystemExit, match="2"):
        pair_sets(["negatives", str(pairs), "--out", str(tmp_path / "set.tsv"), *options])
    assert message in refused(capsys)
