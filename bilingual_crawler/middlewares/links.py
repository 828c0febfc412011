"""Spider middleware: score the links of a page in one batch and push them to the frontier."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, cast

from scrapy import signals
from scrapy.http import Response

from bilingual_crawler.frontier.entry import Entry, Kind, State
from bilingual_crawler.frontier.scheduler import ENTRY, FrontierScheduler
from bilingual_crawler.items import FoundLinks
from bilingual_crawler.options import Options
from bilingual_crawler.scoring.links import BatchingScorer, LinkScorer, PageLinks
from bilingual_crawler.scoring.models import load_models, models_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.scoring.links import LinkScore
    from bilingual_crawler.spiders.bilingual import BilingualSpider

logger = logging.getLogger(__name__)

OPEN = "bilingual_open"
"""Meta key: how many things of a response are still being processed."""


class LinkPriorityMiddleware:
    """Consumes :class:`FoundLinks`: drops what is out of scope or done, scores the rest, pushes it to the frontier.

    A URL is finished in the frontier once its links are pushed and every item of its page has left the pipelines, so
    that a crash in between fetches it again instead of losing links or documents.
    Stats: ``bilingual/links/found|out_of_scope|too_deep|known``, ``bilingual/frontier/new|raised|ignored``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT") or math.inf
        self._options = Options.of(crawler.settings)
        self._sources = frozenset(self._options.link_sources)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(middleware.spider_failed, signal=signals.spider_error)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(middleware.item_left, signal=signal)
        return middleware

    def spider_opened(self, spider: Spider) -> None:
        self._spider = cast("BilingualSpider", spider)
        self._scorer: BatchingScorer | None = None
        if self._spider.policy.needs_models:
            models = load_models(models_folder(self._options.models_dir), self._options.providers)
            self._scorer = BatchingScorer(LinkScorer(*models, self._spider.pair))

    def spider_closed(self, spider: Spider) -> None:
        if self._scorer:
            self._scorer.close()

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        if ENTRY not in response.meta:
            async for output in result:
                yield output
            return
        response.meta[OPEN] = 1
        items = []
        try:
            async for output in result:
                if isinstance(output, FoundLinks):
                    await self._follow(output, response.meta[ENTRY])
                else:
                    items.append(output)
            for item in items:
                response.meta[OPEN] += 1
                yield item
        finally:
            self._leave(response)

    def spider_failed(self, response: Response | Failure) -> None:
        """A callback raised an exception: its URL is done all the same."""
        if isinstance(response, Response) and ENTRY in response.meta:
            self._scheduler.frontier.finish(response.meta[ENTRY])

    def item_left(self, response: Response | None) -> None:
        if response is not None and OPEN in response.meta:
            self._leave(response)

    @property
    def _scheduler(self) -> FrontierScheduler:
        assert self._crawler.engine
        return cast("FrontierScheduler", self._crawler.engine.scheduler)

    def _leave(self, response: Response) -> None:
        response.meta[OPEN] -= 1
        if not response.meta[OPEN]:
            self._scheduler.frontier.finish(response.meta[ENTRY])

    async def _follow(self, found: FoundLinks, entry: Entry) -> None:
        self._stats.inc_value("bilingual/links/found", len(found.links))
        if entry.kind is Kind.PAGE:
            self._scheduler.learn(entry, found.page, found.links)
        if not self._spider.policy.expands(found.page):
            return
        if entry.depth >= self._max_depth:
            self._stats.inc_value("bilingual/links/too_deep", len(found.links))
            return
        links = await self._admitted(found)
        scores = await self._scores(found.page, links)
        priorities = self._spider.policy.priorities(found.page, links, scores)
        self._scheduler.push(
            [
                Entry(link.url, self._scheduler.slot(link.url), priority, found.page.url, entry.depth + 1)
                for link, priority in zip(links, priorities, strict=True)
            ]
        )

    async def _admitted(self, found: FoundLinks) -> list[Link]:
        followed = [link for link in found.links if link.source in self._sources and link.url != found.page.url]
        in_scope = [link for link in followed if self._spider.scope.admits(link.url)]
        self._stats.inc_value("bilingual/links/out_of_scope", len(followed) - len(in_scope))
        states = await self._scheduler.frontier.states([link.url for link in in_scope])
        open_links = [
            (link, state) for link, state in zip(in_scope, states, strict=True) if state in (None, State.QUEUED)
        ]
        self._stats.inc_value("bilingual/links/known", len(in_scope) - len(open_links))
        if self._scheduler.may_queue_links(found.page.url):
            return [link for link, _ in open_links]
        queued = [link for link, state in open_links if state is State.QUEUED]
        left = "bilingual/traps/links/queue-full"
        if not self._stats.get_value(left):
            logger.warning(f"{found.page.url}: its site has filled its share of the queue, new links wait for room")
        self._stats.inc_value(left, len(open_links) - len(queued))
        return queued

    async def _scores(self, page: FetchedPage, links: Sequence[Link]) -> list[LinkScore] | None:
        if self._scorer is None or page.side is None or not links:
            return None
        try:
            return await self._scorer.score(PageLinks(page.url, page.side, [link.url for link in links]))
        except Exception as error:
            if not self._stats.get_value("bilingual/links/scoring_failed"):
                logger.exception("The URL models failed; links of such pages are queued last", exc_info=error)
            self._stats.inc_value("bilingual/links/scoring_failed", len(links))
            return None
