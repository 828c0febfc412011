from __future__ import annotations

import gzip
import tempfile
from itertools import combinations, count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.progress import Progress

from bilingual_crawler.urls.hosts import domain_label
from training.common.counts import SPLITS
from training.common.data import DataError
from training.prepare import split
from training.prepare.__main__ import main
from training.prepare.split import prepare_split, split_of

HEADER = "url_a\tlang_a\turl_b\tlang_b\tlabel\n"
HOSTS = [f"{sub}{name}.{suffix}" for name in "abcdefghijklm" for sub in ("", "www.") for suffix in ("is", "co.uk")]
host = st.sampled_from(HOSTS)
pair = st.tuples(host, host, st.sampled_from(["eng", "isl"]), st.sampled_from(["fra", "eng"]), st.sampled_from("01"))


def lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def written(prefix: Path) -> dict[str, list[list[str]]]:
    return {
        name: lines(Path(f"{prefix}.{name}.tsv.gz"))[1:] for name in SPLITS if Path(f"{prefix}.{name}.tsv.gz").exists()
    }


def run(*arguments: object) -> None:
    main([str(argument) for argument in ("split", *arguments)])


def urls(path: Path, domains: int, each: int = 1) -> Path:
    rows = (f"https://site{d}.com/{i}\teng\n" for d in range(domains) for i in range(each))
    path.write_text("url\tlang\n" + "".join(rows))
    return path


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(pair, min_size=1, max_size=60), order=st.randoms(use_true_random=False))
def test_no_domain_is_in_two_splits_whatever_the_rows(rows: list[tuple[str, ...]], order: object) -> None:
    texts = [f"http://{a}/{i}\t{la}\thttps://{b}/x/{i}\t{lb}\t{y}" for i, (a, b, la, lb, y) in enumerate(rows)]
    # A positive of a site of its own in every split, so that none is empty.
    names = (f"filler{i}" for i in count())
    fillers = [next(n for n in names if split_of(n, (50, 30, 20), 7) == name) for name in SPLITS]
    texts += [f"https://{n}.com/\teng\thttps://{n}.com/is\tisl\t1" for n in fillers]
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name in ("given", "shuffled"):
            path = Path(folder, f"{name}.tsv")
            path.write_text(HEADER + "".join(f"{text}\n" for text in texts))
            reports: list[str] = []
            with Progress(disable=True) as progress:
                counts = prepare_split([path], Path(folder, name), (50, 30, 20), 7, {"c"}, progress, reports.append)
            found.append(written(Path(folder, name)))
            order.shuffle(texts)  # type: ignore[attr-defined]
    labels = {name: {domain_label(row[i]) for row in rows for i in (0, 2)} for name, rows in found[0].items()}
    assert all(labels[a].isdisjoint(labels[b]) for a, b in combinations(SPLITS, 2))
    assert "c" not in labels["train"] | labels["dev"] | labels["test"]
    kept = sorted("\t".join(row) for rows in found[0].values() for row in rows)
    one_side = sorted(
        text
        for text in texts
        if len({split_of(domain_label(u), (50, 30, 20), 7) for u in text.split("\t")[:3:2]}) == 1
        and "c" not in {domain_label(u) for u in text.split("\t")[:3:2]}
    )
    assert kept == one_side
    assert {name: sorted(rows) for name, rows in found[0].items()} == {n: sorted(r) for n, r in found[1].items()}
    assert sum(positives + negatives for _, _, positives, negatives, _ in counts.rows()) == len(kept)


def test_shares_are_those_of_the_domains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = urls(tmp_path / "urls.tsv", 3000)
    run(path, "--out", tmp_path / "urls")
    sizes = {name: len(rows) for name, rows in written(tmp_path / "urls").items()}
    assert sum(sizes.values()) == 3000
    assert abs(sizes["train"] - 2400) < 90
    assert abs(sizes["dev"] - 300) < 60
    run(path, "--out", tmp_path / "wmt", "--shares", 60, 40)
    halves = written(tmp_path / "wmt")
    assert set(halves) == {"train", "dev"}
    assert abs(len(halves["train"]) - 1800) < 110
    whole = written(tmp_path / "urls")
    with pytest.raises(SystemExit, match="1"):
        run(path, "--out", tmp_path / "urls", "--shares", 60, 40)
    assert "urls.test.tsv.gz is of an earlier split" in capsys.readouterr().err
    assert written(tmp_path / "urls") == whole

    before = {row[0] for row in written(tmp_path / "urls")["train"]}
    run(path, "--out", tmp_path / "other", "--seed", 1)
    assert before != {row[0] for row in written(tmp_path / "other")["train"]}
    # A domain keeps its split when the list grows.
    run(urls(tmp_path / "more.tsv", 4000, 2), "--out", tmp_path / "more")
    assert before <= {row[0] for row in written(tmp_path / "more")["train"]}


