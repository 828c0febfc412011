"""The Scrapy scheduler over the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.defer import deferred_from_coro

from bilingual_crawler.crawl.meta import ENTRY, REST
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.frontier.backoff import Rest
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

CALLBACKS = {Kind.PAGE: "parse", Kind.SITEMAP: "parse_sitemap"}
"""Names of the spider's methods."""
MAX_REST = 60.0
"""Limit in seconds for the pause of a slot after a failed fetch for which no pause was given."""


class FrontierScheduler(BaseScheduler):
    """Translates between Scrapy's requests and :class:`~bilingual_crawler.crawl.visits.Visits`.

    The order is by priority, highest first, then by discovery. At most ``CONCURRENT_REQUESTS_PER_DOMAIN`` requests of
    one politeness slot, and ``CONCURRENT_REQUESTS`` in all, are in flight until their responses are processed. Requests
    that are yielded to the engine are pushed with their ``priority`` (seeds with the policy's). A redirect takes the
    place of its source. A retry goes back to its place while its slot is paused. The frontier takes only GET requests
    without a body; others are dropped and counted.
    """

    visits: Visits

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        self._spider = spider
        self.visits = Visits(self._crawler)

    def close(self, reason: str) -> Deferred[None]:
        return deferred_from_coro(self.visits.leave())

    def has_pending_requests(self) -> bool:
        return self.visits.pending

    def enqueue_request(self, request: Request) -> bool:
        entry: Entry | None = request.meta.get(ENTRY)
        if request.method != "GET" or request.body:
            assert self._crawler.stats
            self._crawler.stats.inc_value("bilingual/frontier/not_get")
            return False
        if entry is None:
            self._push(request)
        elif "redirect_urls" in request.meta:
            return self.visits.redirect(entry, request.url, _redirect_status(request))
        else:
            self.visits.put_back(entry, request.meta.get(REST) or Rest(min(MAX_REST, 2.0**entry.attempts)))
        return True

    def next_request(self) -> Request | None:
        entry = self.visits.hand_out()
        return None if entry is None else self._request(entry)

    def _push(self, request: Request) -> None:
        url = canonicalise(request.url) or request.url
        parent = (request.headers.get("Referer") or b"").decode("latin-1")
        if not parent:
            self.visits.push_seed(url)
            return
        depth = request.meta.get("depth", 0)
        self.visits.push([Entry(url, self.visits.slot(url), float(request.priority), parent, depth)])

    def _request(self, entry: Entry) -> Request:
        meta = {ENTRY: entry, "download_slot": self.visits.download_slot(entry.slot), "depth": entry.depth}
        if entry.attempts:
            meta["retry_times"] = entry.attempts
        return Request(
            entry.url,
            callback=getattr(self._spider, CALLBACKS[entry.kind]),
            errback=self.visits.fail,
            meta=meta,
            headers={"Referer": entry.parent} if entry.parent else None,
            dont_filter=True,
        )


def _redirect_status(request: Request) -> int:
    reason = request.meta.get("redirect_reasons", [0])[-1]
    return reason if isinstance(reason, int) else 0
