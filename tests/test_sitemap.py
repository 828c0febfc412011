from __future__ import annotations

import gzip
import random
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crawls import crawl, documents, outcomes, summary
from support.scripted import Answer, scripted
from support.webserver import ALIGNED, html, varied

from bilingual_crawler.pages import sitemap
from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource
from bilingual_crawler.pages.robots import sitemaps_in
from bilingual_crawler.pages.sitemap import parse_sitemap
from bilingual_crawler.storage.records import read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

URL = "https://example.org/sitemap.xml"
XMLNS = (
    "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:xhtml='http://www.w3.org/1999/xhtml' "
    "xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'"
)


def urlset(entries: str, prolog: str = "<?xml version='1.0' encoding='UTF-8'?>") -> bytes:
    return f"{prolog}<urlset {XMLNS}>{entries}</urlset>".encode()


def pages(body: bytes) -> dict[str, str | None]:
    return {link.url.removeprefix("https://example.org"): link.hreflang for link in parse_sitemap(body, URL)[0]}


ALTERNATES = """
<url><loc> https://example.org/en/a?x=1&amp;y=2 </loc><lastmod>2024-01-01</lastmod>
 <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en/a?x=1&amp;y=2"/>
 <xhtml:link rel="alternate" hreflang="is-IS" href="https://example.org/is/a"/>
 <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en/a?x=1&amp;y=2"/>
 <image:image><image:loc>https://example.org/photo</image:loc></image:image></url>
<url><loc>https://example.org/plain</loc></url><url><loc>https://example.org/file.pdf</loc></url>"""


def test_alternates() -> None:
    links, nested, announced = parse_sitemap(urlset(ALTERNATES), URL)
    assert nested == []
    assert {page: [(link.hreflang, link.url) for link in found] for page, found in announced.items()} == {
        "https://example.org/en/a?x=1&y=2": [("isl", "https://example.org/is/a")]
    }
    assert links == [
        Link("https://example.org/en/a?x=1&y=2", "", LinkSource.SITEMAP, LinkPosition.HEAD, "eng", alternate=True),
        Link("https://example.org/is/a", "", LinkSource.SITEMAP, LinkPosition.HEAD, "isl", alternate=True),
        Link("https://example.org/plain", "", LinkSource.SITEMAP, LinkPosition.HEAD),
        Link("https://example.org/file.pdf", "", LinkSource.SITEMAP, LinkPosition.HEAD),
    ]


def test_alternates_with_other_codes() -> None:
    entry = "<url><loc>/en</loc>{}</url>"
    links = "".join(
        f"<xhtml:link rel='alternate' hreflang='{code}' href='/{code}'/>" for code in ("cz", "jp-JP", "kr", "xx")
    )
    assert pages(urlset(entry.format(links))) == {"/en": None, "/cz": "ces", "/jp-JP": "jpn", "/kr": "kor", "/xx": None}


def test_index() -> None:
    entries = "<sitemap><loc>/a.xml.gz</loc></sitemap><sitemap><loc>/b.xml</loc></sitemap>"
    assert parse_sitemap(f"<sitemapindex {XMLNS}>{entries}</sitemapindex>".encode(), URL) == (
        [],
        ["https://example.org/a.xml.gz", "https://example.org/b.xml"],
        {},
    )


def test_without_namespace() -> None:
    assert pages(b"<urlset><url><loc>https://example.org/a</loc></url></urlset>") == {"/a": None}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("<url><loc>/a?x=1&y=2</loc></url>", ["/a?x=1&y=2"]),
        ("<url><loc>/a</loc></urlx><url><loc>/b</loc></url>", ["/a", "/b"]),
        ("<url><loc>/a</loc></url><url><loc>/b", ["/a"]),
        ("<url><loc></loc></url><url/><url><loc>mailto:x</loc></url>", []),
        ("<url><loc><![CDATA[https://example.org/c]]></loc></url>", ["/c"]),
    ],
)
def test_broken_xml(entries: str, expected: list[str]) -> None:
    found = pages(urlset(entries)[: -len("</urlset>")])
    assert [path for path in found if path in expected] == expected


