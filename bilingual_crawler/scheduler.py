"""The Scrapy schedulers over the frontier: for our spiders, and for those of another project."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.utils.defer import deferred_f_from_coro_f, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bilingual_crawler.crawl.requests import asks_for_page, header, of_its_own, packed, unpacked
from bilingual_crawler.crawl.signals import ENTRY, RANK, REST, SWITCH, count_and_log
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.frontier.backoff import Rest
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.items import Wanted
from bilingual_crawler.pages.sitemap import MAX_BYTES as MAX_SITEMAP
from bilingual_crawler.urls.canonical import canonicalise

CALLBACKS = {Kind.PAGE: "parse", Kind.SITEMAP: "parse_sitemap"}  # names of the spider's methods
MAX_REST = 60.0  # limit in seconds for the pause of a slot after a failed fetch for which no pause was given


class FrontierScheduler(BaseScheduler):
    """Translates between Scrapy's requests and :class:`~bilingual_crawler.crawl.visits.Visits`.

    Requests that the spider yields are pushed with their ``priority``, seeds with the policy's; others than plain GET
    requests are dropped and counted. A redirect takes the place of its source; a retry goes back to its own.
    """

    visits: Visits

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        self._spider = spider
        self.visits = Visits(self._crawler)
        self._led_back: deque[Request] = deque()  # requests for other forms of the URLs in flight
        return None

    @deferred_f_from_coro_f
    async def close(self, reason: str) -> None:
        await self.visits.leave()

    def has_pending_requests(self) -> bool:
        return self.visits.frontier.has_pending()

    def enqueue_request(self, request: Request) -> bool:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            if request.method != "GET" or request.body:
                assert self._crawler.stats
                self._crawler.stats.inc_value("bilingual/frontier/not_get")
                return False
            self._push(request)
        elif "redirect_urls" in request.meta:
            is_first = request.meta.get("redirect_times") == 1 and request.url != request.meta["redirect_urls"][-1]
            if is_first and canonicalise(request.url) == entry.url:
                # it leads to another form of the URL, such as with a session id; a retry of it is no redirect
                del request.meta["redirect_urls"], request.meta["redirect_reasons"]
                self._led_back.append(request)
                return True
            reason = request.meta.get("redirect_reasons", [0])[-1]
            status = reason if isinstance(reason, int) else 0
            return self.visits.redirect(entry, request.url, status, request.meta.get(SWITCH))
        else:
            self.visits.put_back(entry, request.meta.get(REST) or Rest(min(MAX_REST, 2.0**entry.attempts)))
        return True

    def next_request(self) -> Request | None:
        if self._led_back:
            return self._led_back.popleft()
        entry = self.visits.hand_out()
        return None if entry is None else self._request(entry)

    def _push(self, request: Request) -> None:
        url = canonicalise(request.url) or request.url
        if parent := header(request.headers, "Referer"):
            depth = request.meta.get("depth", 0)
            self.visits.push([Entry(url, self.visits.slot(url), float(request.priority), parent, depth)])
        else:
            self.visits.push_seed(url)

    def _request(self, entry: Entry) -> Request:
        callback = getattr(self._spider, CALLBACKS[entry.kind])
        # no server sees a fragment, of which a language may be one
        headers = {"Referer": entry.parent.partition("#")[0]} if entry.parent else None
        meta, errback = self._meta(entry), self.visits.fail
        return Request(entry.url, callback, headers=headers, meta=meta, errback=errback, dont_filter=True)

    def _meta(self, entry: Entry) -> dict[str, Any]:
        meta = {ENTRY: entry, "download_slot": self.visits.frontier.server(entry.slot), "depth": entry.depth}
        if entry.kind is Kind.SITEMAP and self._max_size:
            meta["download_maxsize"] = max(self._max_size, MAX_SITEMAP)
        if entry.attempts:
            meta["retry_times"] = entry.attempts
            # what a server that promises more bytes sends once more is all that it has
            meta["download_fail_on_dataloss"] = False
        return meta


class RequestScheduler(FrontierScheduler):
    """The scheduler for spiders that yield requests.

    The frontier takes plain requests for pages (:func:`~bilingual_crawler.crawl.requests.asks_for_page`), in the order
    of the policy; those without a rank come as soon as a seed. The others go into Scrapy's scheduler, which comes
    first. Stats: ``bilingual/frontier/unserializable``, and those of Scrapy's scheduler.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._others = Scheduler.from_crawler(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        super().open(spider)
        return self._others.open(spider)

    @deferred_f_from_coro_f
    async def close(self, reason: str) -> None:
        try:
            if closing := self._others.close(reason):
                await maybe_deferred_to_future(closing)
        finally:
            await self.visits.leave()

    def has_pending_requests(self) -> bool:
        return self._others.has_pending_requests() or super().has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        if ENTRY in request.meta:
            return super().enqueue_request(request)
        rank: Wanted | None = request.meta.pop(RANK, None)
        url = canonicalise(request.url) if asks_for_page(request) else None
        if url is not None:
            if text := packed(request, self._spider):
                depth = request.meta.get("depth", 0)
                if rank is None:
                    self.visits.push_seed(url, depth=depth, request=text)
                else:
                    slot = self.visits.slot(url)
                    self.visits.push([Entry(url, slot, rank.priority, rank.parent, depth, request=text)])
                return True
            why = "its callbacks are no methods of the spider, or its meta or cb_kwargs cannot be pickled"
            message = f"{request}: {why}. Such requests are neither ranked nor learnt from"
            count_and_log(self._crawler, "bilingual/frontier/unserializable", message)
        request.meta["download_slot"] = self.visits.frontier.server(self.visits.slot(request.url))
        return self._others.enqueue_request(request)

    def next_request(self) -> Request | None:
        if request := self._others.next_request():
            return request
        try:
            return super().next_request()
        except ValueError as error:
            self.visits.stop(error)
            return None

    def _request(self, entry: Entry) -> Request:
        asked = unpacked(entry.request, self._spider)
        meta = {**asked.meta, **self._meta(entry)}
        return asked.replace(url=entry.url, meta=meta, errback=partial(self._failed, asked.errback))

    def _failed(self, errback: Callable[[Failure], Any] | None, failure: Failure) -> Any:
        self.visits.fail(failure)
        failure.request = of_its_own(failure.request)  # type: ignore[attr-defined]
        if errback:
            return errback(failure)
        # what is not read on purpose is no error for Scrapy's log
        return None if isinstance(failure.value, IgnoreRequest | StopDownload) else failure
