"""Seeds in the forms that users write."""

import os
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from support import webserver
from support.certificates import certificate
from support.crawls import crawl, documents, ended_well
from support.webserver import QuietServer, bilingual_site, serve

from bilingual_crawler.crawl.context import Seed
from bilingual_crawler.crawl.spiders.arguments import parse_seeds

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "seeds.txt"


BOTH = (f"{A},{B}", f"{A} {B}", f"{A}\t{B}", f" {A}, {B},", f"{A}\n{B}", f"\ufeff{A},{B}", f"{A}\u00a0{B}")


@pytest.mark.parametrize("text", [*BOTH, f"{A}\r\n\r\n{B}", f"\ufeff{A}\n{B}", f"# sites\n{A} # a note\n\t{B}\n"])
def test_addresses_may_have_commas_or_blanks_between_them_and_notes_in_a_file(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert [seed.url for seed in parse_seeds(str(file))] == [A, B]
    assert text not in BOTH or [seed.url for seed in parse_seeds(text)] == [A, B]


def test_commas_and_fragments_of_addresses_stay_in_a_file(file: Path) -> None:
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
        (A.encode("utf-16").decode("latin-1"), "cannot read"),
    ],
)
def test_what_is_no_address_is_refused_with_its_line(file: Path, content: str, message: str) -> None:
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError, match=message):
        parse_seeds(str(file))


@pytest.mark.parametrize("more", [{}, {"url_a": "", "url_b": "", "time": "2026-01-01T00:00:00Z"}])
def test_columns_and_the_last_line_end_may_be_missing_in_a_table_of_sites(tmp_path: Path, more: dict[str, str]) -> None:
    table = tmp_path / "sites.tsv"
    rows = (("a.example", A, "bilingual", "0.9"), ("b.example", B, "bilingual", "0.9"))
    columns = ("site", "entry", "verdict", "likelihood", *more)
    table.write_text("\n".join("\t".join(row) for row in (columns, *((*row, *more.values()) for row in rows))))
    assert [seed.url for seed in parse_seeds(str(table))] == [A, B]
    # as a crash leaves it
    table.write_text(table.read_text().rpartition("\t")[0])
    assert [seed.url for seed in parse_seeds(str(table))] == [A]
    table.write_text("site\tentry\tverdict\turl_a\na.example\tsee below\tbilingual\t\n")
    with pytest.raises(UsageError, match=r"sites.tsv, a.example: seed 'see below' is not an http"):
        parse_seeds(str(table))


@pytest.mark.parametrize("text", [f"{A} and some words", f"{A},x", "no-such-file", "missing.txt", "sites.tsv", "  "])
def test_an_argument_that_is_no_address_and_no_file_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds(text)


def test_a_pipe_a_loop_and_an_endless_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "endless.txt").touch()
    os.truncate(tmp_path / "endless.txt", 2 << 30)
    for name in ("pipe.txt", "loop.txt", "endless.txt"):
        with pytest.raises(UsageError, match=rf"seeds={tmp_path / name}: cannot read"):
            parse_seeds(str(tmp_path / name))


def test_seeds_that_give_nothing_are_named_and_a_crawl_of_such_fails(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("failing", "partly", "replayed")]
    for folder in folders:
        folder.mkdir()
    with serve(bilingual_site(2), redirects={"/old": "/gone", "/start": "/en/"}) as site:
        failing = crawl(folders[0], f"{site.url}/missing {site.url}/old")
        partly = crawl(folders[1], f"{site.url}/start {site.url}/missing")
    replayed = crawl(folders[2], "http://127.0.0.1:1/en/", "-s", f"BILINGUAL_REPLAY={folders[1] / 'out'}")
    assert [failing.returncode, partly.returncode, replayed.returncode] == [1, 0, 1], partly.stderr
    for seed in ("/missing", "/old"):
        assert f"{site.url}{seed} (http-404)" in failing.stderr
    assert f"1 of 2 seeds gave no page: {site.url}/missing (http-404)" in partly.stderr
    assert "http://127.0.0.1:1/en/ (http-404)" in replayed.stderr


def found_by_crawl(folder: Path, seed: str, url: str, *more: str) -> set[str]:
    """Paths of the documents of the site at *url*."""
    ended_well(crawl(folder, seed, *more))
    return {found.removeprefix(url) for found in documents(folder)}


def test_the_site_that_a_seed_is_redirected_to_is_crawled_also_after_a_resume(tmp_path: Path) -> None:
    with ExitStack() as stack:
        new = stack.enter_context(serve(bilingual_site(3), address="127.0.0.2"))
        old = stack.enter_context(serve({}, redirects={"/moved": f"{new.url}/en/"}))
        new.pages = {**new.pages, "/sitemap.xml": f"<urlset><url><loc>{new.url}/fi/</loc></url></urlset>"}
        new.robots = f"Sitemap: {new.url}/sitemap.xml"
        more = ("-s", "JOBDIR=job", "-a", "scope=host", "-s", "BILINGUAL_ALLOWED_NETWORKS=127.0.0.2")
        found_by_crawl(tmp_path, f"{old.url}/moved", new.url, *more, "-a", "max_pages=2")
        found = found_by_crawl(tmp_path, f"{old.url}/moved", new.url, *more)
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
        seed, secure = f"{site.url.removeprefix('http://')}/en/", site.url.replace("http", "https")
        found = found_by_crawl(tmp_path, seed, secure, "-s", "BILINGUAL_BACKOFF_START=0.1")
    assert found == {path for path in site.pages if path.startswith(("/en/", "/es/"))}