LINK = "<xhtml:link rel='alternate' hreflang='es' href='/es/{0}'>"


@pytest.mark.parametrize(
    "entry",
    [
        "<url><loc>/{0}</loc></url></url>",
        "<url><loc>/{0}</loc></url></urlset>",
        "<url><loc>/{0}</url>",
        "<url><loc>/{0}</loc><lastmod>2024</url>",
        "<url><loc>/{0}</loc>",
        "<url><!-- page --><loc><!-- its address -->/{0}</loc></url>",
        f"<url><loc>/{{0}}</loc>{LINK}</url>",
        f"<url><loc>/{{0}}</loc>{LINK}</xhtml:link></url></url>",
    ],
)
def test_tags_that_do_not_match(entry: str) -> None:
    found = pages(urlset("".join(map(entry.format, range(600)))))
    assert {f"/{i}" for i in range(599)} <= set(found)
    assert [found.get(f"/es/{i}") for i in range(599)] == ["spa" if "xhtml" in entry else None] * 599


def test_entries_in_comments_are_not_read() -> None:
    assert list(pages(urlset("<!-- <url><loc>/a</loc></url> --></url><url><loc>/b</loc></url>"))) == ["/b"]


RSS = (
    "<rss version='2.0'><channel><link>/news</link><image><url>/a.png</url></image>"
    "<item><title>A</title><link> /a?x=1&amp;y=2 </link></item><item><link>/b</link></item></channel></rss>"
)
ATOM = (
    "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/news'/><entry><link rel='self' href='/a.xml'/>"
    "<link rel='alternate' hreflang='en' href='/a?x=1&amp;y=2'/></entry><entry><link href='/b'/></entry></feed>"
)


@pytest.mark.parametrize("feed", [RSS, ATOM, "<?xml version='1.0'?>" + RSS, "Notice: x\n" + ATOM])
def test_feeds(feed: str) -> None:
    assert pages(feed.encode()) == {"/a?x=1&y=2": None, "/b": None}


@pytest.mark.parametrize(
    "entries",
    [
        "<url><loc>/a</loc><xhtml:link rel='alternate' hreflang='es' href='/es/a'/></url>",
        "<url><loc>/a</loc><image:image><image:loc>/photo</image:loc></image:image></url><url><loc>/es/a</loc></url>",
        "<url><a:b:c/><loc>/a</loc></url><url><:loc>/es/a</:loc></url>",
        "<sm:url><sm:loc>/a</sm:loc></sm:url><sm:url><sm:loc>/es/a</sm:loc></sm:url>",
    ],
)
def test_a_prefix_may_be_undeclared(entries: str) -> None:
    assert list(pages(f"<urlset>{entries}</urlset>".encode())) == ["/a", "/es/a"]


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_and_what_only_says_so(codec: str) -> None:
    text = f"<?xml version='1.0' encoding='UTF-16'?><urlset {XMLNS}><url><loc>/a%C3%A9?x=1&y=ñ</loc></url></urlset>"
    for body in (text.encode(codec), gzip.compress(text.encode(codec))):
        assert list(pages(body)) == ["/a%C3%A9?x=1&y=%C3%B1"]


def test_an_entry_that_is_the_root() -> None:
    assert pages(b"<?xml-stylesheet href='/s.xsl'?><!-- made --><url><loc>https://example.org/a</loc></url>") == {
        "/a": None
    }


@pytest.mark.parametrize(
    "before", ["\ufeff\ufeff", "\ufeff\n", "<br />\n<b>Warning</b>: x in y<br />\n", "Notice: x\n"]
)
@pytest.mark.parametrize("prolog", ["<?xml version='1.0' encoding='UTF-8'?>", ""])
def test_what_a_program_writes_before_it_is_skipped(before: str, prolog: str) -> None:
    assert pages(before.encode() + urlset("<url><loc>https://example.org/é</loc></url>", prolog)) == {"/%C3%A9": None}


