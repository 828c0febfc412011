import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from scrapy import Request, signals
from scrapy.exceptions import DownloadCancelledError, NotConfigured, StopDownload
from support.archives import ask, page, replay_crawler, warc_record, write_warc
from support.probe import Probe, crawl, serve

from bilingual_crawler.crawl.handlers import ReplayDownloadHandler
from bilingual_crawler.crawl.signals import ARCHIVED_DATE, MISSING_FLAG, REDIRECT_FLAG
from bilingual_crawler.storage import warc
from bilingual_crawler.storage.archive import Archive, Redirect, iter_responses, open_archive
from bilingual_crawler.storage.sites import alias_hosts, find_sources
from bilingual_crawler.storage.warc import ArchivedResponse, ArchiveError, Index, parse_response, text_key

HANDLER = "bilingual_crawler.crawl.handlers.ReplayDownloadHandler"
HANDLERS = {"http": HANDLER, "https": HANDLER}

SITE = "https://site.is/"
PAGES = ("", "is/", "is/a/", "en/a/", "en/b%C3%A9")
COPIES = {"is/index.html": "is/", "en/b%C3%A9.html": "en/b%C3%A9", "odd": "odd"}
LINKS = (
    *("/is", "http://www.site.is/is/a/", "https://people.github.io/site/en/a/", "https://mirror.is/en/b%c3%a9"),
    *("/en/a/?ref=1", "/is/index.html", "/picture.png"),
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A frozen site in the shared format."""
    folder = tmp_path / "site"
    links = " ".join(f'<a href="{link}">x</a>' for link in LINKS)
    contents = {**dict(zip(PAGES, PAGES, strict=True)), **COPIES}
    raw = write_warc(folder, *(page(f"/{text} {links}", url=SITE + path) for path, text in contents.items()))
    with lzma.open(folder / "pages.warc.xz", "wb") as out:
        out.write(gzip.decompress(raw.read_bytes()))
    raw.unlink()
    with lzma.open(folder / "graph.tsv.xz", "wt") as out:
        out.writelines(f"{SITE}{path}\tisl\t500\t\n" for path in PAGES)
    (folder / "redirects.tsv").write_text(f"{SITE}is\t{SITE}is/\n{SITE}en/a/?ref=1\t{SITE}en/a/\n")
    aliases = ["https://people.github.io/site/", "mirror.is"]
    description = {"site": "site", "base": SITE, "home": SITE, "seeds": [SITE], "alias_bases": aliases}
    (folder / "site.json").write_text(json.dumps(description))
    return folder


def visible(probe: Probe) -> dict[str, dict[str, Any]]:
    """What a replay must reproduce."""
    framing = ("Content-Length", "Transfer-Encoding")
    return {
        url: {key: value for key, value in seen.items() if key not in ("location", "headers")}
        | {"headers": {name: value for name, value in seen["headers"].items() if name not in framing}}
        for url, seen in probe.pages.items()
    }


def test_replay_of_a_crawl_is_the_same_crawl(tmp_path: Path) -> None:
    usual: dict[str, Any] = {"BILINGUAL_WARC": True, "ROBOTSTXT_OBEY": True}
    with serve() as url:
        live = crawl(tmp_path / "live", url, **usual)
    archived: dict[str, Any] = {"DOWNLOAD_HANDLERS": HANDLERS, "BILINGUAL_REPLAY": str(tmp_path / "live")}
    again = crawl(tmp_path / "again", url, **usual, **archived)
    assert visible(again) == visible(live)
    assert len(live.pages) == 8
    assert live.pages[url + "gz"]["body"].startswith("<html>pressed</html>")
    assert again.pages[url + "caf%C3%A9"]["redirects"] == [url + "moved-far"]
    assert again.stats["bilingual/replay/responses"] == 11
    assert "bilingual/replay/missing" not in again.stats
    kept = [{(one.url, one.date, one.body) for one in iter_responses(tmp_path / name)} for name in ("live", "again")]
    assert kept[0] == kept[1]


def test_replay_of_a_site_folder(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    urls = (SITE, "https://www.site.is/nothing", "https://people.github.io/site", "https://mirror.is/is/")
    probe = crawl(out, *urls, BILINGUAL_WARC=True, DOWNLOAD_HANDLERS=HANDLERS, BILINGUAL_REPLAY=[str(site)])
    found = {url for url, seen in probe.pages.items() if seen["status"] == 200}
    assert found == {SITE + path for path in PAGES}
    assert probe.pages["https://www.site.is/nothing"]["status"] == 404
    assert MISSING_FLAG in probe.pages["https://site.is/picture.png"]["flags"]
    kept = list(iter_responses(out))
    assert {one.url for one in kept if one.status == 200} == found
    # redirects of a replay are kept, so that it can be replayed in turn
    assert {one.status for one in kept} == {200, 301}


def test_aliases_of_a_site(site: Path, tmp_path: Path) -> None:
    answers = {
        "https://site.is/is": "is/",
        "http://www.site.is/is": "is/",
        "https://people.github.io/site/is": "is/",
        "https://people.github.io/site/": "",
        "https://people.github.io/site": "",
        "http://mirror.is": "",
        "https://site.is/en/a/?ref=1": "en/a/",
        "http://site.is:80/en/b%c3%a9": "en/b%C3%A9",
        "https://site.is/is/index.html": "is/",
        "http://mirror.is/en/b%C3%A9.html": "en/b%C3%A9",
        "http://site.is/odd": "odd",
    }
    none = ("https://people.github.io/sites/", "https://site.is/is/?x", "https://site.is/robots.txt")
    archive = open_archive(site)
    found = {asked: archive.find(asked) for asked in (*answers, *none)}
    assert found == {asked: Redirect(SITE + answer) for asked, answer in answers.items()} | dict.fromkeys(none)
    other = write_warc(tmp_path / "other", page("x"))
    assert (alias_hosts(f"{site}, {other}"), alias_hosts(other)) == (["people.github.io", "mirror.is"], [])


def answer(archive: Archive, url: str) -> ArchivedResponse:
    found = archive.find(url)
    assert isinstance(found, ArchivedResponse)
    return found


def test_first_good_response_wins(tmp_path: Path) -> None:
    url = "http://a.b/"
    write_warc(tmp_path, page("busy", url=url, status=503), page("one", url=url), page("two", url=url))
    write_warc(tmp_path, page("three", url=url))
    found = answer(open_archive(tmp_path), url)
    assert found.status == 200
    assert found.body == b"<html>one</html>"


def test_archived_redirect_between_schemes_does_not_loop(tmp_path: Path) -> None:
    moved = {"status": 301, "headers": [(b"Location", b"https://a.b/")], "body": b""}
    archive = open_archive(write_warc(tmp_path, {"url": "http://a.b/", **moved}, page("one", url="https://a.b/")))
    assert answer(archive, "http://a.b/").status == 301
    assert answer(archive, "https://a.b/").status == 200
    assert archive.find("http://www.a.b/") == Redirect("https://a.b/")


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "warc": gzip.decompress,
    "warc.gz": bytes,
    "warc.xz": lambda whole: lzma.compress(gzip.decompress(whole), preset=0),
    "warc.zst": lambda whole: zstd.compress(gzip.decompress(whole)),
    "one-member.warc.gz": lambda whole: gzip.compress(gzip.decompress(whole)),
}
"""By kind of file, how a ``.warc.gz`` becomes one."""


@pytest.mark.parametrize("kind", PACKED)
def test_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    source = write_warc(tmp_path / "source", *(page(f"{'x' * 70_000}{number}") for number in range(5)))
    path = tmp_path / f"pages.{kind}"
    path.write_bytes(PACKED[kind](source.read_bytes()))
    archive = open_archive(path)
    for number in range(5):
        assert answer(archive, f"https://example.com/{number}").body.endswith(f"x{number}</html>".encode())
    assert not archive.cut_files
    assert len(list(iter_responses(path))) == 5


@pytest.mark.parametrize("kind", [kind for kind in PACKED if kind != "warc.zst"])
def test_cut_off_file_serves_what_precedes_the_cut(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    noise = [os.urandom(50_000).hex() for _ in range(20)]
    data = PACKED[kind](write_warc(tmp_path / "source", *map(page, noise)).read_bytes())
    path = tmp_path / f"pages.{kind}"
    # in the middle of a page: an archive that ends where a page ends is whole
    path.write_bytes(data[: len(data) * 29 // 40])
    handlers = [ReplayDownloadHandler(replay_crawler(path)) for _ in range(2)]
    found = [handlers[0]._archive.find(f"https://example.com/{number}") for number in range(20)]
    served = [one.body for one in found if isinstance(one, ArchivedResponse)]
    assert served == [page(body)["body"] for body in noise[: len(served)]]
    assert found[len(served) :] == [None] * (20 - len(served))
    assert 10 <= len(served) < 20
    assert [record.message for record in caplog.records if str(path) in record.message] == [
        f"{path} is cut off or damaged: only the records before the damage are used"
    ]
    for handler in handlers:
        assert handler.crawler.stats.get_value("bilingual/replay/cut_files") == 1


def test_damage_in_the_middle(tmp_path: Path) -> None:
    path = write_warc(tmp_path, *(page("x") for _ in range(5)))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    archive = open_archive(path)
    assert not archive.cut_files
    assert archive.left_out["damaged_record"] >= 1
    assert archive.find("https://example.com/0") is not None
    assert archive.find("https://example.com/4") is not None


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "no such file or folder"),
        (lambda path: path.mkdir(), r"no \*\.warc"),
        (lambda path: path.write_text("hello"), "not a WARC"),
        (lambda path: path.write_bytes(gzip.compress(b"hello")), "not a WARC"),
        (lambda path: path.write_bytes(lzma.compress(b"hello")), "not a WARC"),
        (lambda path: path.write_bytes(b""), "no HTTP response"),
        (lambda path: path.write_bytes(b"\x1f\x8b"), "no HTTP response"),
        (lambda path: path.write_bytes(lzma.compress(b"WARC/1.0")[:20]), "no HTTP response"),
    ],
)
def test_what_is_no_archive(tmp_path: Path, make: Callable[[Path], object], problem: str) -> None:
    path = tmp_path / "archive"
    make(path)
    with pytest.raises(ArchiveError, match=f"{path}: .*{problem}"):
        open_archive([path])
    with pytest.raises(NotConfigured, match="BILINGUAL_REPLAY"):
        ReplayDownloadHandler(replay_crawler(path))


def test_no_archive_and_damaged_site(site: Path) -> None:
    with pytest.raises(ArchiveError, match="no archive to replay"):
        open_archive([])
    (site / "redirects.tsv").write_text("only one column\n")
    with pytest.raises(ArchiveError, match="damaged site folder"):
        find_sources(site)


def test_archive_is_opened_once(tmp_path: Path) -> None:
    path = write_warc(tmp_path, page("x"))
    first = open_archive(path)
    assert open_archive(str(path)) is first
    write_warc(tmp_path, page("y"))
    assert open_archive(tmp_path) is not first


def test_handler_keeps_to_the_download_limits(tmp_path: Path) -> None:
    crawler = replay_crawler(write_warc(tmp_path, page("x" * 100, ip="192.0.2.1")), DOWNLOAD_MAXSIZE=50)
    handler = ReplayDownloadHandler(crawler)
    with pytest.raises(DownloadCancelledError, match="113 bytes"):
        ask(handler, Request("https://example.com/0"))
    response = ask(handler, Request("https://example.com/0", meta={"download_maxsize": 0}))
    assert response.status == 200
    assert str(response.ip_address) == "192.0.2.1"
    assert response.text.startswith("<html>xxx")
    assert ask(handler, Request("https://example.com/0", method="HEAD", meta={"download_maxsize": 0})).body == b""
    request = Request("http://example.com/0")
    response = ask(handler, request)
    assert (response.status, response.headers["Location"]) == (301, b"https://example.com/0")
    assert response.flags == [REDIRECT_FLAG]
    assert request.meta[ARCHIVED_DATE] is None


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("name", ["headers_received", "bytes_received"])
def test_handler_can_be_stopped(tmp_path: Path, name: str, fail: bool) -> None:
    crawler = replay_crawler(write_warc(tmp_path, page("x")))
    handler = ReplayDownloadHandler(crawler)

    def stop(**_: object) -> None:
        raise StopDownload(fail=fail)

    crawler.signals.connect(stop, getattr(signals, name), weak=False)
    request = Request("https://example.com/0")
    if fail:
        with pytest.raises(StopDownload) as caught:
            ask(handler, request)
        response = caught.value.response
    else:
        response = ask(handler, request)
    assert response
    assert response.flags == ["download_stopped"]
    assert response.body == (b"" if name == "headers_received" else b"<html>x</html>")


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n5\r\nde", b"abcde"),
        (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n", b"<html>plain\r\n</html>", b"<html>plain\r\n</html>"),
        *(
            (b"Content-Encoding: %b\r\n" % coding, body, body)
            for coding in (b"gzip", b"br", b"zstd", b"deflate", b"UTF-8", b"gzip, br", b"none")
            for body in (b"<html>decoded</html>", "\ufeff\r\n<html>dekodiert: ä</html>".encode())
        ),
        (b"X-Folded: one\r\n two\r\nX-Bare:\r\nrubbish\r\n", b"<html>", b"<html>"),
    ],
)
def test_responses_as_other_archivers_store_them(head: bytes, body: bytes, expected: bytes) -> None:
    block = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body
    named = b"WARC/1.1\r\nwarc-type: response\r\nWARC-Target-URI: <http://a.b/>\r\n"
    response = parse_response(named + b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block))
    assert response
    assert response.url == "http://a.b/"
    assert response.body == expected
    assert b"content-encoding" not in response.headers
    assert response.headers.get(b"x-folded", [b"one two"]) == [b"one two"]


@pytest.mark.parametrize("end", [b"\n\n", b"\n\r\n", b"\r\n\n"])
def test_lines_of_a_header_may_end_otherwise_than_those_of_the_body(end: bytes) -> None:
    body = b"<p>one</p>\r\n\r\n<p>two</p>"
    block = b"HTTP/1.1 200 OK\nContent-Type: text/html" + end + body
    response = parse_response(warc_record("http://a.b/", block))
    assert response
    assert (response.headers, response.body) == ({b"content-type": [b"text/html"]}, body)


def test_other_records_do_not_answer(tmp_path: Path) -> None:
    records = (
        warc_record("dns:a.b", b"HTTP/1.1 200 OK\r\n\r\n"),
        warc_record("http://a.b/", b"<html>", "resource"),
        warc_record("http://a.b/", b"HTTP/1.1 200 OK\r\n\r\n", "revisit"),
        warc_record("http://a.b/text", b"no HTTP here\r\n\r\n"),
        warc_record("http://a.b/good", b"HTTP/1.0 200\n\n<html>"),
    )
    (tmp_path / "mixed.warc").write_bytes(b"".join(records))
    archive = open_archive(tmp_path / "mixed.warc")
    assert archive.find("http://a.b/") is None
    assert archive.find("http://a.b/text") is None
    assert answer(archive, "http://a.b/good").body == b"<html>"


def test_urls_of_records_are_normal_and_bare_in_the_index() -> None:
    normal = {
        "HTTP://A.b": "http://a.b/",
        "https://a.b:443/x#y": "https://a.b/x",
        "http://a.b:8080/": "http://a.b:8080/",
        "http://me:secret@a.b/": "http://a.b/",
        "http://a.b/%7Ex%2f%c3%a9?q=%41": "http://a.b/~x%2F%C3%A9?q=A",
        "http://a.b/é b?": "http://a.b/%C3%A9%20b",
        "http://a.b/x?utm_source=c&q=1#!y": "http://a.b/x?q=1",
        "http://a.b/x?q[1]='": "http://a.b/x?q%5B1%5D=%27",
        "http://[::1/": "http://[::1/",
    }
    assert {url: warc.record_url(url) for url in normal} == normal
    assert {url: warc.record_url(url) for url in normal.values()} == {url: url for url in normal.values()}
    bare = {"https://www.a.b/c?d": "a.b/c?d", "http://x.y/z": "a.b/", "http://x.y/z/q": "a.b/q"}
    bare |= {"http://x.y/zz": "x.y/zz"}
    assert {url: warc.bare_url(url, {"x.y/z/": "a.b/"}) for url in bare} == bare


def test_index_prefers_rank_then_order() -> None:
    index = Index()
    expected: dict[int, tuple[int, int]] = {}
    for place in range(20_000):
        key, rank = text_key(str(place % 7001)), place * 31 % 3
        index.add(key, place, rank)
        expected[key] = min(expected.get(key, (9, 0)), (rank, place))
    index.sort()
    assert len(index) == len(expected)
    assert all(index.get(key) == place for key, (_, place) in expected.items())
    assert index.get(text_key("other")) is None
    empty = Index()
    empty.sort()
    assert empty.get(1) is None


def test_frozen_site(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "sites" / "dev" / "irhpc"
    description = json.loads((folder / "site.json").read_text())
    seeds = (*description["seeds"], *(f"https://{host}/" for host in alias_hosts(folder)))
    probe = crawl(tmp_path, *seeds, DOWNLOAD_HANDLERS=HANDLERS, BILINGUAL_REPLAY=[str(folder)])
    found = {url for url, seen in probe.pages.items() if seen["status"] == 200}
    assert len(found) >= description["reachable_pages"]
    assert all(url.startswith(description["base"]) for url in found)
    assert found <= {one.url for one in iter_responses(folder)}
    assert probe.stats["bilingual/replay/redirects"] > 0


def test_memory_of_an_archive_is_its_index(tmp_path: Path) -> None:
    archive = Archive(find_sources(write_warc(tmp_path, *(page("x") for _ in range(100)))))
    assert len(archive._index) == 200
    assert archive._index._sorted.nbytes + archive._index._found.nbytes == 200 * 16