def test_counts_are_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = {name: [n for i in range(60) if split_of(n := f"s{i}", (80, 10, 10), 71213) == name] for name in SPLITS}
    rows = [
        f"https://{n}.is/\t{lang}\thttps://{n}.is/x\t{other}\t{label}\n"
        for names in sides.values()
        for n in names[:2]
        for lang, other, label in (("isl", "eng", 1), ("eng", "isl", 0), ("eng", "isl", 0), ("fra", "eng", 1))
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text(HEADER + "".join(rows))
    run(path, "--out", tmp_path / "pairs")
    counts = (tmp_path / "pairs.counts.tsv").read_text().splitlines()
    assert counts[0].split("\t") == ["languages", "split", "positives", "negatives", "domains"]
    assert [line.split("\t") for line in counts[1:]] == [
        *(["eng-isl", name, "2", "4", "2"] for name in SPLITS),
        *(["eng-fra", name, "2", "0", "2"] for name in SPLITS),
    ]
    shown = capsys.readouterr().out
    assert "2/4 (2)" in shown
    assert "4/4 (2)" in shown


def test_evaluation_sites_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = urls(tmp_path / "urls.tsv", 200)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("# evaluation\nhttps://www.site1.co.uk/page\nsite2.com  # a host\n\nnot a host\n")
    listed = tmp_path / "dev.tsv.gz"
    listed.write_bytes(
        gzip.compress(b"url_a\tlang_a\turl_b\tlang_b\nhttps://site3.fr/\tfra\thttps://en.site4.com/\teng\n")
    )
    run(path, "--out", tmp_path / "urls", "--exclude", hosts, listed)
    kept = {domain_label(row[0]) for rows in written(tmp_path / "urls").values() for row in rows}
    assert kept == {f"site{i}" for i in range(200)} - {"site1", "site2", "site3", "site4"}
    told = " ".join(capsys.readouterr().err.split())
    assert "200 lines; 4 left out (excluded site)" in told
    assert "1 bad: line 5 (no host: not a host)" in told


def test_frozen_sites_are_left_out(tmp_path: Path) -> None:
    sites = Path(__file__).parent.parent.parent / "shared/data/sites/dev"
    if not sites.exists():
        pytest.skip("needs ../shared/data/sites")
    path = urls(tmp_path / "urls.tsv", 100)
    with path.open("a") as file:
        file.write(
            "https://docs.deskreen.com/new\teng\nhttps://www.lilypond.org/new\teng\nhttps://fdos.github.io/alias\teng\n"
        )
    run(path, "--out", tmp_path / "urls", "--exclude", sites)
    kept = [row[0] for rows in written(tmp_path / "urls").values() for row in rows]
    assert len(kept) == 100
    assert not any(name in url for url in kept for name in ("deskreen", "lilypond", "fdos"))


def test_a_leak_is_found_and_nothing_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = urls(tmp_path / "urls.tsv", 5, 3)
    turns = count()
    monkeypatch.setattr(split, "split_of", lambda *_: SPLITS[next(turns) % 3])
    with pytest.raises(SystemExit) as stop:
        run(path, "--out", tmp_path / "urls")
    assert stop.value.code == 1
    assert "domains are in both train and dev" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_split_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = urls(tmp_path / "urls.tsv", 40)
    few = urls(tmp_path / "few.tsv", 1)
    other = tmp_path / "other.tsv"
    other.write_text("address\tlang_of\nhttps://a.is/\tisl\n")
    for arguments, message in (
        ((few,), "no domain fell into"),
        ((path, other), "has the columns"),
        ((other,), "neither a list of URLs"),
        ((path, "--shares", 100), "two or three numbers"),
        ((path, "--shares", 80, 20, 0), "two or three numbers"),
        ((tmp_path / "absent.tsv",), "absent.tsv"),
    ):
        with pytest.raises(SystemExit) as stop:
            run(*arguments, "--out", tmp_path / "out")
        assert stop.value.code == 1
        assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("out*"))
    assert not list(tmp_path.glob(".*"))


def test_bad_rows_are_told_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = urls(tmp_path / "urls.tsv", 60)
    with path.open("a") as file:
        file.write("https://site1.com/x\n\teng\nhttps://bad..host/\teng\nhttps://a b/\teng\n")
    run(path, "--out", tmp_path / "urls")
    assert (
        "4 bad: line 62 (1 fields instead of 2), line 63 (empty value), line 64 (no valid host), line 65"
        in " ".join(capsys.readouterr().err.split())
    )
    assert sum(len(rows) for rows in written(tmp_path / "urls").values()) == 60


def test_a_cut_file_is_an_error(tmp_path: Path) -> None:
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(gzip.compress(b"url\tlang\n" + b"https://a.is/\tisl\n" * 1000)[:40])
    with Progress(disable=True) as progress, pytest.raises(DataError, match=r"cut\.tsv\.gz"):
        prepare_split([cut], tmp_path / "out", (80, 20), 1, set(), progress, print)
    assert list(tmp_path.iterdir()) == [cut]
