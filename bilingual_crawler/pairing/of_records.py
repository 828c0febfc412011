"""WARC and WET records to pages."""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.http import Response
from scrapy.statscollectors import DummyStatsCollector

from bilingual_crawler.archive.records import parse_conversion, parse_head, parse_response
from bilingual_crawler.characters import one_line
from bilingual_crawler.files import LeftOut
from bilingual_crawler.pages.formats import ONLY_HTML, format_of
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT
from bilingual_crawler.pairing.reading import RawPage
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Collection

    from bilingual_crawler.archive.records import ArchivedResponse

logger = logging.getLogger(__name__)

RENDERED = "text/html; charset=utf-8"
"""What a conversion record of a crawl holds."""
TEXT = "text/plain"
"""What a conversion record of a WET file holds."""
MAX_BODY = 20 * 1024 * 1024
"""Bytes of a page after decompression beyond which it is left out."""
_CODINGS = {*ACCEPTED_ENCODINGS, b"x-gzip"}


class PagesOfRecords:
    """The pages of response records in *formats* with status 200, and of conversion records: texts, rendered pages."""

    def __init__(self, formats: Collection[str] = ONLY_HTML) -> None:
        self._formats = formats
        self._decompression = _decompression()
        self.redirects: dict[str, str] = {}
        """URL to the URL that answers for it."""
        self.refused = LeftOut()
        """Records that gave no page, by reason."""

    def page(self, record: bytes) -> RawPage | None:
        """The page in a complete record; None, counted, if there is none."""
        head = parse_head(record)
        url = canonicalise(head.url) if head is not None else None
        if head is None or url is None:
            self.refused["url"] += 1
            return None
        converted = parse_conversion(record)
        if converted is not None and head.media_type.startswith(TEXT):
            return RawPage(url, None, text=in_lines(converted.decode("utf-8", "replace")))
        if converted is not None:
            return RawPage(url, converted, RENDERED)
        response = parse_response(record)
        if response is None:
            self.refused["no_response"] += 1
            return None
        if response.status != 200:
            self._note(url, response)
            return None
        content_type, links = headers_of(response)
        if format_of(content_type, url) not in self._formats:
            self.refused["not_html"] += 1
            return None
        body = self.body(response)
        return RawPage(url, body, content_type, links) if body is not None else None

    def _note(self, url: str, response: ArchivedResponse) -> None:
        location = response.headers.get(b"location")
        target = canonicalise(urljoin(url, location[0].decode("utf-8", "replace"))) if location else None
        if target and 300 <= response.status < 400:
            self.redirects[url] = target
        else:
            self.refused[f"http_{response.status}"] += 1

    def body(self, response: ArchivedResponse) -> bytes | None:
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


def in_lines(text: str) -> str:
    """*text*, cut as that of a page is, without empty lines and without characters that would break a line."""
    return "\n".join(islice(filter(None, map(one_line, text[:MAX_TEXT].split("\n"))), MAX_LINES))


def _decompression() -> HttpCompressionMiddleware:
    """What undoes content codings in a crawl."""
    crawler = Crawler(Spider, {"DOWNLOAD_MAXSIZE": MAX_BODY, "DOWNLOAD_WARNSIZE": 0})
    # it gets one of its own when it crawls, which this one never does
    crawler.stats = DummyStatsCollector(crawler)
    return HttpCompressionMiddleware.from_crawler(crawler)


def headers_of(response: ArchivedResponse) -> tuple[str | None, tuple[str, ...]]:
    """``Content-Type`` and the values of ``Link``."""
    types = response.headers.get(b"content-type")
    links = tuple(value.decode("latin-1") for value in response.headers.get(b"link", ()))
    return (types[0].decode("latin-1") if types else None), links
