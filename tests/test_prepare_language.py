import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.refusals import refused
from support.tables import read_rows, write_table

from training.common.data import read_real
from training.prepare import language
from training.prepare.__main__ import main

HTML = "text/html"


def index(path: Path, rows: Iterable[tuple[str | None, int, str | None, str | None]]) -> Path:
    texts = [(name, pa.string()) for name in ("content_mime_detected", "content_languages")]
    schema = pa.schema([("url", pa.string()), ("fetch_status", pa.int16()), *texts])
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(list(map(list, zip(*rows, strict=True))), schema=schema), path)
    return path


def run(*arguments: object) -> None:
    main([str(argument) for argument in ("language", *arguments)])


def many(path: Path, domains: int, each: int, lang: str = "isl") -> Path:
    urls = [f"https://www.{lang}{d}.com/{i}" for d in range(domains) for i in range(each)]
    return index(path, [(url, 200, HTML, lang) for url in urls])


def test_pages_of_the_index_in_one_language_and_what_is_no_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        ("https://a.is/frettir", 200, HTML, "isl"), ("https://a.is/xhtml", 200, "application/xhtml+xml", "isl"),
        ("https://a.is/gone", 404, HTML, "isl"), ("https://a.is/both", 200, HTML, "isl,eng"),
        ("https://a.is/empty", 200, HTML, None), ("https://a.is/logo.png", 200, "image/png", None),
        ("https://a.is/app.js", 200, "application/javascript", None),
        ("https://a.is/report.pdf", 200, "application/pdf", None),
        ("https://b.com/" + "x" * 2000, 200, HTML, "eng"), ("https://b.com/two words", 200, HTML, "eng"),
        (None, 200, HTML, "eng"), ("https://b.com/klingon", 200, HTML, "tlh"),
        ("https://b.com/zagreb", 200, HTML, "hrv"), ("https://b.com/untyped", 200, None, "hrv"),
    ]  # fmt: skip
    out = tmp_path / "urls.tsv.gz"
    run(index(tmp_path / "crawl=CC-MAIN-2023-06" / "part-0.parquet", given), "--out", out)
    header, *rows = read_rows(out)
    assert header == ["url", "lang", "source", "evidence"]
    found = {"a.is/app.js": "unk", "a.is/frettir": "isl", "a.is/logo.png": "unk", "a.is/xhtml": "isl"}
    expected = (found | {"b.com/zagreb": "hrv"}).items()
    assert sorted(rows) == [[f"https://{url}", language, "CC-MAIN-2023-06", "cld2"] for url, language in expected]
    told = " ".join(capsys.readouterr().err.split())
    for reason in ("not HTTP 200", "several languages", "no language", "text, but not HTML", "no type"):
        assert f"1 left out ({reason})" in told
    for part in ("10 rows", "4 bad", *(f"row {n} (not a URL)" for n in (9, 10, 11)), "row 12 (no such language)"):
        assert part in told
    assert sorted(read_real([out])[0]) == sorted((row[0], row[1]) for row in rows)


def test_caps_hold_for_a_domain_and_for_a_language(tmp_path: Path) -> None:
    files = [many(tmp_path / "isl.parquet", 10, 50), many(tmp_path / "mlt.parquet", 2, 50, "mlt")]
    out = tmp_path / "urls.tsv.gz"
    run(*files, "--out", out, "--per-domain", 5, "--per-language", 20)
    rows = read_rows(out)[1:]
    assert max(Counter((url.split("/")[2], lang) for url, lang, *_ in rows).values()) <= 5
    assert Counter(lang for _, lang, *_ in rows) == {"isl": 20, "mlt": 10}


def test_the_draw_depends_on_the_seed_and_on_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(name: str, *files: Path, seed: int = 1) -> bytes:
        out = tmp_path / f"{name}.tsv.gz"
        run(*files, "--out", out, "--per-domain", 6, "--per-language", 90, "--seed", seed)
        assert len(read_rows(out)) == 91
        return out.read_bytes()

    one, two = many(tmp_path / "1.parquet", 20, 20), many(tmp_path / "2.parquet", 40, 15)
    first = drawn("a", one, two)
    assert drawn("b", two, one) == first
    assert drawn("c", one, two, seed=2) != first
    # Dropping what is beyond the caps while inputs pass by must not change what is drawn.
    monkeypatch.setattr(language, "GROWTH", 10)
    assert drawn("often", one, two, one) == first


