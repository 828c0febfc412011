import gzip
import tempfile
from itertools import combinations, count
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.progress import Progress
from support.refusals import refused
from support.tables import read_rows, write_table

from bilingual_crawler.urls.hosts import domain_label
from training.common.counts import SPLITS
from training.prepare import split
from training.prepare.__main__ import main
from training.prepare.split import prepare_split, split_of

COLUMNS = "url_a lang_a url_b lang_b label"
HOSTS = [f"{sub}{name}.{suffix}" for name in "abcdefghijklm" for sub in ("", "www.") for suffix in ("is", "co.uk")]
host = st.sampled_from(HOSTS)
pair = st.tuples(host, host, st.sampled_from(["eng", "isl"]), st.sampled_from(["fra", "eng"]), st.sampled_from("01"))


def written(prefix: Path) -> dict[str, list[list[str]]]:
    paths = {name: Path(f"{prefix}.{name}.tsv.gz") for name in SPLITS}
    return {name: read_rows(path)[1:] for name, path in paths.items() if path.exists()}


def run(*arguments: object) -> None:
    main([str(argument) for argument in ("split", *arguments)])


def urls(path: Path, domains: int, *more: str, each: int = 1) -> Path:
    rows = [f"https://site{d}.com/{i}\teng" for d in range(domains) for i in range(each)]
    return write_table(path, "url lang", [*rows, *more])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(pair, min_size=1, max_size=60), order=st.randoms(use_true_random=False))
def test_no_domain_is_in_two_splits_whatever_the_rows(rows: list[tuple[str, ...]], order: Random) -> None:
    texts = [f"http://{a}/{i}\t{la}\thttps://{b}/x/{i}\t{lb}\t{y}" for i, (a, b, la, lb, y) in enumerate(rows)]
    # A positive of a site of its own in every split, so that none is empty.
    names = (f"filler{i}" for i in count())
    fillers = [next(n for n in names if split_of(n, (50, 30, 20), 7) == name) for name in SPLITS]
    texts += [f"https://{n}.com/\teng\thttps://{n}.com/is\tisl\t1" for n in fillers]
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name in ("given", "shuffled"):
            path = write_table(Path(folder, f"{name}.tsv"), COLUMNS, texts)
            with Progress(disable=True) as progress:
                counts = prepare_split([path], Path(folder, name), (50, 30, 20), 7, {"c"}, progress, lambda _: None)
            found.append(written(Path(folder, name)))
            order.shuffle(texts)
    labels = {name: {domain_label(row[i]) for row in rows for i in (0, 2)} for name, rows in found[0].items()}
    assert all(labels[a].isdisjoint(labels[b]) for a, b in combinations(SPLITS, 2))
    assert "c" not in labels["train"] | labels["dev"] | labels["test"]
    kept = sorted("\t".join(row) for rows in found[0].values() for row in rows)
    domains = {text: {domain_label(url) for url in text.split("\t")[:3:2]} for text in texts}
    one_side = [text for text in texts if len({split_of(one, (50, 30, 20), 7) for one in domains[text]}) == 1]
    assert kept == sorted(text for text in one_side if "c" not in domains[text])
    assert {name: sorted(rows) for name, rows in found[0].items()} == {n: sorted(r) for n, r in found[1].items()}
    assert sum(positives + negatives for _, _, positives, negatives, _ in counts.rows()) == len(kept)


def test_shares_are_those_of_the_domains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = urls(tmp_path / "urls.tsv", 3000)
    run(path, "--out", tmp_path / "urls")
    whole = written(tmp_path / "urls")
    sizes = {name: len(rows) for name, rows in whole.items()}
    assert sum(sizes.values()) == 3000
    assert abs(sizes["train"] - 2400) < 90
    assert abs(sizes["dev"] - 300) < 60
    run(path, "--out", tmp_path / "wmt", "--shares", 60, 40)
    halves = written(tmp_path / "wmt")
    assert set(halves) == {"train", "dev"}
    assert abs(len(halves["train"]) - 1800) < 110
    said = refused(capsys, main, ("split", path, "--out", tmp_path / "urls", "--shares", 60, 40), code=1)
    assert "urls.test.tsv.gz is of an earlier split" in said
    assert written(tmp_path / "urls") == whole

    before = {row[0] for row in whole["train"]}
    run(path, "--out", tmp_path / "other", "--seed", 1)
    assert before != {row[0] for row in written(tmp_path / "other")["train"]}
    # A domain keeps its split when the list grows.
    run(urls(tmp_path / "more.tsv", 4000, each=2), "--out", tmp_path / "more")
    assert before <= {row[0] for row in written(tmp_path / "more")["train"]}


