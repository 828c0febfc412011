"""Middlewares that apply :mod:`~bilingual_crawler.crawl.traps` to pages and links."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from dataclasses import replace
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.language import Reader, page_job
from bilingual_crawler.crawl.signals import COPY, ENTRY, READ, Refused, count_and_log
from bilingual_crawler.items import FoundLinks
from bilingual_crawler.options import Options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.items import Pair
    from bilingual_crawler.pages.model import Link, PageRecord

logger = logging.getLogger(__name__)


class TrapRequestsMiddleware(CrawlComponent):
    """Downloader middleware: refuses queued URLs that have become traps, before anything is asked of their hosts.

    Stats: ``bilingual/traps/refused/<kind>``.
    """

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        kind = self._context.traps.refuses(entry.url) if entry and entry.parent else None
        if kind:
            self._stats.inc_value(f"bilingual/traps/refused/{kind}")
            raise Refused(f"trap-{kind}", "belongs to a trap")


class TrapPagesMiddleware(CrawlComponent):
    """Downloader middleware: learns from pages, and drops soft-404 pages.

    After ten pages of a host, it requests a page of the host that cannot exist, for comparison. If the host does not
    answer, it asks again after 20, 40 and 80 pages. Error pages are translated, too: after three documents of a
    language that has a folder of its own, it requests such a page in that folder. Stats:
    ``bilingual/traps/soft-404``, and, for pages that are kept, ``bilingual/probes`` and ``bilingual/copies``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._reader = Reader(crawler)
        self._traps = self._context.traps
        self._probes = not Options.of(crawler.settings).replay

    def pair_found(self, pair: Pair) -> None:
        self._traps.note_pair(pair.url_a, pair.url_b)

    async def process_response(self, request: Request, response: Response) -> Response:
        page: PageRecord | None = request.meta.get(READ)
        if page is None or response.status != 200:
            return response
        await self._probe(page, request)
        # before the check: soft-404 pages can number thousands
        stale, new_text = self._traps.learn(page)
        request.meta[READ] = msgspec.structs.replace(page, new_text=new_text)
        for group in stale:
            logger.info(f"{group}: a trap (stale), refused from now on", extra={"spider": self._crawler.spider})
        if request.meta[ENTRY].parent and self._traps.missing.is_missing(page.url, page.text):
            self._count("bilingual/traps/soft-404", page.url)
            raise Refused("soft-404", "shows what its host shows for any URL", status=200)
        if self._traps.is_copy(page):
            self._count("bilingual/copies", page.url)
            request.meta[COPY] = True
        return response

    async def _probe(self, page: PageRecord, request: Request) -> None:
        if self._probes:
            for place in self._traps.missing.places_to_probe(page.url, page.side):
                await self._probe_place(place, f"{urlsplit(page.url).scheme}://{place}", request)

    async def _probe_place(self, place: str, address: str, request: Request) -> None:
        self._stats.inc_value("bilingual/probes")
        # one word: "a" in "3a7" would be skipped in the page's text as well
        url = address + "".join(secrets.choice(ascii_lowercase) for _ in range(16))
        meta = {"download_slot": request.meta["download_slot"], "dont_redirect": True}
        assert self._crawler.engine
        try:
            answer = await self._crawler.engine.download_async(Request(url, meta=meta, callback=NO_CALLBACK))
            if answer.status == 200:
                shown = await self._reader.read(page_job(answer, url), url)
                self._traps.missing.learn(place, shown.text, url)
            if answer.status != 429 and answer.status < 500:
                self._traps.missing.answered(place)
        except Exception as error:
            logger.debug(f"{url}: {error}")

    def _count(self, stat: str, url: str) -> None:
        count_and_log(self._crawler, stat, f"{stat}: {url}", first=logging.INFO)


class TrapLinksMiddleware(CrawlComponent):
    """Spider middleware: removes links that lead into traps and all links of copies.

    Stats: ``bilingual/traps/links/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._traps = self._context.traps
        self._turns = self._context.turns

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            if not isinstance(output, FoundLinks):
                yield output
            elif COPY in response.meta:
                self._stats.inc_value("bilingual/traps/links/copy", len(output.links))
                yield replace(output, links=())
            else:
                followed: list[Link] = []
                async for links in self._turns.parts(output.links):
                    followed += self._followed(links)
                yield replace(output, links=followed)
                read: PageRecord | None = response.meta.get(READ)
                if read is not None and read.links_left:
                    self._stats.inc_value("bilingual/traps/links/too-many", read.links_left)

    def _followed(self, links: Sequence[Link]) -> list[Link]:
        kinds: Counter[str] = Counter()
        followed = []
        for link in links:
            kind = self._traps.refuses(link.url)
            if kind is None:
                followed.append(link)
            else:
                kinds[kind] += 1
        for kind, count in kinds.items():
            self._stats.inc_value(f"bilingual/traps/links/{kind}", count)
        return followed
