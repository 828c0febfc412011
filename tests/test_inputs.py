"""What is read of archives before documents are aligned."""

import gzip
import json
import lzma
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd
from support.archives import warc_record

from bilingual_crawler.harvest.sites import html_of
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, MAX_TITLE
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.storage import files
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.warc import MAX_BODY, MAX_RECORD, ArchiveError

PAGE = b"<html>two words"
PAIRS = LanguagePairs.parse("eng-spa")
PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}


def write(path: Path, content: bytes) -> Path:
    """Write *content*, packed as the ending of *path* says."""
    path.write_bytes(PACKERS.get(path.suffix, bytes)(content))
    return path


def archive(folder: Path, *pages: tuple[bytes | None, bytes]) -> Path:
    """A WARC file of pages, each with its content coding."""
    records = b""
    for number, (coding, body) in enumerate(pages):
        header = b"Content-Encoding: %b\r\n" % coding if coding is not None else b""
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%b\r\n%b" % (header, body)
        records += warc_record(f"https://a.example/{number}", block)
    return write(folder / "pages.warc", records)


def texts(folder: Path, records: Iterable[object]) -> Path:
    """A file of JSON lines."""
    return write(folder / "texts.jsonl", "".join(f"{json.dumps(record)}\n" for record in records).encode())


def test_resource_records_are_pages(tmp_path: Path) -> None:
    """Tools write them of files on a disk, without a response."""
    records = [
        ("https://a.example/page", "text/html", PAGE),
        ("https://a.example/paper.html", "text/html; charset=iso-8859-2", b"<p>poniedzia\xb3ku"),
        ("https://a.example/image.png", "image/png", b"\x89PNG"),
        ("file:///home/page.html", "text/html", PAGE),
    ]
    content = (
        warc_record(target, block, "resource", f"Content-Type: {kind}\r\n".encode()) for target, kind, block in records
    )
    inputs = Inputs([write(tmp_path / "pages.warc", b"".join(content))], PAIRS)
    assert [(page.url, page.content_type, page.body) for page in inputs.pages()] == records[:2]
    assert inputs.refused == {"not_html": 1, "url": 1}


def test_a_redirect_to_nowhere_is_left_out(tmp_path: Path) -> None:
    moved = b"HTTP/1.1 301 Moved\r\nLocation: %b\r\n\r\n"
    records = (warc_record("https://a.example/1", moved % to) for to in (b"http://[x", b"mailto:a@a.example"))
    inputs = Inputs([write(tmp_path / "pages.warc", b"".join(records))], PAIRS)
    assert not list(inputs.pages())
    assert inputs.refused == {"http_301": 2}


def test_content_codings_are_undone(tmp_path: Path) -> None:
    packed, plain = gzip.compress(PAGE, mtime=0), dict.fromkeys((None, b"", b"identity"), PAGE)
    gzipped = dict.fromkeys((b"GZIP", b"x-gzip", b"identity, gzip"), packed) | {b"gzip, br": brotli.compress(packed)}
    others = {b"deflate": zlib.compress(PAGE), b"br": brotli.compress(PAGE), b"zstd": zstd.compress(PAGE)}
    coded = plain | gzipped | others
    inputs = Inputs([archive(tmp_path, *coded.items())], PAIRS)
    found = {list(coded)[int(page.url.rpartition("/")[2])]: page.body for page in inputs.pages()}
    assert found == dict.fromkeys(coded, PAGE)
    assert not inputs.refused
    assert html_of(open_archive([tmp_path]), "https://a.example/0") == PAGE.decode()


def test_what_cannot_be_undone_is_left_out_and_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bomb = gzip.compress(bytes(MAX_BODY + 1))
    packed = bytes(range(256))
    path = archive(tmp_path, (b"secret", packed), (b"br", packed), (b"gzip", bomb), (b"secret", packed), (None, PAGE))
    inputs = Inputs([path], PAIRS)
    assert [page.url for page in inputs.pages()] == ["https://a.example/4"]
    assert inputs.refused == {"coding": 4}
    assert [record.message for record in caplog.records if "left out" in record.message] == [
        "https://a.example/0: unknown content coding ['secret']; such pages are left out"
    ]


def test_texts_are_read_from_wet_files(tmp_path: Path) -> None:
    plain, rendered = b"One line\n\nand another", b"<p>a rendered page, which has a response too"
    path = write(
        tmp_path / "x.warc.wet.gz",
        warc_record("https://a.example/0", plain, "conversion", b"Content-Type: text/plain\r\n")
        + warc_record("https://a.example/1", rendered, "conversion", b"Content-Type: text/html\r\n"),
    )
    for given in (tmp_path, path):
        (page,) = Inputs([given], PAIRS).pages()
        assert (page.url, page.body, page.text) == ("https://a.example/0", None, "One line\nand another")


@pytest.mark.parametrize("packed", ["", *PACKERS])
@pytest.mark.parametrize("kind", ["jsonl", "ndjson"])
def test_what_is_no_text_among_texts_is_counted(tmp_path: Path, kind: str, packed: str) -> None:
    lines = [f'{{"url": "https://a.example/{number}", "text": "{number}"}}' for number in range(3)]
    strange = ["", '{"url": "https://a.example/x", "text": null}']
    content = "\n".join([*strange, lines[0], "", *strange, "{", lines[1], lines[2]])
    inputs = Inputs([write(tmp_path / f"texts.{kind}{packed}", content.encode())], PAIRS)
    assert [page.text for page in inputs.pages()] == ["0", "1", "2"]
    assert inputs.damaged == {"no_record": 6}


