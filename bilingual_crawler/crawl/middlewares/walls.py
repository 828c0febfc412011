"""Downloader middlewares: pauses for hosts with a :mod:`wall <bilingual_crawler.crawl.walls>`."""

import asyncio
import logging
import re
import time
from urllib.parse import urljoin, urlsplit
from weakref import WeakValueDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.learner import WALL, part_fact
from bilingual_crawler.crawl.middlewares.backoff import patience_of
from bilingual_crawler.crawl.middlewares.language import REDIRECTS, ReadingComponent, page_job
from bilingual_crawler.crawl.middlewares.stop import again
from bilingual_crawler.crawl.requests import header
from bilingual_crawler.crawl.signals import ENTRY, READ, WALLED, Refused
from bilingual_crawler.crawl.walls import Answer
from bilingual_crawler.frontier.backoff import Backoff, Rest
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.frontier import BLOCKED
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.urls.canonical import canonicalise

logger = logging.getLogger(__name__)

_DEMANDS = re.compile(rb"<(?:(?:form|script)\b|meta\b[^<>]*http-equiv\W{1,3}refresh)", re.IGNORECASE)


class WallMiddleware(ReadingComponent):
    """Puts back, untried, the URLs whose host shows a wall in their place, and pauses its politeness slot.

    After ``BILINGUAL_HOST_FAILURES`` pauses the slot is closed, and its URLs stay queued. Stats: ``bilingual/walls``
    (hosts), ``bilingual/walls/tests``, ``bilingual/backoff/wall``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._backoff = Backoff(patience_of(self._options), time.monotonic)
        self._warned: set[str] = set()
        self._under_way: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def process_request(self, request: Request) -> None:
        if ENTRY in request.meta:
            request.meta[WALLED] = self._visits.walls.host(request.meta[ENTRY].url).wall is not None

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        page: PageRecord | None = request.meta.get(READ)
        back = None
        if page is not None:
            is_plain = "rendered" not in response.flags and not request.meta[ENTRY].is_variant
            demands = _DEMANDS.search(response.body) is not None
            back = await self.meet(Answer.of_page(page), request, as_known=is_plain, demands=demands)
        elif response.status == 403:
            back = await self.meet(Answer("403"), request, demands=True)
        return back or response

    async def meet(self, answer: Answer, request: Request, **more: bool) -> Request | None:
        """The way back of *request* if its *answer* is a wall, else None. *more*: see :meth:`.Host.learn`."""
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None or self._options.replay:
            return None
        host, name = self._visits.walls.host(entry.url), urlsplit(entry.url).netloc
        async with self._under_way.setdefault(name, asyncio.Lock()):
            # the wall leads to this URL
            is_behind = host.is_wall(Answer.redirect(entry.url))
            stands = is_behind or host.is_wall(answer)
            if not stands:
                # what was sent before says nothing of the present
                if host.wall is not None and request.meta.get(WALLED):
                    logger.info(f"{name}: shows its pages again")
                    self._backoff.answered(name)
                    host.passed()
                known = host.learn(entry.url, answer, **more)
                if known is not None:
                    stands = host.test(entry.url, answer, await self._shown(known, request))
                    if stands and name not in self._warned:
                        self._warned.add(name)
                        self._stats.inc_value("bilingual/walls")
                        what = f"shows one page for all addresses since {entry.url}, perhaps to keep programs out"
                        fix = "The site pauses, its addresses stay queued; a longer DOWNLOAD_DELAY may help"
                        logger.warning(f"{name}: {what}. {fix}")
        if news := host.news():
            self._visits.frontier.remember(entry, part_fact(WALL, news))
        if not stands:
            return None
        rest = self._backoff.failed(name, alive=True)
        self._stats.inc_value("bilingual/backoff/wall")
        if rest is None:
            self._visits.frontier.close(entry.slot, BLOCKED)
        # where the wall leads is no page, unless it comes after all pages
        return again(request, Rest(rest or 0.0, failed=False, after_others=is_behind))

    async def _shown(self, url: str, request: Request) -> Answer | None:
        """What the host shows now at *url*, a page that *request*, for another one, is compared with."""
        self._stats.inc_value("bilingual/walls/tests")
        try:
            response = await self._download(url, request)
            if response.status == 200:
                return Answer.of_page(await self._read(page_job(response, url), url))
            return redirect_answer(response) if response.status in REDIRECTS else Answer(str(response.status))
        except Exception as error:
            logger.debug(f"{url}: {error}")
            return None


class WallRedirectsMiddleware(CrawlComponent):
    """Does the same for redirects, before they are followed."""

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        walls = self._crawler.get_downloader_middleware(WallMiddleware)
        if walls is None or response.status not in REDIRECTS:
            return response
        try:
            urljoin(response.url, header(response.headers, "Location"))
        except ValueError as error:
            # Scrapy would raise it, as if a component had failed
            raise Refused("redirect-nowhere", str(error), status=response.status) from error
        return await walls.meet(redirect_answer(response), request, as_known=False) or response


def redirect_answer(response: Response) -> Answer:
    location = canonicalise(header(response.headers, "Location"), response.url)
    return Answer.redirect(location) if location else Answer(str(response.status))
