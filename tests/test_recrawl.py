"""A recrawl downloads what has changed, and takes the rest from the archive of the earlier crawl."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from support.archives import page as archived
from support.archives import write_warc
from support.crawls import crawl as crawl_site
from support.crawls import documents, each, ended_well, pairs, summary
from support.scripted import Answer, scripted
from support.webserver import bilingual_site, html, varied
from warcio.archiveiterator import ArchiveIterator

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.middlewares.warc import KnownPagesMiddleware
from bilingual_crawler.crawl.signals import ENTRY
from bilingual_crawler.crawl.spiders.arguments import parse_arguments
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.warc import ArchivedResponse

PAGES = 20
SPA_NEW, ENG_NEW = "/es/new.html", "/en/new.html"
CHANGED = {f"/{lang}/page-{number}.html" for lang in ("en", "es") for number in (3, 7)}
"""A tenth of the pages."""
LINKS_TO_NEW = "/en/page-3.html"
GONE = "/es/page-11.html"


def crawl(folder: Path, url: str, *settings: str) -> None:
    folder.mkdir()
    usual = ("BILINGUAL_STALE_PAGES=0", "BILINGUAL_ENCODER=", "BILINGUAL_ALIGN=auto")
    result = ended_well(crawl_site(folder, f"{url}/en/", *each("-s", *usual, *settings), policy="gain"))
    assert "Traceback" not in result.stderr


def test_a_recrawl_downloads_what_has_changed_and_has_the_pairs_of_both_crawls(tmp_path: Path) -> None:
    pages = varied(bilingual_site(PAGES))
    modified = dict.fromkeys(pages, "Mon, 02 Nov 2026 10:00:00 GMT")

    def answer(path: str) -> Answer:
        if path not in pages:
            return Answer(status=404)
        if path.startswith("/en/"):
            return Answer(pages[path], headers={"Last-Modified": modified[path]})
        etag = hashlib.sha256(pages[path].encode()).hexdigest()
        return Answer(pages[path], headers={"ETag": f'"{etag}"', "Last-Modified": modified[path]})

    one, two = tmp_path / "one", tmp_path / "two"
    with scripted(answer) as site:
        crawl(one, site.url)
        before, everything = pairs(one, site), sum(size for _, size in site.sent)  # type: ignore[arg-type]
        assert before == {("/en/", "/es/")} | {(f"/en/page-{i}.html", f"/es/page-{i}.html") for i in range(PAGES)}

        for path in CHANGED:
            pages[path] = pages[path].replace("</body>", "<p>2026</p></body>")
            modified[path] = "Tue, 03 Nov 2026 10:00:00 GMT"
        pages[LINKS_TO_NEW] = pages[LINKS_TO_NEW].replace("</body>", f"<a href={ENG_NEW}>new</a></body>")
        for path, lang, other in ((ENG_NEW, "en", SPA_NEW), (SPA_NEW, "es", ENG_NEW)):
            link = f"<nav class=language-switcher><a href={other}>{'es' if lang == 'en' else 'en'}</a></nav>"
            pages[path] = html(lang, "new", f"{link}<p>{path}</p>")
            modified[path] = modified[LINKS_TO_NEW]
        del pages[GONE]
        site.sent.clear()
        crawl(two, site.url, f"BILINGUAL_KNOWN={one / 'out'}")
        new = {ENG_NEW, SPA_NEW}
        sent = [(path, size) for path, size in site.sent if size]
        assert sorted(path for path, _ in sent) == sorted(CHANGED | new)
        assert sum(size for path, size in sent if path not in new) <= everything / 10
        assert pairs(two, site) == before - {(GONE.replace("es", "en"), GONE)} | {(ENG_NEW, SPA_NEW)}  # type: ignore[arg-type]
        told = summary(two)
        found = {url.removeprefix(site.url) for url in documents(two)}
        assert found == {path for path in pages if path.startswith(("/en/", "/es/"))}
        assert told["known"] == {"unchanged": len(found - CHANGED - new), "changed": len(CHANGED)}
        assert told["aligned"] == "auto"
        assert site.paths().count("/robots.txt") == 2
        assert not any("If-" in request for request in site.requests if "robots.txt" in request)
    # the new folder needs the earlier one no more
    one.rename(tmp_path / "away")
    archive = open_archive(two / "out")
    for url in documents(two):
        page = archive.find(url)
        assert isinstance(page, ArchivedResponse)
        assert page.body.decode() == pages[url.removeprefix(site.url)]
        assert {b"last-modified"} <= page.headers.keys()
    check_revisits(two / "out", told["known"]["unchanged"])


def check_revisits(folder: Path, unchanged: int) -> None:
    """As another reader sees them."""
    responses: dict[str, str] = {}
    revisits = []
    with (folder / "crawl-00000.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file, verify_http=False):
            header = record.rec_headers.get_header
            if record.rec_type == "response":
                responses[header("WARC-Record-ID")] = header("WARC-Target-URI")
            elif record.rec_type == "revisit":
                # else pywb answers with the headers of the 304
                assert header("Content-Length") == "0"
                assert header("WARC-Profile").endswith("/revisit/server-not-modified")
                assert header("WARC-Refers-To-Date") <= header("WARC-Date")
                assert responses[header("WARC-Refers-To")] == header("WARC-Target-URI")
                revisits.append(header("WARC-Target-URI"))
    assert len(revisits) == len(set(revisits)) == unchanged


def test_a_page_that_is_archived_in_part_is_downloaded_again(tmp_path: Path) -> None:
    headers = [(b"ETag", b'"1"'), (b"Last-Modified", b"yesterday")]
    write_warc(
        tmp_path,
        archived("whole", url="http://a.b/whole", headers=headers),
        archived("part", url="http://a.b/part", headers=headers, truncated="length"),
        archived("gone", url="http://a.b/gone", headers=headers, status=404),
    )
    crawler: Any = get_crawler(settings_dict={"BILINGUAL_KNOWN": [str(tmp_path)]})
    CrawlContext.share(SimpleNamespace(), crawler)  # type: ignore[arg-type]
    known = KnownPagesMiddleware(crawler)

    def conditions(path: str, **meta: object) -> dict[bytes, list[bytes]]:
        request = Request(f"http://a.b/{path}", meta=meta)
        known.process_request(request)
        return dict(request.headers)

    asked = {b"If-None-Match": [b'"1"'], b"If-Modified-Since": [b"yesterday"]}
    assert conditions("whole", **{ENTRY: None}) == asked
    assert conditions("whole") == conditions("part", **{ENTRY: None}) == conditions("gone", **{ENTRY: None}) == {}


def test_what_is_no_earlier_crawl() -> None:
    for settings, message in (
        ({"BILINGUAL_KNOWN": "nowhere"}, "BILINGUAL_KNOWN: nowhere: no such file or folder"),
        ({"BILINGUAL_KNOWN": "."}, r"BILINGUAL_KNOWN: \.: no \*\.warc"),
        ({"BILINGUAL_KNOWN": "one", "BILINGUAL_REPLAY": "two"}, "BILINGUAL_KNOWN=one: asks the sites what has changed"),
    ):
        with pytest.raises(UsageError, match=message):
            parse_arguments(Settings(settings), pair="eng-spa", seeds="http://127.0.0.1/")
