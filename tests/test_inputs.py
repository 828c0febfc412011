"""What is read of archives before documents are aligned."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest
from backports import zstd

from bilingual_crawler.archive import ArchiveError
from bilingual_crawler.language_pairs import LanguagePairs
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.pairing.of_records import MAX_BODY

if TYPE_CHECKING:
    from pathlib import Path

PAGE = b"<html>two words"
PAIRS = LanguagePairs.parse("eng-spa")


def archive(folder: Path, *pages: tuple[bytes | None, bytes]) -> Path:
    """A WARC file of pages, each with its content coding."""
    path = folder / "pages.warc"
    with path.open("wb") as file:
        for number, (coding, body) in enumerate(pages):
            header = b"Content-Encoding: %b\r\n" % coding if coding is not None else b""
            block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%b\r\n%b" % (header, body)
            target = b"https://a.example/%d" % number
            head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %b\r\nContent-Length: %d" % (
                target,
                len(block),
            )
            file.write(head + b"\r\n\r\n" + block + b"\r\n\r\n")
    return path


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (None, PAGE),
        (b"", PAGE),
        (b"identity", PAGE),
        (b"GZIP", gzip.compress(PAGE, mtime=0)),
        (b"x-gzip", gzip.compress(PAGE, mtime=0)),
        (b"deflate", zlib.compress(PAGE)),
        (b"br", brotli.compress(PAGE)),
        (b"zstd", zstd.compress(PAGE)),
        (b"identity, gzip", gzip.compress(PAGE, mtime=0)),
        (b"gzip, br", brotli.compress(gzip.compress(PAGE, mtime=0))),
    ],
)
def test_content_codings_are_undone(tmp_path: Path, coding: bytes | None, body: bytes) -> None:
    inputs = Inputs([archive(tmp_path, (coding, body))], PAIRS)
    assert [page.body for page in inputs.pages()] == [PAGE]
    assert not inputs.refused


def test_what_cannot_be_undone_is_left_out_and_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bomb = gzip.compress(bytes(MAX_BODY + 1))
    path = archive(tmp_path, (b"secret", PAGE), (b"br", b"no brotli"), (b"gzip", bomb), (b"secret", PAGE), (None, PAGE))
    inputs = Inputs([path], PAIRS)
    assert [page.url for page in inputs.pages()] == ["https://a.example/4"]
    assert inputs.refused == {"coding": 4}
    assert [record.message for record in caplog.records if "left out" in record.message] == [
        "https://a.example/0: unknown content coding [b'secret']; such pages are left out"
    ]


def test_texts_are_read_from_wet_files(tmp_path: Path) -> None:
    records = (("text/plain", "One line\n\nand another"), ("text/html", "<p>a rendered page, which has a response too"))
    with gzip.open(tmp_path / "x.warc.wet.gz", "wb") as file:
        for number, (kind, text) in enumerate(records):
            head = f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: https://a.example/{number}\r\n"
            head += f"Content-Type: {kind}\r\nContent-Length: {len(text)}"
            file.write(f"{head}\r\n\r\n{text}\r\n\r\n".encode())
    for path in (tmp_path, tmp_path / "x.warc.wet.gz"):
        pages = list(Inputs([path], PAIRS).pages())
        assert [(page.url, page.body, page.text) for page in pages] == [
            ("https://a.example/0", None, "One line\nand another")
        ]


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.jsonl.gz"])
def test_texts_are_read_from_json_lines(tmp_path: Path, name: str) -> None:
    records = (
        {"url": "https://a.example/1", "text": "One line\n\nand another", "language": "en"},
        {"url": "https://a.example/2", "text": "Una", "title": "Dos", "switches": [["en", "https://a.example/1"]]},
        {"url": "no address", "text": ""},
    )
    content = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    inputs = Inputs([tmp_path / name], PAIRS)
    first, second = inputs.pages()
    assert (first.text, first.language, first.title) == ("One line\nand another", "eng", "")
    assert (second.text, second.language, second.title) == ("Una", None, "Dos")
    assert second.switches == (("en", "https://a.example/1"),)
    assert inputs.refused == {"url": 1}


@pytest.mark.parametrize("line", ["{", "[]", '{"url": "https://a.example/"}', '{"url": 1, "text": "x"}'])
def test_a_line_that_is_no_text_is_named_at_once(tmp_path: Path, line: str) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(ArchiveError, match=r"texts\.jsonl: line 1 "):
        Inputs([path], PAIRS)
