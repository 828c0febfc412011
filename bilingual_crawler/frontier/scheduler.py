"""The Scrapy scheduler over the frontier."""

from __future__ import annotations

import functools
import logging
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from uuid import uuid4

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.asyncio import call_later, create_looping_call, run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.job import job_dir

from bilingual_crawler.frontier.backoff import REST, Rest
from bilingual_crawler.frontier.checkpoint import to_disk
from bilingual_crawler.frontier.entry import FIXED, Entry, Kind, Push, State
from bilingual_crawler.frontier.facts import GONE, page_fact, redirect_fact, relearn
from bilingual_crawler.frontier.frontier import Frontier, Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.politeness import CrawlDelays
from bilingual_crawler.frontier.quota import QueueQuota
from bilingual_crawler.frontier.shared import SharedFrontier
from bilingual_crawler.frontier.store import StoreError
from bilingual_crawler.options import Options
from bilingual_crawler.signals import output_failed
from bilingual_crawler.urls.canonical import canonicalise, registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector
    from twisted.internet.defer import Deferred

    from bilingual_crawler.frontier.policies.base import FetchedPage, Policy
    from bilingual_crawler.frontier.store import FrontierStore
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.spiders.bilingual import BilingualSpider

logger = logging.getLogger(__name__)

ENTRY = "bilingual_entry"
"""Meta key of the frontier entry that a request fetches."""

MAX_REST = 60.0
"""Seconds that a slot rests after a failed fetch, at most."""
CHECKPOINT_SECONDS = 5.0
"""What a power cut can make the crawl forget."""