def test_lists_keep_their_evidence_and_their_bad_rows_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        "https://a.mt/\tmlt\there\tcld2", "https://a.mt/x\tmt\there\tcld2", "https://a.mt/y\tmlt",
        "https://a.mt/z\tnonsense\there\tcld2", "a.mt\tmlt\there\tcld2", "https://a.mt/img.png\tunk\there\tlist",
        "https://a.mt/\teng\tthere\tcctld",
    ]  # fmt: skip
    given = write_table(tmp_path / "given.tsv", "url lang source evidence", rows)
    plain = write_table(tmp_path / "plain.tsv.gz", "lang url", ["eng\thttps://a.mt/", "fin\thttps://b.fi/"])
    out = tmp_path / "urls.tsv.gz"
    run(given, plain, "--out", out, "--languages", "mlt", "Finnish")
    assert sorted(read_rows(out)[1:]) == [
        ["https://a.mt/", "mlt", "here", "cld2"],
        ["https://a.mt/img.png", "unk", "here", "list"],
        ["https://a.mt/x", "mlt", "here", "cld2"],
        ["https://b.fi/", "fin", "plain.tsv", "list"],
    ]
    told = " ".join(capsys.readouterr().err.split())
    assert "3 bad: line 4 (2 fields instead of 4), line 5 (no such language: nonsense), line 6 (not a URL)" in told
    assert "1 left out (other language)" in told


def test_what_cannot_be_used_ends_the_command_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = many(tmp_path / "good.parquet", 2, 2)
    without, broken, cut = (tmp_path / name for name in ("without.parquet", "broken.parquet", "cut.tsv.gz"))
    pq.write_table(pa.table({"url": ["https://a.is/"], "fetch_status": [200]}), without)
    broken.write_bytes(good.read_bytes()[:200])
    cut.write_bytes(gzip.compress(b"url\tlang\nhttps://a.is/\tisl\n" * 1000)[:40])
    before = sorted(tmp_path.iterdir())
    for arguments, message in (
        ((without,), "content_mime_detected"),
        ((broken,), "broken.parquet"),
        ((cut,), "cut.tsv.gz"),
        ((tmp_path / "none" / "*.parquet",), "no such file"),
        ((good, "ftp://host/x.parquet"), "ftp://"),
        (("http://127.0.0.1:9/none.parquet",), "http://127.0.0.1:9/none.parquet: "),
        ((good, "--languages", "isl", "mlt"), "no example of mlt"),
        ((good, "--languages", "elvish"), "elvish"),
    ):
        command = ("language", *arguments, "--out", tmp_path / "urls.tsv.gz")
        assert message in refused(capsys, main, command, code=1)
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_of_the_index_is_read(tmp_path: Path) -> None:
    for part in range(3):
        many(tmp_path / "crawl=CC-MAIN-2023-14" / "subset=warc" / f"part-{part}.parquet", 3 + part, 4)
    run(tmp_path / "crawl=CC-MAIN-2023-14", "--out", tmp_path / "urls.tsv.gz")
    rows = read_rows(tmp_path / "urls.tsv.gz")[1:]
    assert len(rows) == 5 * 4
    assert {row[2] for row in rows} == {"CC-MAIN-2023-14"}


def test_a_real_list_is_read(tmp_path: Path, shared_data: Path) -> None:
    given, out = shared_data / "urls" / "url_language.dev.tsv.gz", tmp_path / "dev.tsv.gz"
    run(given, "--out", out, "--per-domain", 3, "--languages", "isl", "mlt")
    found = read_real([out])[0]
    assert {row[1] for row in found} == {"isl", "mlt", "unk"}
    assert set(found) <= set(read_real([given])[0])
