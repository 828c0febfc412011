"""Spider middlewares: the links of a page, scored in one batch and pushed to the frontier."""

import dataclasses
import logging
import math
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.http import Response

from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.language import document_of
from bilingual_crawler.crawl.requests import asks_for_page, of_its_own
from bilingual_crawler.crawl.signals import COPY, ENTRY, ERRORS, MODELS, RANK, READ, add_counts, count_and_log
from bilingual_crawler.frontier.entry import Entry, Kind, State
from bilingual_crawler.items import FoundLinks, FoundRequests, Wanted
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Part
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.scoring.links import LinkScore, LinkScorer
from bilingual_crawler.scoring.models import LanguageModel, UrlModel, load_models, models_folder
from bilingual_crawler.urls.canonical import canonicalise

logger = logging.getLogger(__name__)


def warn_of_unknown(model: LanguageModel, policy: str, pairs: LanguagePairs) -> None:
    """Log the languages of *pairs* that the *model* of *policy* does not know."""
    if unknown := " or ".join(map(language_name, model.unknown(pairs))):
        what = f"the URL model does not know {unknown}, so no link to a page in {unknown} has a priority"
        fix = "choose policy=gain, or name a folder with another model in BILINGUAL_MODELS_DIR"
        logger.warning(f"policy={policy}: {what}; {fix}")


class LinkPriorityMiddleware(CrawlComponent):
    """Consumes :class:`FoundLinks`: scores the links that may be followed, and pushes them to the frontier.

    In place of :class:`FoundRequests` it yields those of the requests that are left, with their rank. Stats:
    ``bilingual/links/found|out_of_scope|too_deep|known|scoring_failed``, ``bilingual/traps/links/<kind>``,
    ``bilingual/models/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT") or math.inf
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
        async for output in result:
            if ENTRY not in response.meta or not isinstance(output, FoundLinks):
                yield output
                continue
            entry: Entry = response.meta[ENTRY]
            found = await self._without_traps(output, response.meta)
            if isinstance(found, FoundRequests):
                weighed = [part async for parts in self._weigh(found, entry) for part in parts]
                self._visits.keep_news(entry, found.page, weighed)
                for request in _ranked(found, weighed):
                    yield request
                continue
            if entry.kind is Kind.PAGE:
                self._visits.observe_page(entry, found.page, found.links)
            async for part in self._weigh(found, entry):
                self._visits.follow(entry, found.page, part)

    async def _without_traps(self, found: FoundLinks, meta: Mapping[str, Any]) -> FoundLinks:
        if Part.TRAPS not in self._options.parts:
            return found
        kinds: Counter[str] = Counter()
        followed: list[Link] = []
        if COPY in meta:
            kinds["copy"] = len(found.links)
        else:
            kinds["too-many"] = meta[READ].links_left if READ in meta else 0
            async for links in self._context.turns.parts(found.links):
                for link in links:
                    if kind := self._context.traps.refuses(link.url):
                        kinds[kind] += 1
                    else:
                        followed.append(link)
        add_counts(self._crawler, "bilingual/traps/links/", +kinds)
        return dataclasses.replace(found, links=followed)

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
            scores = await self._scores(found.page, links)
            yield list(zip(links, self._policy.priorities(found.page, links, scores), strict=True))

    async def _admitted(self, found: FoundLinks, links: Sequence[Link]) -> list[Link]:
        followed = [link for link in links if link.source in self._sources and link.url != found.page.url]
        in_scope = [link for link in followed if self._context.scope.admits(link.url)]
        self._stats.inc_value("bilingual/links/out_of_scope", len(followed) - len(in_scope))
        in_scope = await self._without_known_pages(in_scope)
        states = list(zip(in_scope, await self._visits.frontier.states([link.url for link in in_scope]), strict=True))
        admitted = [link for link, state in states if state in (None, State.QUEUED)]
        self._stats.inc_value("bilingual/links/known", len(in_scope) - len(admitted))
        if not self._visits.quota.is_full(self._visits.slot(found.page.url)):
            return admitted
        queued = [link for link, state in states if state is State.QUEUED]
        message = f"{found.page.url}: the site has filled its quota of the queue; new links are left out"
        count_and_log(self._crawler, "bilingual/traps/links/queue-full", message, by=len(admitted) - len(queued))
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
                logger.exception("The URL models failed; links of such pages are queued last until others lead to them")
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
        found.requests[url].meta[RANK] = Wanted(url, priority, found.page.url)
        yield found.requests[url]


class OrdinarySpiderMiddleware(CrawlComponent):
    """Lets the crawl learn from each page that a spider of another project gets, even if the callback fails.

    The requests that a callback yields for pages become :class:`FoundRequests`, once it has yielded all; of two for one
    URL the first counts.
    """

    def process_spider_input(self, response: Response) -> None:
        if ENTRY not in response.meta:
            return
        if READ not in response.meta:
            self._visits.no_page(response.meta[ENTRY], response.status)
            return
        page: PageRecord = response.meta[READ]
        self._visits.log_page(response)
        self._visits.observe_page(response.meta[ENTRY], page.without_text(), page.links)
        if document := document_of(response, page):
            self._crawler.signals.send_catch_log(signals.profile_read, url=page.url, profile=page.profile)
            self._crawler.signals.send_catch_log(signals.document_read, document=document)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        requests: dict[str, Request] = {}
        failure = None
        try:
            async for output in result:
                if not isinstance(output, Request):
                    yield output
                    continue
                request = of_its_own(output)
                is_ranked = READ in response.meta and ENTRY in response.meta and asks_for_page(request)
                url = canonicalise(request.url) if is_ranked and not self._is_offsite(request) else None
                if url is None:
                    yield request
                else:
                    requests.setdefault(url, request)
        except Exception as error:
            # what a callback yields before it fails counts in Scrapy, too
            failure = error
        if requests:
            yield self._found(response.meta[READ], requests)
        if failure:
            raise failure

    def _is_offsite(self, request: Request) -> bool:
        """Whether the engine will drop *request*, so that the policy must not wait for its page."""
        offsite = self._crawler.get_downloader_middleware(OffsiteMiddleware)
        if offsite is None or request.meta.get("allow_offsite"):
            return False
        assert self._crawler.spider
        return not offsite.should_follow(request, self._crawler.spider)

    def _found(self, page: PageRecord, requests: Mapping[str, Request]) -> FoundRequests:
        shown: defaultdict[str, list[Link]] = defaultdict(list)
        for link in page.links:
            shown[link.url].append(link)
        links = [link for url in requests for link in shown.get(url) or [Link(url)]]
        return FoundRequests(page.without_text(), links, requests)