def test_entities_are_not_expanded() -> None:
    prolog = (
        "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>"
        "<!ENTITY file SYSTEM 'file:///etc/hostname'>]>"
    )
    alternate = "<xhtml:link rel='alternate' hreflang='en' href='/z&b;'/>"
    entries = f"<url><loc>/x&b;</loc></url><url><loc>/y&file;</loc>{alternate}</url>"
    assert list(pages(urlset(entries, prolog))) == ["/x&b;", "/y&file;", "/z&b;"]


@pytest.mark.parametrize("pack", [gzip.compress, lambda body: gzip.compress(gzip.compress(body, mtime=0))])
def test_gzip(pack: object) -> None:
    assert callable(pack)
    assert pages(pack(urlset(ALTERNATES))) == pages(urlset(ALTERNATES))


def test_two_gzip_members() -> None:
    body = urlset(ALTERNATES)
    assert len(pages(gzip.compress(body[:300], mtime=0) + gzip.compress(body[300:]))) == 4
    for length in range(1, 60):
        first = "/" + random.Random(length).randbytes(length).hex()
        packed = [gzip.compress(f"https://a.example{path}\n".encode(), mtime=0) for path in (first, "/last")]
        assert "https://a.example/last" in pages(b"".join(packed))


def test_damaged_gzip_is_read_up_to_the_error() -> None:
    body = urlset("".join(f"<url><loc>/{i * i}</loc></url>" for i in range(10_000)))
    packed = gzip.compress(body, mtime=0)
    middle = len(packed) // 2
    assert len(pages(packed[:-8] + bytes(8))) > 9900
    assert 4000 < len(pages(packed[:middle] + bytes(999) + packed[middle + 999 :])) < 10_000


def test_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_BYTES", 1000)
    body = urlset("".join(f"<url><loc>/{i}</loc></url>" for i in range(10_000)))
    assert 10 < len(pages(gzip.compress(body, mtime=0))) < 40
    assert 10 < len(pages(body)) < 40


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_text(codec: str) -> None:
    text = "https://example.org/a\r\n\r\nhttps://example.org/b \nnot a url\n"
    assert list(pages(text.encode(codec))) == ["/a", "/b"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"\x1f\x8b",
        b"\x1f\x8bgarbage",
        b"<html><body>Not found",
        gzip.compress(b"x" * 9999, mtime=0)[:30],
        zlib.compress(b"x"),
    ],
)
def test_not_a_sitemap(body: bytes) -> None:
    assert parse_sitemap(body, URL) == ([], [], {})


STARTS = [b"", b"<urlset>", b"\x1f\x8b\x08\x00", b"<url><loc>", b"<url><x:", b"\xff\xfe<\0", b"http"]


@given(st.binary(max_size=200), st.sampled_from(STARTS))
def test_never_raises(body: bytes, start: bytes) -> None:
    parse_sitemap(start + body, URL)


def test_robots() -> None:
    text = (
        "\ufeffSitemap: https://example.org/a.xml\nUser-agent: *\n  sitemap :https://example.org/b.xml # main\n"
        "SITEMAP: https://example.org/a.xml\nSitemap: /relative\n# Sitemap: https://example.org/c.xml\nSitemap:"
    )
    found = sitemaps_in(text, "https://example.org/robots.txt")
    assert found == [f"https://example.org/{name}" for name in ("a.xml", "b.xml", "relative")]


HOME = html("en", "index", "")
VERSIONS = {"en": {n: f"/p{n}" for n in range(6)}, "es": {n: f"/q{n}" for n in range(6)}}


def opaque_site(sitemap: Callable[[], bytes | str], robots: str, **more: Any) -> Callable[[str], Answer]:
    """Six pages in two languages, which only a sitemap names."""
    pages = varied({path: html(language, "", "") for language, paths in VERSIONS.items() for path in paths.values()})

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(robots, kind="text/plain")
        if path == "/sitemap.xml":
            return Answer(sitemap(), kind="application/xml", **more)
        return Answer(pages[path]) if path in pages else Answer(HOME) if path == "/" else Answer(status=404)

    return answer


