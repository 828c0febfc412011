"""Spider middleware: what spiders of other projects yield, in the form that the crawl understands."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.reading import document_of, log_page
from bilingual_crawler.crawl.requests import asks_for_page, of_its_own
from bilingual_crawler.crawl.signals import ENTRY, READ, document_read, profile_read
from bilingual_crawler.items import FoundRequests
from bilingual_crawler.pages.model import Link
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from scrapy.http import Response

    from bilingual_crawler.pages.model import PageRecord


class OrdinarySpiderMiddleware(CrawlComponent):
    """Lets the crawl learn from each page of the frontier, even if the callback fails; signals documents.

    The requests that a callback yields for pages become :class:`FoundRequests`, once it has yielded all. Other requests
    and items pass as they are. Requests for one URL that come from one page count once, the first one.
    """

    def process_spider_input(self, response: Response) -> None:
        if ENTRY not in response.meta:
            return
        if READ not in response.meta:
            self._visits.no_page(response.meta[ENTRY], response.status)
            return
        page: PageRecord = response.meta[READ]
        log_page(response, self._visits, self._context.pairs)
        self._visits.observe_page(response.meta[ENTRY], page.without_text(), page.links)
        if document := document_of(response, page):
            self._crawler.signals.send_catch_log(profile_read, url=page.url, profile=page.profile)
            self._crawler.signals.send_catch_log(document_read, document=document)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        requests: dict[str, Request] = {}
        failure = None
        try:
            async for output in result:
                if not isinstance(output, Request):
                    yield output
                    continue
                request = of_its_own(output)
                url = self._ranked_url(request, response)
                if url is None:
                    yield request
                else:
                    requests.setdefault(url, request)
        except Exception as error:
            # what a callback yields before it fails counts in Scrapy, too
            failure = error
        if requests:
            yield self._found(response, requests)
        if failure:
            raise failure

    def _ranked_url(self, request: Request, response: Response) -> str | None:
        """The URL under which *request* is ranked by the page in *response*; None if it is not ranked."""
        if READ not in response.meta or ENTRY not in response.meta or not asks_for_page(request):
            return None
        return None if self._is_offsite(request) else canonicalise(request.url)

    def _is_offsite(self, request: Request) -> bool:
        """Whether the engine will drop *request*, so that the policy must not wait for its page."""
        offsite = self._crawler.get_downloader_middleware(OffsiteMiddleware)
        if offsite is None or request.meta.get("allow_offsite"):
            return False
        assert self._crawler.spider
        return not offsite.should_follow(request, self._crawler.spider)

    def _found(self, response: Response, requests: Mapping[str, Request]) -> FoundRequests:
        page: PageRecord = response.meta[READ]
        shown: defaultdict[str, list[Link]] = defaultdict(list)
        for link in page.links:
            shown[link.url].append(link)
        links = [link for url in requests for link in shown.get(url) or [Link(url)]]
        return FoundRequests(page.without_text(), links, requests)
