import gzip
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crawls import crawl, documents, ended_well, outcomes, summary
from support.scripted import Answer, Scripted, scripted
from support.webserver import ALIGNED, html, varied

from bilingual_crawler.pages import sitemap
from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource
from bilingual_crawler.pages.sitemap import parse_sitemap
from bilingual_crawler.storage.records import read_tsv

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
    codes = {"cz": "ces", "jp-JP": "jpn", "kr": "kor", "xx": None}
    links = "".join(f"<xhtml:link rel='alternate' hreflang='{code}' href='/{code}'/>" for code in codes)
    found = pages(urlset(f"<url><loc>/en</loc>{links}</url>"))
    assert found == {"/en": None} | {f"/{code}": language for code, language in codes.items()}


def test_index() -> None:
    entries = "<sitemap><loc>/a.xml.gz</loc></sitemap><sitemap><loc>/b.xml</loc></sitemap>"
    found = parse_sitemap(f"<sitemapindex {XMLNS}>{entries}</sitemapindex>".encode(), URL)
    assert found == ([], ["https://example.org/a.xml.gz", "https://example.org/b.xml"], {})


def test_an_entry_is_read_whatever_is_around_it_and_in_it() -> None:
    for body, paths in (
        ("<urlset><url><loc>https://example.org/a</loc></url></urlset>", ["/a"]),
        ("<?xml-stylesheet href='/s.xsl'?><!-- made --><url><loc>https://example.org/a</loc></url>", ["/a"]),
        (f"<urlset {XMLNS}><!-- <url><loc>/a</loc></url> --></url><url><loc>/b</loc></url></urlset>", ["/b"]),
        # a prefix may be undeclared
        ("<urlset><url><loc>/a</loc><xhtml:link rel='alternate' hreflang='es' href='/es/a'/></url></urlset>",
         ["/a", "/es/a"]),
        ("<urlset><url><loc>/a</loc><image:image><image:loc>/photo</image:loc></image:image></url></urlset>", ["/a"]),
        ("<urlset><url><a:b:c/><loc>/a</loc></url><url><:loc>/b</:loc></url></urlset>", ["/a", "/b"]),
        ("<urlset><sm:url><sm:loc>/a</sm:loc></sm:url><sm:url><sm:loc>/b</sm:loc></sm:url></urlset>", ["/a", "/b"]),
        ("<urlset><url><sm:loc>https://a.fi/x</sm:loc></url></urlset>", ["https://a.fi/x"]),
        # what an entry holds of others neither ends it nor is a page
        ("<rss><channel><item><image><url>/i.png</url></image><link>/x</link></item></channel></rss>", ["/x"]),
        ("<urlset><url><video:video><video:url>/v</video:url></video:video><loc>/x</loc></url></urlset>", ["/x"]),
        ("<feed><entry><source><link href='https://b.fi/'/></source><link href='/x'/></entry></feed>", ["/x"]),
    ):  # fmt: skip
        assert list(pages(body.encode())) == paths


def test_broken_xml() -> None:
    for entries, expected in (
        ("<url><loc>/a?x=1&y=2</loc></url>", ["/a?x=1&y=2"]),
        ("<url><loc>/a</loc></urlx><url><loc>/b</loc></url>", ["/a", "/b"]),
        ("<url><loc>/a</loc></url><url><loc>/b", ["/a"]),
        ("<url><loc></loc></url><url/><url><loc>mailto:x</loc></url>", []),
        ("<url><loc><![CDATA[https://example.org/c]]></loc></url>", ["/c"]),
    ):
        found = pages(urlset(entries)[: -len("</urlset>")])
        assert [path for path in found if path in expected] == expected


LINK = "<xhtml:link rel='alternate' hreflang='es' href='/es/{0}'>"


@pytest.mark.parametrize(
    "entry",
    [
        "<url><loc>/{0}</loc></url></url>", "<url><loc>/{0}</loc></url></urlset>", "<url><loc>/{0}</url>",
        "<url><loc>/{0}</loc><lastmod>2024</url>", "<url><loc>/{0}</loc>",
        "<url><!-- page --><loc><!-- its address -->/{0}</loc></url>",
        f"<url><loc>/{{0}}</loc>{LINK}</url>",
        f"<url><loc>/{{0}}</loc>{LINK}</xhtml:link></url></url>",
    ],
)  # fmt: skip
def test_tags_that_do_not_match(entry: str) -> None:
    found = pages(urlset("".join(map(entry.format, range(600)))))
    assert {f"/{i}" for i in range(599)} <= set(found)
    assert [found.get(f"/es/{i}") for i in range(599)] == ["spa" if "xhtml" in entry else None] * 599


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


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_and_what_only_says_so(codec: str) -> None:
    text = f"<?xml version='1.0' encoding='UTF-16'?><urlset {XMLNS}><url><loc>/a%C3%A9?x=1&y=ñ</loc></url></urlset>"
    for body in (text.encode(codec), gzip.compress(text.encode(codec))):
        assert list(pages(body)) == ["/a%C3%A9?x=1&y=%C3%B1"]