class FrontierScheduler(BaseScheduler):
    """Feeds the engine from a :class:`Frontier`.

    Order: highest priority first, ties by discovery, at most ``CONCURRENT_REQUESTS_PER_DOMAIN`` requests of one
    politeness slot and ``CONCURRENT_REQUESTS`` in all between hand-out and the end of processing. Requests that are
    yielded to the engine are pushed with their ``priority`` (seeds with the policy's); a redirect takes the place of
    what it redirects, a retry goes back to its place while its slot rests. With ``JOBDIR`` the frontier is durable:
    whatever happens to the process, the next run fetches what is left and what was in flight, the latter at last and
    one by one. With ``BILINGUAL_FRONTIER`` it is in Redis and shared with other workers.
    Only GET requests without a body have a place in it; others are dropped and counted.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats: StatsCollector = crawler.stats
        self._settings = crawler.settings
        self._options = Options.of(crawler.settings)
        self._politeness = self._options.politeness
        self._stopping = False
        self._quota = QueueQuota()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        self._spider = cast("BilingualSpider", spider)
        self.policy: Policy = self._spider.policy
        self._crawl_delays = CrawlDelays(self._crawler, self.slot)
        limits = Limits(
            per_slot=self._settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
            in_flight=self._settings.getint("CONCURRENT_REQUESTS"),
            pages=self._spider.max_pages,
            pages_per_slot=self._spider.max_pages_per_site,
        )
        jobdir = job_dir(self._settings)
        url = self._options.frontier
        self.store: FrontierStore
        self.frontier: Frontier
        if url:
            # the client of Redis comes with an extra
            from bilingual_crawler.frontier.redis_store import RedisStore

            self.store = RedisStore(url, worker_name(jobdir))
            self.frontier = SharedFrontier(self.store, limits, time.monotonic, self)
        else:
            self.store = LmdbStore(Path(jobdir) / "frontier") if jobdir else MemoryStore()
            self.frontier = LocalFrontier(self.store, limits, time.monotonic, self.reconsider, self.stop)
            for slot in self.store.slots():
                self.gained(self.store.facts(slot), self.store.queued(slot))
            if self._politeness == "address":
                self._crawler.signals.connect(self._note_address, signal=signals.response_received)
        self._crawler.signals.connect(self.stop, signal=output_failed)
        self._checkpoint: Deferred[None] | None = None
        self._on_disk: dict[Path, tuple[int, int]] = {}
        self._checkpoints = create_looping_call(self._begin_checkpoint)
        self._durable = bool(jobdir or url)
        if self._durable:
            self._checkpoints.start(CHECKPOINT_SECONDS)
        known = self.store.count(State.QUEUED), self.store.count(State.DONE)
        if any(known):
            logger.info(f"Resuming: {known[0]} URLs queued, {known[1]} done", extra=self._extra)

    def close(self, reason: str) -> Deferred[None]:
        self._checkpoints.stop()
        return deferred_from_coro(self._leave())

    def has_pending_requests(self) -> bool:
        return self.frontier.has_pending()

    def enqueue_request(self, request: Request) -> bool:
        if request.method != "GET" or request.body:
            self._stats.inc_value("bilingual/frontier/not_get")
            return False
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            self.push([self._entry(request)])
            return True
        if "redirect_urls" in request.meta:
            return self._redirect(entry, request)
        rest: Rest = request.meta.get(REST) or Rest(min(MAX_REST, 2.0**entry.attempts))
        self.frontier.retry(entry, rest=rest.seconds, failed=rest.failed)
        self._quota.add(self._source(entry), entry.url)
        call_later(rest.seconds, self.wake)
        self._stats.inc_value("bilingual/frontier/retried")
        return True

    def next_request(self) -> Request | None:
        entry = self.frontier.pop()
        if entry is None:
            return None
        self._quota.remove(self._source(entry), entry.url)
        return self._request(entry)

    def push(self, entries: Sequence[Entry]) -> None:
        """Push or raise *entries* in one transaction."""
        self.frontier.push(entries, functools.partial(self._count_pushed, entries))

    def may_queue_links(self, page: str) -> bool:
        """Whether the site of *page* has not filled its share of the queue."""
        return not self._quota.is_full(self.slot(page))

    def reconsider(self, url: str, priority: float) -> float:
        return priority if priority in FIXED else self.policy.reconsider(url, priority)

    def gained(self, facts: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
        relearn(self.policy, facts, self._counted(queued))

    def learn(self, entry: Entry, page: FetchedPage, links: Sequence[Link]) -> None:
        """*entry* gave *page* with *links*: the policy learns from it, and those that come after this process can."""
        self.policy.learn(page, links)
        self.frontier.remember(entry, page_fact(page, links, self.policy.pair))
        self.frontier.rescore(self.policy.changed())

    def gone(self, entry: Entry) -> None:
        """*entry* gave no page."""
        self.policy.gone(entry.url)
        self.frontier.remember(entry, GONE)

    def stop(self, error: Exception) -> None:
        """Frontier or outputs cannot be written: stop so that the next run fetches again what is in flight now."""
        self.frontier.freeze()
        engine = self._crawler.engine
        assert engine
        if self._stopping:
            return
        self._stopping = True
        logger.error(f"Stopping, a resume goes on from here: {error}", extra=self._extra)
        deferred_from_coro(engine.close_spider_async(reason="write_error"))

    def slot(self, url: str) -> str:
        """The politeness slot of *url*: its registered domain, or its host with ``BILINGUAL_POLITENESS = "host"``.

        With ``"address"`` the domains that turn out to be on one address share its limits.
        """
        host = urlsplit(url).hostname or ""
        return host if self._politeness == "host" else registered_domain(host)

    def _note_address(self, request: Request, response: Response) -> None:
        """A site stays with the address of its first answer: those with several would go to and fro."""
        assert isinstance(self.frontier, LocalFrontier)
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is not None and response.ip_address is not None and self.frontier.server(entry.slot) == entry.slot:
            server = str(response.ip_address)
            self.frontier.share_server(entry.slot, server)
            self._crawl_delays.share_server(entry.slot, server)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._spider}

    def _entry(self, request: Request) -> Entry:
        url = canonicalise(request.url) or request.url
        kind = Kind(request.meta.get("bilingual_kind", Kind.PAGE))
        parent = (request.headers.get("Referer") or b"").decode("latin-1")
        seed = not parent and kind is Kind.PAGE
        priority = self.policy.seed_priority(url) if seed else float(request.priority)
        return Entry(url, self.slot(url), priority, parent, request.meta.get("depth", 0), kind)

    def _request(self, entry: Entry) -> Request:
        request = Request(
            entry.url,
            callback=self._spider.parse_sitemap if entry.kind is Kind.SITEMAP else self._spider.parse,
            errback=self._spider.handle_failure,
            meta={
                ENTRY: entry,
                "download_slot": self.frontier.server(entry.slot),
                "depth": entry.depth,
            },
            headers={"Referer": entry.parent} if entry.parent else None,
            dont_filter=True,
        )
        if entry.attempts:
            request.meta["retry_times"] = entry.attempts
        return request

    def wake(self) -> None:
        """Have the engine ask again now; left alone it does so every five seconds."""
        assert self._crawler.engine
        slot = self._crawler.engine._slot
        if slot is not None:
            slot.nextcall.schedule()

    def _redirect(self, entry: Entry, request: Request) -> bool:
        url = canonicalise(request.url)
        if url is None:
            self._spider.record(entry, status=_redirect_status(request), outcome="redirect-nowhere")
            self._stats.inc_value("bilingual/redirect/nowhere")
            self.frontier.finish(entry)
            return False
        self._spider.record(entry, status=_redirect_status(request), outcome="redirect", location=url)
        if not self._spider.scope.admits(url) and entry.parent:
            self.frontier.finish(entry)
            self._stats.inc_value("bilingual/redirect/offsite")
            return False
        target = Entry(url, self.slot(url), entry.priority, entry.parent, entry.depth, entry.kind)
        target.redirects = entry.redirects + 1
        if url == entry.url or target.redirects > self._settings.getint("REDIRECT_MAX_TIMES"):
            self.frontier.finish(entry)
            self._stats.inc_value("bilingual/redirect/endless")
            return False
        self.policy.redirected(entry.url, url)
        self.frontier.remember(entry, redirect_fact(url))
        self.frontier.redirect(entry, target, self._count_redirect)
        return True

    def _source(self, entry: Entry) -> str:
        """The slot of the page whose link put *entry* into the queue."""
        return self.slot(entry.parent) if entry.parent else entry.slot

    def _counted(self, queued: Iterable[str]) -> Iterator[str]:
        """*queued* as they are passed on; most links lead to pages of their own site."""
        for url in queued:
            self._quota.add(self.slot(url), url)
            yield url

    def _count_pushed(self, entries: Sequence[Entry], outcomes: list[Push]) -> None:
        for entry, outcome in zip(entries, outcomes, strict=True):
            if outcome is Push.NEW:
                self._quota.add(self._source(entry), entry.url)
        for outcome in Push:
            self._stats.inc_value(f"bilingual/frontier/{outcome}", outcomes.count(outcome))

    def _count_redirect(self, wanted: bool) -> None:
        self._stats.inc_value(f"bilingual/redirect/{'followed' if wanted else 'known'}")

    async def _leave(self) -> None:
        if self._checkpoint:
            await maybe_deferred_to_future(self._checkpoint)
        try:
            if self._durable:
                await self._make_checkpoint()
        finally:
            await self.frontier.leave()

    def _begin_checkpoint(self) -> None:
        """Unless one is under way."""
        if self._checkpoint is None and not self._stopping:
            self._checkpoint = deferred_from_coro(self._make_checkpoint())

    async def _make_checkpoint(self) -> None:
        """Pages are done for good only when what they gave is on the disk, so the outputs come first."""
        try:
            await run_in_thread(self.store.checkpoint(self._outputs_to_disk))
        except (StoreError, OSError) as error:
            self.stop(error)
        finally:
            self._checkpoint = None

    def _outputs_to_disk(self) -> None:
        folder = self._spider.output_dir
        for path in (*filter(Path.is_file, folder.iterdir()), folder):
            # files may be moved away, and pairs.tsv is replaced at the end
            with suppress(FileNotFoundError):
                state = path.stat()
                version = (state.st_mtime_ns, state.st_size)
                if self._on_disk.get(path) != version:
                    to_disk(path)
                    self._on_disk[path] = version


def worker_name(jobdir: str | None) -> str:
    """A name of this process among the workers of a crawl; the same one whenever it goes on with *jobdir*."""
    new = f"{socket.gethostname()}-{uuid4().hex[:12]}"
    if jobdir is None:
        return new
    memo = Path(jobdir) / "worker"
    if not memo.exists():
        memo.write_text(new, encoding="utf-8")
        to_disk(memo)
    return memo.read_text(encoding="utf-8")


def _redirect_status(request: Request) -> int:
    reason = request.meta.get("redirect_reasons", [0])[-1]
    return reason if isinstance(reason, int) else 0
