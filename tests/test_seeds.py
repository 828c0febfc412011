"""Seeds in the forms that users write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from scrapy.exceptions import UsageError
from test_crawl import crawl
from webserver import bilingual_site, serve

from bilingual_crawler.spiders.seeds import Seed, parse_seeds

if TYPE_CHECKING:
    from pathlib import Path

A, B = "http://a.example/", "http://b.example/"


@pytest.mark.parametrize(
    "text", [f"{A},{B}", f"{A} {B}", f"{A}\t{B}", f" {A}, {B},", f"{A}\n{B}", f"\ufeff{A},{B}", f"{A}\u00a0{B}"]
)
def test_addresses_may_have_commas_or_blanks_between_them(text: str) -> None:
    assert [seed.url for seed in parse_seeds(text)] == [A, B]


@pytest.mark.parametrize(
    "content",
    [
        f"{A}\n{B}\n",
        f"{A}\r\n\r\n{B}",
        f"\ufeff{A}\n{B}",
        f"# sites\n{A} # a note\n\t{B}\n",
        f"{A}\t{B}",
        f"{A}, {B}",
        f"{A},{B},",
    ],
)
def test_files_may_have_notes_marks_and_several_addresses_on_a_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(content.encode())
    assert [seed.url for seed in parse_seeds(str(file))] == [A, B]


def test_commas_and_fragments_of_addresses_stay_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_text("http://a.example/x,y#z\nb.example/1\nlocalhost:8000\n")
    assert parse_seeds(str(file)) == [
        Seed("http://a.example/x,y", False),
        Seed("https://b.example/1", True),
        Seed("https://localhost:8000/", True),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{A}\n{B} my second site", "line 2: seed 'my' is not an http"),
        (f"{A}\n\nfile:///etc/passwd", "line 3: seed 'file:///etc/passwd'"),
        (f'"{A}"', "line 1: seed "),
        ("# nothing", "no URL in it"),
    ],
)
def test_what_is_no_address_is_refused_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text(content)
    with pytest.raises(UsageError, match=message):
        parse_seeds(str(file))


@pytest.mark.parametrize("text", [f"{A} and some words", f"{A},x", "no-such-file", "missing.txt", "  "])
def test_an_argument_that_is_no_address_and_no_file_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text(A, encoding="utf-16")
    with pytest.raises(UsageError, match="cannot read"):
        parse_seeds(str(file))


def test_a_pipe_a_loop_and_an_endless_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "endless.txt").touch()
    os.truncate(tmp_path / "endless.txt", 2 << 30)
    for name in ("pipe.txt", "loop.txt", "endless.txt"):
        with pytest.raises(UsageError, match=rf"seeds={tmp_path / name}: cannot read"):
            parse_seeds(str(tmp_path / name))


def test_seeds_that_give_nothing_are_named_and_a_crawl_of_such_fails(tmp_path: Path) -> None:
    with serve(bilingual_site(2), redirects={"/old": "/gone", "/start": "/en/"}) as site:
        for name in ("failing", "partly", "replayed"):
            (tmp_path / name).mkdir()
        failing = crawl(tmp_path / "failing", f"{site.url}/missing {site.url}/old")
        partly = crawl(tmp_path / "partly", f"{site.url}/start {site.url}/missing")
    assert failing.returncode == 1
    for seed in ("/missing", "/old"):
        assert f"{site.url}{seed} (http-404)" in failing.stderr
    assert partly.returncode == 0, partly.stderr
    assert f"1 of 2 seeds gave no page: {site.url}/missing (http-404)" in partly.stderr
    archive = ("-s", f"BILINGUAL_REPLAY={tmp_path / 'partly' / 'out'}")
    replayed = crawl(tmp_path / "replayed", "http://127.0.0.1:1/en/", *archive)
    assert replayed.returncode == 1
    assert "http://127.0.0.1:1/en/ (http-404)" in replayed.stderr