@pytest.mark.parametrize("before", ["\ufeff\ufeff", "\ufeff\n", "<br />\n<b>Warning</b>: x<br />\n", "Notice: x\n"])
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


def test_one_gzip_member_or_two() -> None:
    body = urlset(ALTERNATES)
    packed = gzip.compress(body)
    assert pages(packed) == pages(gzip.compress(packed)) == pages(body)
    assert len(pages(gzip.compress(body[:300], mtime=0) + gzip.compress(body[300:]))) == 4
    for length in range(1, 60):
        first = "/" + random.Random(length).randbytes(length).hex()
        members = [gzip.compress(f"https://a.example{path}\n".encode(), mtime=0) for path in (first, "/last")]
        assert "https://a.example/last" in pages(b"".join(members))


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


def test_not_a_sitemap() -> None:
    for body in (
        b"", b"<", b"\x1f\x8b", b"\x1f\x8bgarbage", b"<html><body>Not found", gzip.compress(b"x" * 9999, mtime=0)[:30],
        zlib.compress(b"x"),
    ):  # fmt: skip
        assert parse_sitemap(body, URL) == ([], [], {})


STARTS = [b"", b"<urlset>", b"\x1f\x8b\x08\x00", b"<url><loc>", b"<url><x:", b"\xff\xfe<\0", b"http"]


@given(st.binary(max_size=200), st.sampled_from(STARTS))
def test_never_raises(body: bytes, start: bytes) -> None:
    parse_sitemap(start + body, URL)


HOME = html("en", "index", "")
ENGLISH, SPANISH = ([f"/{letter}{n}" for n in range(6)] for letter in "pq")


def entries(site: Scripted, paths: list[str]) -> str:
    return "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in paths)


def opaque_site(sitemap: Callable[[], bytes | str], robots: str, **more: Any) -> Callable[[str], Answer]:
    """Six pages in two languages, which only a sitemap names."""
    pages = {"/": HOME} | varied({path: html("en" if path in ENGLISH else "es", "", "") for path in ENGLISH + SPANISH})

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(robots, kind="text/plain")
        if path == "/sitemap.xml":
            return Answer(sitemap(), kind="application/xml", **more)
        return Answer(pages[path]) if path in pages else Answer(status=404)

    return answer


def test_a_sitemap_announces_translations(tmp_path: Path) -> None:
    """Also those of the pages that a resume fetches, although the sitemap was read before."""

    def sitemap() -> str:
        entry = "<url><loc>{0}{1}</loc><xhtml:link rel='alternate' hreflang='es' href='{0}{2}'/></url>"
        return urlset("".join(entry.format(site.url, *both) for both in zip(ENGLISH, SPANISH, strict=True))).decode()

    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with scripted(opaque_site(sitemap, "Sitemap: /sitemap.xml")) as site:
        assert crawl(tmp_path, f"{site.url}/", *ALIGNED, *job, "-a", "max_pages=5").returncode == 0
        assert 0 < sum("/p" in url for url in documents(tmp_path)) < 6
        ended_well(crawl(tmp_path, f"{site.url}/", *ALIGNED, *job))
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
def test_a_sitemap_that_no_robots_txt_names_is_found_by_its_bytes_and_read_once(tmp_path: Path, robots: str) -> None:
    with scripted(opaque_site(lambda: urlset(entries(site, ENGLISH + SPANISH)), robots)) as site:
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
        body = urlset(entries(site, ENGLISH) + f"<!--{'x' * (22 << 20)}-->")
        return gzip.compress(body, 1) if headers else body

    with scripted(opaque_site(sitemap, "Sitemap: /sitemap.xml", headers=headers)) as site:
        assert crawl(tmp_path, f"{site.url}/").returncode == 0
    assert len(documents(tmp_path)) == 7
