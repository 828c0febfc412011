"""The pages behind the paths that a user names: crawls, WARC and WET files, frozen sites, JSON Lines of texts."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.http import Response
from scrapy.statscollectors import DummyStatsCollector

from bilingual_crawler.archive.errors import ArchiveError
from bilingual_crawler.archive.files import open_warc
from bilingual_crawler.archive.records import parse_conversion, parse_response
from bilingual_crawler.archive.sites import Source, find_sources
from bilingual_crawler.characters import one_line
from bilingual_crawler.languages import from_bcp47
from bilingual_crawler.pages.formats import HTML, ONLY_HTML, format_of
from bilingual_crawler.pairing.reading import RawPage
from bilingual_crawler.pairing.texts import has_texts, read_texts
from bilingual_crawler.records import CRAWL, DOCUMENTS, PAIRS, read_json_lines, read_tsv
from bilingual_crawler.urls.canonical import canonicalise, registered_domain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.archive.files import WarcFile
    from bilingual_crawler.archive.records import ArchivedResponse
    from bilingual_crawler.language_pairs import LanguagePairs

logger = logging.getLogger(__name__)

RENDERED = "text/html; charset=utf-8"
"""What a conversion record of a crawl holds."""
_TEXT = "text/plain"
"""What a conversion record of a WET file holds."""
_CODINGS = {*ACCEPTED_ENCODINGS, b"x-gzip"}
MAX_BODY = 20 * 1024 * 1024
"""Bytes of a page after decompression beyond which it is left out."""


class Inputs:
    """Pages and redirects of some paths; raises ArchiveError at once if one of them cannot be read.

    A folder with ``documents.jsonl.gz`` is the output of a crawl, a file that ends in ``.jsonl`` or ``.jsonl.gz`` has a
    text on each line, and everything else is an archive, of which texts (WET) and documents in *formats* are read.
    Pages in languages of *pairs* that a crawl was not asked for are read from its archive. Redirects, including the
    alias bases of frozen sites, and pairs are complete once the pages have been read.
    """

    def __init__(self, paths: Sequence[Path], pairs: LanguagePairs, formats: Collection[str] = ONLY_HTML) -> None:
        self._formats = formats
        self._crawls = [path for path in paths if (path / DOCUMENTS).exists()]
        self._unkept = {folder: _unkept(folder, pairs) for folder in self._crawls}
        for folder, urls in self._unkept.items():
            if urls and not any(folder.glob("*.warc.gz")):
                raise ArchiveError(
                    folder,
                    f"{len(urls)} pages in a language of {pairs} were no documents, and there is no archive of them",
                )
        self._texts = [path for path in paths if has_texts(path)]
        for path in self._texts:
            next(read_texts(path), None)
        archives = [path for path in paths if path not in (*self._crawls, *self._texts)]
        self._sources = find_sources(archives) if archives else []
        self.redirects: dict[str, str] = {}
        """URL to the URL that answers for it."""
        self.alias_bases: dict[str, str] = {}
        """Start of a URL to the start that a frozen site has instead."""
        self.announced: Counter[tuple[str, str]] = Counter()
        """Pairs that crawls have found between the documents of two registered domains."""
        self.refused: Counter[str] = Counter()
        """Responses that were left out, by reason."""
        self._decompression = _decompression()
        for source in self._sources:
            self.redirects.update(source.redirects)
            self.alias_bases.update(dict.fromkeys(source.alias_bases, source.base or ""))

    def pages(self) -> Iterator[RawPage]:
        """Every document with status 200, in the order of the inputs."""
        for folder in self._crawls:
            yield from self._crawled(folder)
            if unkept := self._unkept[folder]:
                (archive,) = find_sources(folder)
                yield from self._archived(replace(archive, pages=unkept))
        for source in self._sources:
            yield from self._archived(source)
        for path in self._texts:
            for record in read_texts(path):
                if page := self._kept(record):
                    yield page

    def _crawled(self, folder: Path) -> Iterator[RawPage]:
        for row in read_tsv(folder / CRAWL):
            if row.get("location"):
                self.redirects[row["url"]] = row["location"]
        for row in read_tsv(folder / PAIRS):
            one, other = registered_domain(row["url_a"]), registered_domain(row["url_b"])
            if one != other:
                self.announced[one, other] += 1
        files: dict[str, WarcFile] = {}
        for record in read_json_lines(folder / DOCUMENTS):
            page = self._kept(record)
            if page is None:
                continue
            name, body, content_type = record["warc_file"], None, None
            links: tuple[str, ...] = ()
            if name and (folder / name).exists():
                if name not in files:
                    files[name] = open_warc(folder / name)
                archived = files[name].read(record["warc_offset"])
                response, rendered = parse_response(archived), parse_conversion(archived)
                content_type, links = _headers(response) if response else (RENDERED, ())
                # what the crawl kept of a PDF is all that there is to compare
                if format_of(content_type, page.url) == HTML:
                    body = self._body(response) if response else rendered
            yield replace(
                page,
                body=body,
                content_type=content_type,
                link_headers=links,
                warc_file=str(folder / name) if name else None,
                warc_offset=record["warc_offset"],
            )

    def _kept(self, record: Mapping[str, Any]) -> RawPage | None:
        """What was kept of a page; None, counted, if its address is none."""
        url = canonicalise(record["url"])
        if url is None:
            self.refused["url"] += 1
            return None
        return RawPage(
            url,
            None,
            title=one_line(record.get("title") or ""),
            text=_in_lines(record["text"]),
            alternates=tuple((tag, url) for tag, url in record.get("alternates") or ()),
            switches=tuple((tag, url) for tag, url in record.get("switches") or ()),
            language=from_bcp47(record.get("language") or ""),
        )

    def _archived(self, source: Source) -> Iterator[RawPage]:
        for path in source.files:
            file = open_warc(path)
            for offset, head in file.heads():
                url = canonicalise(head.url)
                if url is None or (source.pages and head.url not in source.pages):
                    continue
                if head.kind == b"conversion" and head.media_type.startswith(_TEXT):
                    text = (parse_conversion(file.read(offset)) or b"").decode("utf-8", "replace")
                    yield RawPage(url, None, text=_in_lines(text), warc_file=str(path), warc_offset=offset)
                response = parse_response(file.read(offset)) if head.status else None
                if response is None:
                    continue
                if response.status != 200:
                    self._note(url, response)
                    continue
                content_type, links = _headers(response)
                if format_of(content_type, url) not in self._formats:
                    self.refused["not_html"] += 1
                    continue
                body = self._body(response)
                if body is not None:
                    yield RawPage(url, body, content_type, links, warc_file=str(path), warc_offset=offset)

    def _note(self, url: str, response: ArchivedResponse) -> None:
        location = response.headers.get(b"location")
        target = canonicalise(urljoin(url, location[0].decode("utf-8", "replace"))) if location else None
        if target and 300 <= response.status < 400:
            self.redirects[url] = target
        else:
            self.refused[f"http_{response.status}"] += 1

    def _body(self, response: ArchivedResponse) -> bytes | None:
        """The body without content coding; None, counted and logged once, if it cannot be undone."""
        named = b",".join(response.headers.get(b"content-encoding", [])).lower().split(b",")
        codings = [coding for coding in map(bytes.strip, named) if coding not in (b"", b"identity")]
        if not codings:
            return response.body
        try:
            if unknown := set(codings) - _CODINGS:
                raise ValueError(f"unknown content coding {sorted(unknown)!r}")
            coded = Response(response.url, headers={"Content-Encoding": b",".join(codings)}, body=response.body)
            return self._decompression.process_response(Request(response.url), coded).body
        except Exception as error:
            problem = str(error)
        self.refused["coding"] += 1
        if self.refused["coding"] == 1:
            logger.warning(f"{response.url}: {problem}; such pages are left out")
        return None


def _unkept(folder: Path, pairs: LanguagePairs) -> frozenset[str]:
    """The pages that the crawl in *folder* did not keep as documents, and that are in a language of *pairs*."""
    rows = (row for row in read_tsv(folder / CRAWL) if row["outcome"] == "other-language")
    return frozenset(row["url"] for row in rows if pairs.side(row["language"]))


def _in_lines(text: str) -> str:
    """*text* without empty lines, and without characters that would break a line."""
    return "\n".join(filter(None, map(one_line, text.split("\n"))))


def _decompression() -> HttpCompressionMiddleware:
    """What undoes content codings in a crawl."""
    crawler = Crawler(Spider, {"DOWNLOAD_MAXSIZE": MAX_BODY, "DOWNLOAD_WARNSIZE": 0})
    # it gets one of its own when it crawls, which this one never does
    crawler.stats = DummyStatsCollector(crawler)
    return HttpCompressionMiddleware.from_crawler(crawler)


def _headers(response: ArchivedResponse) -> tuple[str | None, tuple[str, ...]]:
    """``Content-Type`` and the values of ``Link``."""
    types = response.headers.get(b"content-type")
    links = tuple(value.decode("latin-1") for value in response.headers.get(b"link", ()))
    return (types[0].decode("latin-1") if types else None), links
