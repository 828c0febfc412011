"""Seeds in the forms that users write."""

from __future__ import annotations

import os
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import UsageError
from support import webserver
from support.certificates import certificate
from support.crawls import crawl
from support.webserver import QuietServer, bilingual_site, serve

from bilingual_crawler.crawl.context import Seed
from bilingual_crawler.crawl.spiders.arguments import parse_seeds
from bilingual_crawler.storage.records import read_json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (("likelihood",), ("0.9",)),
        (("likelihood", "url_a", "url_b", "time"), ("0.9", "", "", "2026-01-01T00:00:00Z")),
    ],
)
def test_columns_and_the_last_line_end_may_be_missing_in_a_table_of_sites(
    tmp_path: Path, columns: Sequence[str], row: Sequence[str]
) -> None:
    table = tmp_path / "sites.tsv"
    rows = [(name, url, "bilingual", *row) for name, url in (("a.example", A), ("b.example", B))]
    table.write_text("\n".join(map("\t".join, (("site", "entry", "verdict", *columns), *rows))))
    assert [seed.url for seed in parse_seeds(str(table))] == [A, B]
    # as a crash leaves it
    table.write_text(table.read_text().rpartition("\t")[0])
    assert [seed.url for seed in parse_seeds(str(table))] == [A]


def test_a_table_of_sites_with_what_is_no_address_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "sites.tsv"
    table.write_text("site\tentry\tverdict\turl_a\na.example\tsee below\tbilingual\t\n")
    with pytest.raises(UsageError, match=r"sites.tsv, a.example: seed 'see below' is not an http"):
        parse_seeds(str(table))


@pytest.mark.parametrize("text", [f"{A} and some words", f"{A},x", "no-such-file", "missing.txt", "sites.tsv", "  "])
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


def test_the_site_that_a_seed_is_redirected_to_is_crawled_also_after_a_resume(tmp_path: Path) -> None:
    with (
        serve(bilingual_site(3), address="127.0.0.2") as new,
        serve({}, redirects={"/moved": f"{new.url}/en/"}) as old,
    ):
        site = f"<urlset><url><loc>{new.url}/fi/</loc></url></urlset>"
        new.pages = {**new.pages, "/sitemap.xml": site}
        new.robots = f"Sitemap: {new.url}/sitemap.xml"
        more = ("-s", "JOBDIR=job", "-a", "scope=host", "-s", "BILINGUAL_ALLOWED_NETWORKS=127.0.0.2")
        cut = crawl(tmp_path, f"{old.url}/moved", *more, "-a", "max_pages=2")
        assert cut.returncode == 0, cut.stderr
        resumed = crawl(tmp_path, f"{old.url}/moved", *more)
    assert resumed.returncode == 0, resumed.stderr
    found = {record["url"].removeprefix(new.url) for record in read_json_lines(tmp_path / "out" / "documents.jsonl.gz")}
    assert found == {path for path in new.pages if path.startswith(("/en/", "/es/"))}
    assert new.asked["/fi/"] == 1


def with_tls(context: ssl.SSLContext, plain: Callable[[socket.socket], None]) -> type[QuietServer]:
    """A server whose port speaks TLS, but for the first connection, which is cut; *plain* answers those without TLS."""
    cut = iter([True])

    class Server(QuietServer):
        def finish_request(self, request: Any, client_address: Any) -> None:
            if request.recv(1, socket.MSG_PEEK) != b"\x16":
                plain(request)
            elif not next(cut, False):
                super().finish_request(context.wrap_socket(request, server_side=True), client_address)

    return Server


def to_https(request: socket.socket) -> None:
    lines = request.recv(1 << 16).decode().split("\r\n")
    host = next(line.removeprefix("Host: ") for line in lines if line.startswith("Host: "))
    location = f"https://{host}{lines[0].split()[1]}"
    request.sendall(f"HTTP/1.1 301 Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())


@pytest.mark.parametrize("plain", [to_https, socket.socket.close])
def test_https_is_tried_again_if_http_leads_there_or_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: Callable[[socket.socket], None]
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    monkeypatch.setattr(webserver, "QuietServer", with_tls(context, plain))
    with serve(bilingual_site(2)) as site:
        result = crawl(tmp_path, f"{site.url.removeprefix('http://')}/en/", "-s", "BILINGUAL_BACKOFF_START=0.1")
    assert result.returncode == 0, result.stderr
    secure = site.url.replace("http", "https")
    found = {record["url"].removeprefix(secure) for record in read_json_lines(tmp_path / "out" / "documents.jsonl.gz")}
    assert found == {path for path in site.pages if path.startswith(("/en/", "/es/"))}
