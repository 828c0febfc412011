"""Spider middleware: scores the links of a page in one batch and pushes them to the frontier."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.signals import ENTRY, ERRORS, MODELS, RANK, count_and_log
from bilingual_crawler.frontier.entry import Kind, State
from bilingual_crawler.items import FoundLinks, FoundRequests, Rank
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.options import Options
from bilingual_crawler.scoring.links import LinkScorer
from bilingual_crawler.scoring.models import load_models, models_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.scoring.links import LinkScore
    from bilingual_crawler.scoring.models import LanguageModel, UrlModel

logger = logging.getLogger(__name__)


def warn_of_unknown(model: LanguageModel, policy: str, pairs: LanguagePairs) -> None:
    """Log the languages of *pairs* that the *model* of *policy* does not know."""
    if unknown := " or ".join(map(language_name, model.unknown(pairs))):
        logger.warning(
            f"policy={policy}: the URL model does not know {unknown}, so no link to a page in {unknown} has a "
            "priority; choose policy=gain, or name a folder with another model in BILINGUAL_MODELS_DIR"
        )


class LinkPriorityMiddleware(CrawlComponent):
    """Consumes :class:`FoundLinks`: drops links that are out of scope or done, scores the rest, and pushes them to the
    frontier. In place of :class:`FoundRequests` it yields those of the requests that are left, with their rank.

    Stats: ``bilingual/links/found|out_of_scope|too_deep|known|scoring_failed``, ``bilingual/traps/links/queue-full``,
    ``bilingual/models/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT") or math.inf
        self._options = Options.of(crawler.settings)
        self._sources = frozenset(self._options.link_sources)
        self._policy = self._context.policy

    def spider_opened(self) -> None:
        self._scorer: LinkScorer | None = None
        self._models: Sequence[UrlModel] = ()
        if self._policy.needs_models:
            self._models = models = load_models(models_folder(self._options.models_dir), self._options.providers)
            warn_of_unknown(models[0], self._policy.name, self._context.pairs)
            self._scorer = LinkScorer(*models, self._context.pairs)
        self._note_models()

    def _note_models(self) -> None:
        for model in self._models:
            self._stats.set_value(f"{MODELS}{model.kind}", model.facts())

    def spider_closed(self) -> None:
        if self._scorer:
            self._scorer.close()

    def process_spider_input(self, response: Response) -> None:
        if ENTRY in response.meta:
            self._visits.hold(response.meta[ENTRY])

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        if ENTRY not in response.meta:
            async for output in result:
                yield output
            return
        entry: Entry = response.meta[ENTRY]
        async for output in result:
            if isinstance(output, FoundRequests):
                weighed = [part async for parts in self._weigh(output, entry) for part in parts]
                self._visits.keep_news(entry, output.page, weighed)
                for request in _ranked(output, weighed):
                    yield request
            elif isinstance(output, FoundLinks):
                if entry.kind is Kind.PAGE:
                    self._visits.observe_page(entry, output.page, output.links)
                async for part in self._weigh(output, entry):
                    self._visits.follow(entry, output.page, part)
            else:
                yield output

    async def _weigh(self, found: FoundLinks, entry: Entry) -> AsyncIterator[list[tuple[Link, float]]]:
        """The links that are followed, with their priorities, in parts."""
        self._stats.inc_value("bilingual/links/found", len(found.links))
        # a sitemap is no page in a third language
        if entry.kind is Kind.PAGE and not self._policy.expands(found.page):
            return
        if entry.depth >= self._max_depth:
            self._stats.inc_value("bilingual/links/too_deep", len(found.links))
            return
        async for part in self._context.turns.parts(found.links):
            links = await self._admitted(found, part)
            yield self._visits.weigh(found.page, links, await self._scores(found.page, links))

    async def _admitted(self, found: FoundLinks, links: Sequence[Link]) -> list[Link]:
        followed = [link for link in links if link.source in self._sources and link.url != found.page.url]
        in_scope = [link for link in followed if self._context.scope.admits(link.url)]
        self._stats.inc_value("bilingual/links/out_of_scope", len(followed) - len(in_scope))
        in_scope = await self._without_known_pages(in_scope)
        states = await self._visits.frontier.states([link.url for link in in_scope])
        open_links = [
            (link, state) for link, state in zip(in_scope, states, strict=True) if state in (None, State.QUEUED)
        ]
        self._stats.inc_value("bilingual/links/known", len(in_scope) - len(open_links))
        if not self._visits.quota.is_full(self._visits.slot(found.page.url)):
            return [link for link, _ in open_links]
        queued = [link for link, state in open_links if state is State.QUEUED]
        message = f"{found.page.url}: the site has filled its quota of the queue; new links are left out"
        count_and_log(self._crawler, "bilingual/traps/links/queue-full", message, by=len(open_links) - len(queued))
        return queued

    async def _without_known_pages(self, links: list[Link]) -> list[Link]:
        """*links* without choices of forms that lead to a page whose own address is known."""
        plain = {link.url: address for link in links if (address := self._visits.variants.plain(link))}
        states = await self._visits.frontier.states(list(plain.values())) if plain else []
        known = {url for url, state in zip(plain, states, strict=True) if state is not None}
        self._stats.inc_value("bilingual/links/known", len(known))
        return [link for link in links if link.url not in known]

    async def _scores(self, page: PageRecord, links: Sequence[Link]) -> list[LinkScore] | None:
        if self._scorer is None or page.side is None or not links:
            return None
        try:
            return await self._scorer.score_in_thread(page.url, page.side, [link.url for link in links])
        except Exception as error:
            if not self._stats.get_value("bilingual/links/scoring_failed"):
                logger.exception(
                    "The URL models failed; links of such pages are queued last until other pages lead to them",
                    exc_info=error,
                )
            self._stats.inc_value("bilingual/links/scoring_failed", len(links))
            self._stats.inc_value(f"{ERRORS}{type(error).__name__}")
            return None
        finally:
            self._note_models()


def _ranked(found: FoundRequests, weighed: list[tuple[Link, float]]) -> Iterator[Request]:
    """The requests of *weighed* links; of several links to one URL the best counts."""
    best: dict[str, float] = {}
    for link, priority in weighed:
        best[link.url] = max(priority, best.get(link.url, priority))
    for url, priority in best.items():
        found.requests[url].meta[RANK] = Rank(priority, found.page.url)
        yield found.requests[url]
