"""An ordinary spider, which knows nothing of languages and pairs: it collects the headings of a site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Spider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class HeadingsSpider(Spider):
    """Run it by ``scrapy crawl headings -a site=URL -O headings.jsonl``."""

    name = "headings"

    def __init__(self, site: str) -> None:
        super().__init__()
        self.start_urls = [site]
        self.allowed_domains = [urlsplit(site).hostname]

    def parse(self, response: Response) -> Iterator[Any]:
        links = response.css("nav a::attr(href)").getall()
        yield from response.follow_all(links, callback=self.parse_page, cb_kwargs={"section": "navigation"})
        yield from self.parse_page(response, section="home")

    def parse_page(self, response: Response, section: str) -> Iterator[Any]:
        title = response.css("h1::text").get("")
        yield {
            "url": response.url,
            "section": section,
            "headings": response.css("h1::text, h2::text").getall(),
            # what the language filter says of the page
            "language": response.meta["bilingual_read"].language,
        }
        links = response.css("a::attr(href)").getall()
        yield from response.follow_all(links, callback=self.parse_page, cb_kwargs={"section": title})