def test_texts_are_read_from_json_lines(tmp_path: Path) -> None:
    records = (
        {"url": "https://a.example/1", "text": "One line\n\nand another", "language": "en"},
        {"url": "https://a.example/2", "text": "Una", "title": "Dos", "switches": [["en", "https://a.example/1"]]},
        {"url": "no address", "text": ""},
    )
    inputs = Inputs([texts(tmp_path, records)], PAIRS)
    first, second = inputs.pages()
    assert (first.text, first.language, first.title) == ("One line\nand another", "eng", "")
    assert (second.text, second.language, second.title) == ("Una", None, "Dos")
    assert second.switches == (("en", "https://a.example/1"),)
    assert inputs.refused == {"url": 1}


LONG = """
import sys
from pathlib import Path
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.inputs import Inputs

def peak():
    # ru_maxrss begins with that of the process of the tests
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

before = peak()
inputs = Inputs([Path(sys.argv[1])], LanguagePairs.parse("eng-spa"))
print(*(page.url for page in inputs.pages()), inputs.refused["line_too_long"])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts.jsonl", "texts.jsonl.gz"])
def test_a_line_of_any_length_takes_no_memory(tmp_path: Path, name: str) -> None:
    text = json.dumps({"url": "https://a.example/", "text": "x"}).encode() + b"\n"
    endless = text.replace(b'"x"', b'"' + b"x" * (6 * MAX_RECORD) + b'"')
    content = text + endless + text
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith("gz") else content)
    command = [sys.executable, "-c", LONG, str(tmp_path / name)]
    found, kilobytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert found == "https://a.example/ https://a.example/ 1"
    assert int(kilobytes) < 3 * MAX_RECORD >> 10


def test_a_packed_line_without_end_is_no_reason_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_SKIPPED", 1 << 20)
    (tmp_path / "texts.jsonl.gz").write_bytes(gzip.compress(bytes(2 * MAX_RECORD), 1))
    with pytest.raises(ArchiveError, match=r"texts\.jsonl\.gz: cannot be read after line 1 "):
        list(Inputs([tmp_path / "texts.jsonl.gz"], PAIRS).pages())


def test_a_text_is_cut_as_that_of_a_page(tmp_path: Path) -> None:
    lines = {"many": "x\n" * (MAX_LINES + 9), "long": "x" * (MAX_TEXT + 9), "empty": "\n" * MAX_TEXT + "end"}
    records = [{"url": f"https://a.example/{name}", "text": text, "title": text} for name, text in lines.items()]
    many, long, empty = Inputs([texts(tmp_path, records)], PAIRS).pages()
    assert many.text.count("\n") == MAX_LINES - 1
    assert (len(long.text), empty.text) == (MAX_TEXT, "")
    assert {len(page.title) <= MAX_TITLE for page in (many, long, empty)} == {True}


@pytest.mark.parametrize(
    "more",
    [
        *({"title": 3}, {"language": ["en"]}, {"switches": [["es", None]]}, {"switches": 1}),
        *({"alternates": "es"}, {"alternates": {"es": "/es"}}, {"alternates": [["es"]]}),
    ],
    ids=str,
)
def test_values_of_another_kind_are_counted(tmp_path: Path, more: dict[str, object]) -> None:
    good = {"url": "https://a.example/1", "text": "One"}
    inputs = Inputs([texts(tmp_path, [good | more, good])], PAIRS)
    assert [page.url for page in inputs.pages()] == ["https://a.example/1"]
    assert inputs.refused == {"no_record": 1}


@pytest.mark.parametrize("name", ["other.warc", "../secret.warc", "/dev/zero", "pipe.warc.gz", "text.warc", 3])
@pytest.mark.parametrize("offset", [0, -1, 1 << 70, "0", None])
def test_documents_whose_records_are_no_records(tmp_path: Path, name: Any, offset: Any) -> None:
    """A crawl from elsewhere may name any file; what it kept of the page is read."""
    folder = tmp_path / "crawl"
    folder.mkdir()
    os.mkfifo(folder / "pipe.warc.gz")
    (folder / "text.warc").write_text("no WARC")
    archive(tmp_path, (None, b"<p>secret")).rename(tmp_path / "secret.warc")
    document = {"url": "https://a.example/1", "text": "kept", "warc_file": name, "warc_offset": offset}
    others = {"url": "https://a.example/2", "text": "no archive"}, ["no document"], {"url": "https://a.example/3"}
    lines = (gzip.compress(json.dumps(line).encode()) for line in (document, *others))
    (folder / "documents.jsonl.gz").write_bytes(b"".join(lines))
    inputs = Inputs([folder], PAIRS)
    assert [(page.text, page.body) for page in inputs.pages()] == [("kept", None), ("no archive", None)]
    sound = name == "other.warc" and offset == 0
    assert inputs.damaged == {"no_record": 2} | ({} if sound else {"damaged_record": 1})


@pytest.mark.parametrize("line", ["{", "[]", '{"url": "https://a.example/"}', '{"url": 1, "text": "x"}'])
def test_a_line_that_is_no_text_is_named_at_once(tmp_path: Path, line: str) -> None:
    with pytest.raises(ArchiveError, match=r"texts\.jsonl: line 1 "):
        Inputs([write(tmp_path / "texts.jsonl", f"{line}\n".encode())], PAIRS)