def test_counts_are_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = {name: [n for i in range(60) if split_of(n := f"s{i}", (80, 10, 10), 71213) == name] for name in SPLITS}
    rows = [
        f"https://{n}.is/\t{lang}\thttps://{n}.is/x\t{other}\t{label}"
        for names in sides.values()
        for n in names[:2]
        for lang, other, label in (("isl", "eng", 1), ("eng", "isl", 0), ("eng", "isl", 0), ("fra", "eng", 1))
    ]
    run(write_table(tmp_path / "pairs.tsv", COLUMNS, rows), "--out", tmp_path / "pairs")
    counts = (tmp_path / "pairs.counts.tsv").read_text().splitlines()
    assert [line.split("\t") for line in counts] == [
        ["languages", "split", "positives", "negatives", "domains"],
        *(["eng-isl", name, "2", "4", "2"] for name in SPLITS),
        *(["eng-fra", name, "2", "0", "2"] for name in SPLITS),
    ]
    shown = capsys.readouterr().out
    assert "2/4 (2)" in shown
    assert "4/4 (2)" in shown


def test_evaluation_sites_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts, listed = tmp_path / "hosts.txt", tmp_path / "dev.tsv.gz"
    hosts.write_text("# evaluation\nhttps://www.site1.co.uk/page\nsite2.com  # a host\n\nnot a host\n")
    write_table(listed, "url_a lang_a url_b lang_b", ["https://site3.fr/\tfra\thttps://en.site4.com/\teng"])
    run(urls(tmp_path / "urls.tsv", 200), "--out", tmp_path / "urls", "--exclude", hosts, listed)
    kept = {domain_label(row[0]) for rows in written(tmp_path / "urls").values() for row in rows}
    assert kept == {f"site{i}" for i in range(200)} - {"site1", "site2", "site3", "site4"}
    told = " ".join(capsys.readouterr().err.split())
    assert "200 lines; 4 left out (excluded site)" in told
    assert "1 bad: line 5 (no host: not a host)" in told


def test_frozen_sites_are_left_out(tmp_path: Path, shared_data: Path) -> None:
    frozen = ("docs.deskreen.com/new", "www.lilypond.org/new", "fdos.github.io/alias")
    path = urls(tmp_path / "urls.tsv", 100, *(f"https://{page}\teng" for page in frozen))
    run(path, "--out", tmp_path / "urls", "--exclude", shared_data / "sites" / "dev")
    kept = [row[0] for rows in written(tmp_path / "urls").values() for row in rows]
    assert len(kept) == 100
    assert not any(name in url for url in kept for name in ("deskreen", "lilypond", "fdos"))


def test_a_leak_is_found_and_nothing_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = urls(tmp_path / "urls.tsv", 5, each=3)
    turns = count()
    monkeypatch.setattr(split, "split_of", lambda *_: SPLITS[next(turns) % 3])
    said = refused(capsys, main, ("split", path, "--out", tmp_path / "urls"), code=1)
    assert "domains are in both train and dev" in said
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_split_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, few = urls(tmp_path / "urls.tsv", 40), urls(tmp_path / "few.tsv", 1)
    other, cut = write_table(tmp_path / "other.tsv", "address lang_of", ["https://a.is/\tisl"]), tmp_path / "cut.tsv.gz"
    cut.write_bytes(gzip.compress(b"url\tlang\n" + b"https://a.is/\tisl\n" * 1000)[:40])
    before = sorted(tmp_path.iterdir())
    for arguments, message in (
        *(((few,), "no domain fell into"), ((path, other), "has the columns"), ((other,), "neither a list of URLs")),
        *(((path, "--shares", *shares), "two or three numbers") for shares in ((100,), (80, 20, 0))),
        *(((tmp_path / "absent.tsv",), "absent.tsv"), ((cut,), "cut.tsv.gz")),
    ):
        assert message in refused(capsys, main, ("split", *arguments, "--out", tmp_path / "out"), code=1)
    assert sorted(tmp_path.iterdir()) == before


def test_bad_rows_are_told_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = ("https://site1.com/x", "\teng", "https://bad..host/\teng", "https://a b/\teng")
    run(urls(tmp_path / "urls.tsv", 60, *bad), "--out", tmp_path / "urls")
    told = "4 bad: line 62 (1 fields instead of 2), line 63 (empty value), line 64 (no valid host), line 65"
    assert told in " ".join(capsys.readouterr().err.split())
    assert sum(len(rows) for rows in written(tmp_path / "urls").values()) == 60
