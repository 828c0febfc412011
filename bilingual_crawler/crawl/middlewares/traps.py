"""Downloader middlewares that apply :mod:`~bilingual_crawler.crawl.traps` to requests and pages."""

import logging
import secrets
from functools import partial
from string import ascii_lowercase
from urllib.parse import urlsplit

from msgspec.structs import replace
from scrapy import Request
from scrapy.http import Response

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.language import ReadingComponent, page_job
from bilingual_crawler.crawl.signals import COPY, ENTRY, READ, Refused, count_and_log
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.items import Pair
from bilingual_crawler.pages.model import PageRecord

logger = logging.getLogger(__name__)


class TrapRequestsMiddleware(CrawlComponent):
    """Refuses queued URLs that have become traps. Stats: ``bilingual/traps/refused/<kind>``."""

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        kind = self._context.traps.refuses(entry.url) if entry and entry.parent else None
        # sitemaps share their ending with feeds
        if entry and kind and not (kind == "file" and entry.kind is Kind.SITEMAP):
            self._stats.inc_value(f"bilingual/traps/refused/{kind}")
            raise Refused(f"trap-{kind}", "belongs to a trap")


class TrapPagesMiddleware(ReadingComponent):
    """Learns from pages, and drops soft-404 pages, which it compares with pages that cannot exist.

    Stats: ``bilingual/traps/soft-404``, ``bilingual/probes`` and ``bilingual/copies``.
    """

    def pair_found(self, pair: Pair) -> None:
        self._context.traps.staleness.note_pair(pair.url_a, pair.url_b)

    async def process_response(self, request: Request, response: Response) -> Response:
        page: PageRecord | None = request.meta.get(READ)
        if page is None or response.status != 200:
            return response
        traps = self._context.traps
        for place in () if self._options.replay else traps.missing.places_to_probe(page.url, page.side):
            await self._probe(place, urlsplit(page.url).scheme, request)
        # before the check: soft-404 pages can number thousands
        stale, new_text = traps.learn(page)
        request.meta[READ] = replace(page, new_text=new_text)
        for group in stale:
            logger.info(f"{group}: a trap (stale), refused from now on")
        count = partial(count_and_log, self._crawler, first=logging.INFO)
        if request.meta[ENTRY].parent and traps.missing.is_missing(page.url, page.text):
            count("bilingual/traps/soft-404", f"bilingual/traps/soft-404: {page.url}")
            raise Refused("soft-404", "shows what its host shows for any URL", status=200)
        if traps.is_copy(page):
            count("bilingual/copies", f"bilingual/copies: {page.url}")
            request.meta[COPY] = True
        return response

    async def _probe(self, place: str, scheme: str, request: Request) -> None:
        self._stats.inc_value("bilingual/probes")
        # one word: "a" in "3a7" would be skipped in the page's text as well
        url = f"{scheme}://{place}{''.join(secrets.choice(ascii_lowercase) for _ in range(16))}"
        missing = self._context.traps.missing
        try:
            answer = await self._download(url, request)
            if answer.status == 200:
                missing.learn(place, (await self._read(page_job(answer, url), url)).text, url)
            if answer.status != 429 and answer.status < 500:
                missing.answered(place)
        except Exception as error:
            logger.debug(f"{url}: {error}")