@pytest.mark.parametrize("runs", [1, 2])
def test_a_sitemap_announces_translations(tmp_path: Path, runs: int) -> None:
    """Also those of the pages that a resume fetches, although the sitemap was read before."""

    def sitemap() -> str:
        entry = "<url><loc>{0}{1}</loc><xhtml:link rel='alternate' hreflang='es' href='{0}{2}'/></url>"
        both = zip(VERSIONS["en"].values(), VERSIONS["es"].values(), strict=True)
        return urlset("".join(entry.format(site.url, *paths) for paths in both)).decode()

    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with scripted(opaque_site(sitemap, "Sitemap: /sitemap.xml")) as site:
        for budget in (5, 0)[2 - runs :]:
            result = crawl(tmp_path, f"{site.url}/", *ALIGNED, *job, "-a", f"max_pages={budget}")
            assert result.returncode == 0, result.stderr
            assert budget == 0 or len(documents(tmp_path)) < 6
        assert site.paths().count("/sitemap.xml") == 1
    announced = {url: url.replace("/p", "/q") for url in documents(tmp_path) if "/p" in url}
    assert len(announced) == 6
    assert {url: one["alternates"] for url, one in documents(tmp_path).items() if "/p" in url} == {
        url: [["spa", other]] for url, other in announced.items()
    }
    rows = list(read_tsv(tmp_path / "out/pairs.tsv"))
    assert {row["url_a"]: row["url_b"] for row in rows} == announced
    assert {row["method"] for row in rows} == {"hreflang"}


@pytest.mark.parametrize("robots", ["", "User-agent: *\nDisallow: /admin/"])
def test_a_sitemap_that_no_robots_txt_names_is_found_by_its_first_bytes_and_read_once(
    tmp_path: Path, robots: str
) -> None:
    def sitemap() -> str:
        paths = (path for paths in VERSIONS.values() for path in paths.values())
        return urlset("".join(f"<url><loc>{site.url}{path}</loc></url>" for path in paths)).decode()

    with scripted(opaque_site(sitemap, robots)) as site:
        assert crawl(tmp_path, f"{site.url}/").returncode == 0
    assert len(documents(tmp_path)) == 13
    assert site.paths().count("/sitemap.xml") == 2


def test_a_guessed_sitemap_that_is_not_there_is_no_lost_page(tmp_path: Path) -> None:
    with scripted(lambda path: Answer(HOME) if path == "/" else Answer(status=404)) as site:
        assert crawl(tmp_path, f"{site.url}/").returncode == 0
    assert site.paths().count("/sitemap.xml") == 1
    assert outcomes(tmp_path, site.url) == {"/": "document"}
    assert summary(tmp_path)["dropped"] == {}


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}])
def test_a_sitemap_may_have_more_bytes_than_a_page(tmp_path: Path, headers: dict[str, str]) -> None:
    def sitemap() -> bytes:
        entries = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in VERSIONS["en"].values())
        body = urlset(entries + f"<!--{'x' * (22 << 20)}-->")
        return gzip.compress(body, 1) if headers else body

    with scripted(opaque_site(sitemap, "Sitemap: /sitemap.xml", headers=headers)) as site:
        assert crawl(tmp_path, f"{site.url}/").returncode == 0
    assert len(documents(tmp_path)) == 7


@pytest.mark.parametrize(
    "body",
    [
        "<rss><channel><item><image><url>/i.png</url></image><link>https://a.fi/x</link></item></channel></rss>",
        "<urlset><url><video:video><video:url>/v</video:url></video:video><loc>https://a.fi/x</loc></url></urlset>",
        "<urlset><url><sm:loc>https://a.fi/x</sm:loc></url></urlset>",
        "<feed><entry><source><link href='https://b.fi/'/></source><link href='https://a.fi/x'/></entry></feed>",
    ],
)
def test_what_an_entry_holds_of_others_neither_ends_it_nor_is_a_page(body: str) -> None:
    pages, _, _ = parse_sitemap(body.encode(), "https://a.fi/sitemap.xml")
    assert [page.url for page in pages] == ["https://a.fi/x"]
