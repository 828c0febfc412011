"""Scrapy by hand: ``python scrapy_peers.py links|resiliparse|trafilatura SEEDS`` in an empty folder.

``links`` only follows links. The others read the text with that library, name its language with CLD2, write both to
``pages.jsonl`` and archive the response.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy.linkextractors import LinkExtractor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "LOG_LEVEL": "INFO",
}


class Links(scrapy.Spider):
    name = "links"

    def __init__(self, start_urls: list[str]) -> None:
        super().__init__(start_urls=start_urls)
        self.extractor = LinkExtractor(allow_domains=[urlsplit(url).netloc for url in start_urls])
        self.sites = tuple(urljoin(url, "/") for url in start_urls)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if isinstance(response, TextResponse):
            for url in self.read(response):
                yield scrapy.Request(url)

    def read(self, response: TextResponse) -> Iterable[str]:
        """Return the URLs of the links."""
        return [link.url for link in self.extractor.extract_links(response)]


class Archiving(Links):
    def __init__(self, start_urls: list[str]) -> None:
        super().__init__(start_urls)
        from warcio.warcwriter import WARCWriter

        self.pages = open("pages.jsonl", "w", encoding="utf-8")  # noqa: SIM115
        self.archive = WARCWriter(open("crawl.warc.gz", "wb"), gzip=True)  # noqa: SIM115

    def keep(self, response: TextResponse, text: str) -> None:
        import pycld2
        from warcio.statusandheaders import StatusAndHeaders

        try:
            language = pycld2.detect(text)[2][0][1]
        except pycld2.error:  # characters that it does not take
            language = "un"
        self.pages.write(json.dumps({"url": response.url, "language": language, "text": text}) + "\n")
        headers = [(name.decode(), value.decode()) for name, values in response.headers.items() for value in values]
        status = StatusAndHeaders(f"{response.status} OK", headers, protocol="HTTP/1.1")
        body = BytesIO(response.body)
        self.archive.write_record(self.archive.create_warc_record(response.url, "response", body, http_headers=status))

    def closed(self, reason: str) -> None:
        self.pages.close()
        self.archive.out.close()


class Resiliparse(Archiving):
    def read(self, response: TextResponse) -> Iterable[str]:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree

        self.keep(response, extract_plain_text(HTMLTree.parse(response.text), main_content=True))
        # lists of elements of resiliparse 2.0 take quadratic time
        urls = (response.urljoin(href).partition("#")[0] for href in response.xpath("//a/@href").getall())
        return [url for url in dict.fromkeys(urls) if url.startswith(self.sites)]


class Trafilatura(Archiving):
    def read(self, response: TextResponse) -> Iterable[str]:
        from trafilatura import extract

        self.keep(response, extract(response.text) or "")
        return super().read(response)


SPIDERS = {"links": Links, "resiliparse": Resiliparse, "trafilatura": Trafilatura}

if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(SPIDERS[sys.argv[1]], sys.argv[2].split(","))
    process.start()
