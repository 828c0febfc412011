"""crawlee and selectolax: ``python crawlee_peer.py SEEDS`` in an empty folder; texts go to ``pages.jsonl``."""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import urljoin

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from selectolax.lexbor import LexborHTMLParser


async def main(seeds: list[str]) -> None:
    sites = tuple(urljoin(seed, "/") for seed in seeds)
    crawler = HttpCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        configuration=Configuration(log_level="WARNING"),
        storage_client=MemoryStorageClient(),
        respect_robots_txt_file=True,
    )
    with open("pages.jsonl", "w", encoding="utf-8") as pages:

        @crawler.router.default_handler  # type: ignore[untyped-decorator]
        async def handle(context: HttpCrawlingContext) -> None:
            tree = LexborHTMLParser(await context.http_response.read())
            url = context.request.loaded_url or context.request.url
            pages.write(json.dumps({"url": url, "text": tree.text(separator=" ")}) + "\n")
            urls = (urljoin(url, anchor.attributes["href"] or "").partition("#")[0] for anchor in tree.css("a[href]"))
            await context.add_requests([link for link in dict.fromkeys(urls) if link.startswith(sites)])

        await crawler.run(seeds)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1].split(",")))
