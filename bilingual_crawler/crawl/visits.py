"""The life of a URL, from the first link to it until it is done; which frontier a crawl has, and its checkpoints."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from cachetools import LRUCache
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later, create_looping_call, run_in_thread
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.job import job_dir
from twisted.python.failure import Failure

from bilingual_crawler.crawl import learner
from bilingual_crawler.crawl import signals as ours
from bilingual_crawler.crawl.context import ADDON, CrawlContext
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.crawl.politeness import ByteBudgets, CrawlDelays, slot_by
from bilingual_crawler.crawl.scrapy_internals import ask_scheduler, being_scraped
from bilingual_crawler.crawl.signals import ENTRY, ERRORS, READ, Fetch, Refused, StillWanted, engine_of
from bilingual_crawler.crawl.variants import Switch, Variants
from bilingual_crawler.crawl.walls import Walls
from bilingual_crawler.frontier.backoff import NO_DESCRIPTOR, Rest, own_shortage
from bilingual_crawler.frontier.budget import QueueQuota
from bilingual_crawler.frontier.entry import AFTER_OTHERS, FIXED, NEVER, Entry, Kind, Push, State
from bilingual_crawler.frontier.frontier import (
    UNTIL,
    Frontier,
    FrontierStore,
    Limits,
    SharedStore,
    StoreError,
    StoreLost,
    batched,
    ignore,
)
from bilingual_crawler.frontier.job import FRONTIER
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.shared import SharedFrontier, Worker
from bilingual_crawler.items import Pair
from bilingual_crawler.options import Options, usage_error
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.plugins import FRONTIER_STORES
from bilingual_crawler.storage.files import to_disk, write_durably
from bilingual_crawler.urls.canonical import bare, canonicalise
from bilingual_crawler.urls.hosts import registered_domain, with_http, with_https


def open_frontier(crawler: Crawler, worker: Worker) -> tuple[FrontierStore, Frontier]:
    """Open the frontier in ``BILINGUAL_FRONTIER``, LMDB (``JOBDIR``) or memory, with its store; raises StoreError."""
    settings, context = crawler.settings, CrawlContext.from_crawler(crawler)
    of_slot, in_all = map(settings.getint, ("CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_REQUESTS"))
    limits = Limits(of_slot, in_all, context.max_pages, context.max_pages_per_site)
    jobdir = job_dir(settings)
    if url := Options.of(settings).frontier:
        store: FrontierStore = FRONTIER_STORES.find(url.partition("://")[0])(url, _worker_name(jobdir))
        if isinstance(store, SharedStore):
            return store, SharedFrontier(store, limits, time.monotonic, worker, context.budget)
    else:
        store = LmdbStore(Path(jobdir) / FRONTIER) if jobdir else MemoryStore()
    frontier = LocalFrontier(store, limits, time.monotonic, worker.reconsider, worker.stop, context.budget)
    for slot in store.slots():
        worker.gained(store.facts(slot), store.queued(slot))
    return store, frontier


def _worker_name(jobdir: str | None) -> str:
    new = f"{socket.gethostname()}-{uuid4().hex[:12]}"
    if jobdir is None:
        return new
    memo = Path(jobdir) / "worker"
    # an empty file, as a crash leaves it, would give several workers one name
    if not memo.exists() or not memo.stat().st_size:
        write_durably(memo, new)
    return memo.read_text(encoding="utf-8")


CHECKPOINT_SECONDS = 5.0  # seconds of progress that a power cut can cost


class Checkpoints:
    """Syncs the files in *folder*, then the *store*, to the disk: every five seconds and at the end.

    Outputs come first: a page is done only when its records are on the disk. *failed* gets the error of a checkpoint.
    """

    def __init__(self, store: FrontierStore, folder: Path, failed: Callable[[Exception], None]) -> None:
        self._store = store
        self._folder = folder
        self._failed = failed
        self._on_disk: dict[Path, tuple[int, int]] = {}
        self._making = asyncio.Lock()
        self._is_finished = False
        self._timer = create_looping_call(self._begin)

    def start(self) -> None:
        self._timer.start(CHECKPOINT_SECONDS)

    def stop(self) -> None:
        if self._timer.running:
            self._timer.stop()

    async def finish(self) -> None:
        self.stop()
        await self._make(last=True)

    def _begin(self) -> None:
        if not self._making.locked():
            deferred_from_coro(self._make())

    async def _make(self, *, last: bool = False) -> None:
        try:
            async with self._making:
                # one that was due before the last one may begin after it
                if not self._is_finished:
                    self._is_finished = last
                    await run_in_thread(self._store.checkpoint(self._outputs_to_disk))
        except (StoreError, OSError) as error:
            # the crawl waits until files can be opened again, and so does the checkpoint
            if last or own_shortage(error) not in NO_DESCRIPTOR:
                self._failed(error)

    def _outputs_to_disk(self) -> None:
        for path in (*filter(Path.is_file, self._folder.iterdir()), self._folder):
            # files may be moved away, and pairs.tsv is replaced at the end
            with suppress(FileNotFoundError):
                state = path.stat()
                version = (state.st_mtime_ns, state.st_size)
                if self._on_disk.get(path) != version:
                    to_disk(path)
                    self._on_disk[path] = version


logger = logging.getLogger(__name__)

MAX_ANNOUNCED = 200_000  # maximum pages to come whose versions a sitemap has announced
ANNOUNCED_AT_ONCE = 1_000  # pages in one fact
WRITE_ERROR, FRONTIER_LOST = "write_error", "frontier_lost"  # the finish_reason of a crawl that could not go on


class Visits:
    """The life of a URL: nothing else moves URLs in the frontier, teaches the policy or writes the log.

    A URL is pushed, raised by better links, and handed out. Then it is put back, redirected or failed; or it is
    finished once all that its page gave is processed: a crash before that fetches it again. Stats:
    ``bilingual/frontier/new|raised|ignored|retried|http_tried``, ``bilingual/redirect/<what came of it>``,
    ``bilingual/dropped/<outcome>``, ``bilingual/until/sites_left``, ``bilingual/errors/<exception>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Open the frontier of *crawler*; raises StoreError."""
        assert crawler.stats
        options = Options.of(crawler.settings)
        self._crawler = crawler
        self._stats = crawler.stats
        self._context = CrawlContext.from_crawler(crawler)
        self._policy = self._context.policy
        self.learner = Learner(self._policy, self._context.budget)
        self.variants = Variants(self._context.pairs)
        self.walls = Walls()
        # URL of a page to come -> its versions by a sitemap
        self._announced: LRUCache[str, Sequence[Link]] = LRUCache(MAX_ANNOUNCED)
        self.quota = QueueQuota(len(self._policy.parts))  # memory for queued URLs by linking politeness slot
        # URLs whose https is a guess, as the user gave no scheme
        self.guesses = {seed.url for seed in self._context.seeds if seed.guessed_scheme}
        self._waiting: dict[str, str] = {}  # guessed https URL -> failure, while http is tried
        self._answered: dict[str, str] = {}  # guessed https URL -> failure, once http has not led there
        self._with_spider: dict[str, Entry] = {}
        self._left: dict[str, str] = {}  # slot -> its site, where enough pairs are found
        self._stopping = False
        self.slot = slot_by(options.politeness)  # the politeness slot of a URL
        self.is_durable = bool(job_dir(crawler.settings) or options.frontier)
        self._store, self.frontier = open_frontier(crawler, self)
        shared = self.frontier if options.politeness == "address" else None
        assert shared is None or isinstance(shared, LocalFrontier)
        self._delays = CrawlDelays(crawler, self.slot, shared)
        self._budgets = ByteBudgets(crawler, self.slot, self.frontier, options)
        self._checkpoints = Checkpoints(self._store, self._context.output_dir, self.stop)
        if self.is_durable:
            self._checkpoints.start()
        crawler.signals.connect(self.stop, signal=ours.output_failed)
        crawler.signals.connect(self._callback_failed, signal=signals.spider_error)
        crawler.signals.connect(self._idle, signal=signals.spider_idle)
        queued, done = map(self._store.count, (State.QUEUED, State.DONE))
        if queued or done:
            logger.info(f"Resuming: {queued} URLs queued, {done} done")
            self.pursue()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Visits":
        """Return the visits of *crawler*, whose scheduler must be open; raises UsageError for a foreign scheduler."""
        visits: Visits | None = getattr(cast("Any", crawler.engine).scheduler, "visits", None)
        if visits is None:
            fix = f"{ADDON}, and leave frontier in BILINGUAL_PARTS"
            raise usage_error(f"a component of bilingual_crawler needs its frontier: {fix}")
        return visits

    def push(self, entries: Sequence[Entry]) -> None:
        """Queue or raise *entries* in one transaction."""

        def count(outcomes: Sequence[Push]) -> None:
            for entry, outcome in zip(entries, outcomes, strict=True):
                if outcome is Push.NEW:
                    self.quota.add(self._source(entry), entry.url)
            for outcome in Push:
                self._stats.inc_value(f"bilingual/frontier/{outcome}", outcomes.count(outcome))

        self.frontier.push(entries, count)

    def is_guess(self, entry: Entry) -> bool:
        """Return whether https is still a guess for *entry*: nothing has led there, and http was not tried."""
        is_new = entry.url in self.guesses and not (entry.attempts or entry.redirects)
        return is_new and not self.learner.is_done(with_http(entry.url))

    def push_seed(self, url: str, *, depth: int = 0, request: str = "") -> None:
        priority = self.learner.seed_priority(url)
        # after a resume, its http address may have answered in its place
        if not (url in self.guesses and self.learner.is_done(with_http(url))):
            self.push([Entry(url, self.slot(url), priority, depth=depth, request=request)])

    def hand_out(self) -> Entry | None:
        """The best URL that may be fetched now.

        One outside the scope is the target of a redirected seed, perhaps of another worker: its site joins the scope.
        """
        self._finish_processed()
        entry = self.frontier.pop()
        while entry is not None and (self._is_answered(entry) or self._is_left(entry)):
            entry = self.frontier.pop()
        if entry is not None:
            # found by a link: normal retries apply
            self._waiting.pop(entry.url, None)
            self.quota.remove(self._source(entry), entry.url)
            if entry.kind is Kind.PAGE and self._context.scope.join(entry.url):
                logger.info(f"{entry.url}: a seed leads to this site, which joins the scope")
                self.frontier.remember(entry, learner.part_fact(learner.SCOPE))
        return entry

    def put_back(self, entry: Entry, rest: Rest) -> None:
        """Queue *entry* again; its slot pauses for *rest*."""
        self.frontier.retry(entry, rest=rest.seconds, failed=rest.failed)
        if rest.after_others:
            self.frontier.rescore({entry.url: AFTER_OTHERS})
        self.quota.add(self._source(entry), entry.url)
        call_later(rest.seconds, self.wake)
        self._stats.inc_value("bilingual/frontier/retried")

    def redirect(self, entry: Entry, location: str, status: int, switch: Switch | None = None) -> bool:
        """Replace *entry* in the queue by the target of its redirect; return False if there is no such target.

        If that is a known page, the site shows its pages in the language of the *switch* by these cookies.
        """
        # Scrapy keeps the fragment of the requested URL
        url = canonicalise(bare(location))
        if url is None:
            return self._end_redirect(entry, "nowhere", status)
        if switch and self.learner.is_done(url) and self.variants.is_switched(url, switch):
            cookies = self.variants.note_switch(entry.url, switch)
            self.frontier.remember(entry, learner.part_fact(learner.COOKIES, cookies))
            self._stats.inc_value("bilingual/variants/switches")
        else:
            switch = None
        self._context.traps.forms.learn(entry.url, url)
        url = self.variants.target(entry.url, url, switch)
        if not self._context.scope.admits(url) and entry.parent:
            return self._end_redirect(entry, "offsite", status, url)
        if url == entry.url or entry.redirects >= self._crawler.settings.getint("REDIRECT_MAX_TIMES"):
            return self._end_redirect(entry, "endless", status, url)
        self.log(entry, status=status, outcome="redirect", location=url)
        stat = "bilingual/redirect/"
        self._replace(entry, url, lambda is_new: self._stats.inc_value(stat + ("followed" if is_new else "known")))
        return True

    def fail(self, failure: Failure) -> None:
        """End, or queue again, the URL of a request that gave no page."""
        entry: Entry = failure.request.meta[ENTRY]  # type: ignore[attr-defined]
        error: BaseException = cast("BaseException", failure.value)
        if isinstance(error, StillWanted):
            self.put_back(entry, Rest(0.0, failed=False))
            return
        status, outcome = ours.reason(error)
        # a fault of a component: Scrapy and Twisted have classes for those of servers and networks
        if type(error).__module__ == "builtins" and not isinstance(error, OSError):
            self._stats.inc_value(f"{ERRORS}{type(error).__name__}")
        if status == 0 and self.is_guess(entry):
            # its http address is queued, and it waits for the result
            http = with_http(entry.url)
            logger.info(f"{entry.url}: {outcome}, {http} is tried")
            self._stats.inc_value("bilingual/frontier/http_tried")
            self._waiting[entry.url] = outcome
            self.frontier.put_back(entry, NEVER, failed=True)
            self.quota.add(self._source(entry), entry.url)
            self.push_seed(http)
            return
        self.log(entry, status=status, outcome=outcome)
        self._stats.inc_value(f"bilingual/dropped/{outcome}")
        if outcome == "not-html":
            self._context.traps.note_file(entry.url)
        if 400 <= status < 500 and (given := self._context.traps.forms.given(entry.url)):
            self._replace(entry, given)
            return
        if outcome == "host-not-found":
            logger.warning(f"{entry.url}: host not found, skipped")
        https = with_https(entry.url)
        if entry.url != https and https in self.guesses and not self.learner.is_done(https) and ours.is_silent(error):
            # https had one try; after the failure of http normal retries apply
            self._replace(entry, https)
            return
        self._gone(entry)
        refused = isinstance(error, Refused) and not error.status
        self.frontier.finish(entry, State.REFUSED if refused else State.DONE)

    def no_page(self, entry: Entry, status: int) -> None:
        """Log and learn that *entry*, a request of another project's spider, gave no page."""
        self.log(entry, status=status, outcome="not-html" if status == 200 else f"http-{status}")
        self._gone(entry)

    def observe_page(self, entry: Entry, page: PageRecord, links: Sequence[Link]) -> None:
        """Teach policy and ledgers the *page* of *entry* with its *links*, and keep the fact for a resume."""
        self._announce(self.learner.observe_page(page, links))
        self._give_up_guess(entry)
        # only a crawl that can be resumed needs the packed fact
        if self.is_durable:
            self.frontier.remember(entry, learner.page_fact(page, links, self._context.pairs))
        self.pursue()

    def recall(self, entry: Entry, fact: bytes) -> None:
        """Teach the policy a *fact* of *entry*, and keep it for a resume."""
        self.frontier.remember(entry, learner.part_fact(learner.POLICY, fact))
        self._policy.recall(fact)
        self.pursue()

    def pursue(self) -> None:
        """Queue the policy's proposals, and update the priorities of queued URLs."""
        if wanted := self._policy.wanted():
            self.push([Entry(one.url, self.slot(one.url), one.priority, one.parent) for one in wanted])
        changed = self._policy.changed()
        self.frontier.rescore({url: changed[url] for url in changed.keys() - self._waiting})

    def follow(self, entry: Entry, page: PageRecord, weighed: Sequence[tuple[Link, float]]) -> None:
        """Queue or raise the *weighed* links of the page of *entry* in one transaction."""
        depth = entry.depth + 1
        self.push([Entry(link.url, self.slot(link.url), priority, page.url, depth) for link, priority in weighed])
        # after a death in between, the page is fetched again, and its links must still be new
        self.keep_news(entry, page, weighed)

    def keep_news(self, entry: Entry, page: PageRecord, weighed: Iterable[tuple[Link, float]]) -> None:
        """Store what is new in the *weighed* links of the page of *entry*, for a resume."""
        if self.is_durable and (news := [link for link, priority in weighed if priority != NEVER]):
            self.frontier.remember(entry, learner.news_fact(page, news))

    def announce(self, entry: Entry, versions: Mapping[str, Sequence[Link]]) -> None:
        """Keep the *versions* of pages to come that the sitemap *entry* announces, also for a resume."""
        self._announced.update(versions)
        if self.is_durable:
            for part in batched(versions.items(), ANNOUNCED_AT_ONCE):
                self.frontier.remember(entry, learner.announced_fact(part))

    def announced(self, url: str) -> Sequence[Link]:
        """Return the versions of the page *url* that a sitemap has announced; once, as it counts from then on."""
        return self._announced.pop(url, ())

    def hold(self, entry: Entry) -> None:
        """Finish *entry* when all items and requests of its response are processed."""
        self._with_spider[entry.url] = entry

    async def count(self, *names: str) -> dict[str, int]:
        """Increment counters shared by all runs and workers; return the sums, or never if the frontier is frozen."""
        counted: asyncio.Future[dict[str, int]] = asyncio.get_running_loop().create_future()
        add = dict.fromkeys(names, 1)
        self.frontier.add(add, lambda sums: None if counted.done() else counted.set_result(sums))
        return await counted

    def log(
        self, entry: Entry, *, status: int, outcome: str, language: str = "", location: str = "", declared: str = ""
    ) -> None:
        """Send :data:`url_fetched` with what came of *entry*."""
        place = entry.priority, entry.parent, entry.depth
        fetch = Fetch(utc_now(), status, entry.url, language, *place, outcome, location, declared)
        self._crawler.signals.send_catch_log(ours.url_fetched, fetch=fetch)

    def log_page(self, response: Response) -> None:
        page: PageRecord = response.meta[READ]
        outcome = "other-language" if page.side is None else page.objection or "document"
        declared = page.contradicting(self._context.pairs) or ""
        entry = response.meta[ENTRY]
        self.log(entry, status=response.status, outcome=outcome, language=page.language, declared=declared)

    def expects_answers(self, url: str, *, elsewhere: bool = False) -> bool:
        """Whether a site that answered before should answer now: that of *url*, or another with queued URLs.

        With *elsewhere* only other sites count. All are sites of this process.
        """
        own = registered_domain(url)
        others = set(map(registered_domain, self.frontier.open_slots())) - {own}
        return not self._stopping and any(map(self._has_pages, others if elsewhere else {own, *others}))

    def may_be_away(self, entry: Entry) -> bool:
        """Whether the site of *entry* answered before, and has other queued URLs to test whether it is down."""
        return self._has_pages(registered_domain(entry.url)) and entry.slot in self.frontier.open_slots()

    def _has_pages(self, site: str) -> bool:
        return any(course.pages for course in self.learner.remaining.courses(site))

    async def leave(self) -> None:
        self._finish_processed()
        try:
            if self.is_durable:
                await self._checkpoints.finish()
        finally:
            await self.frontier.leave()

    def reconsider(self, url: str, priority: float) -> float:
        return priority if priority in FIXED else self._policy.reconsider(url, priority)

    def gained(self, learnt: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
        def counted() -> Iterator[str]:
            for url in queued:
                # most links lead to pages of their own site
                self.quota.add(self.slot(url), url)
                yield url

        parts = {
            learner.SCOPE: lambda url, _: self._context.scope.join(url),
            learner.COOKIES: self.variants.recall,
            learner.WALL: self.walls.recall,
            learner.ANNOUNCED: lambda _, fact: self._announced.update(learner.announced_in(fact)),
        }
        self._announce(learner.relearn(self.learner, learnt, counted(), parts))

    def wake(self) -> None:
        """Let the engine fetch the next request now instead of at its five-second poll."""
        ask_scheduler(engine_of(self._crawler))

    def stop(self, error: Exception) -> None:
        """Stop after a write *error* of frontier or outputs; the next run fetches the URLs in flight again."""
        self.frontier.freeze()
        self._checkpoints.stop()
        if not self._stopping:
            self._stopping = True
            lost = isinstance(error, StoreLost)
            logger.error(f"Stopping{'' if lost else ', a resume goes on from here'}: {error}")
            engine = engine_of(self._crawler)
            deferred_from_coro(engine.close_spider_async(reason=FRONTIER_LOST if lost else WRITE_ERROR))

    def _announce(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self._crawler.signals.send_catch_log(ours.pair_found, pair=pair)

    def _callback_failed(self, response: Response | Failure) -> None:
        if isinstance(response, Response) and ENTRY in response.meta:
            entry: Entry = response.meta[ENTRY]
            if not self.learner.is_done(entry.url):
                self._gone(entry)
            self.frontier.finish(entry)

    def _idle(self) -> None:
        """End the crawl when nothing is pending, unless pages in flight while their site was left have brought more."""
        if again := [slot for slot, site in self._left.items() if not self._has_enough(site)]:
            for slot in again:
                del self._left[slot]
                self.frontier.reopen(slot)
            self.wake()
            raise DontCloseSpider
        if reason := self.frontier.spent:
            raise CloseSpider(reason)

    def _finish_processed(self) -> None:
        scraped = being_scraped(engine_of(self._crawler))
        active = {request.meta[ENTRY].url for request in scraped if ENTRY in request.meta}
        for url in [url for url in self._with_spider if url not in active]:
            self.frontier.finish(self._with_spider.pop(url))

    def _is_left(self, entry: Entry) -> bool:
        """Whether enough pairs of the site of *entry* are found; if so, *entry* is queued again."""
        site = registered_domain(entry.url)
        if entry.kind is Kind.SITEMAP or not self._has_enough(site):
            return False
        self.frontier.put_back(entry, entry.priority)
        if self.frontier.close(entry.slot, UNTIL):
            if site not in self._left.values():
                self._stats.inc_value("bilingual/until/sites_left")
                estimate = self.learner.remaining.estimate(site)
                logger.info(f"{site} is left: {estimate or 'it brings no more pairs'}")
            self._left[entry.slot] = site
        return True

    def _is_answered(self, entry: Entry) -> bool:
        """Whether *entry* waited for its http address in vain; if so, *entry* is given up."""
        outcome = self._answered.pop(entry.url, None)
        if outcome is None:
            return False
        self.quota.remove(self._source(entry), entry.url)
        self.log(entry, status=0, outcome=outcome)
        self._stats.inc_value(f"bilingual/dropped/{outcome}")
        self._gone(entry)
        # budgets count its http address only
        self.frontier.finish(entry, State.REFUSED)
        return True

    def _has_enough(self, site: str) -> bool:
        return self._context.until < 1 and self.learner.remaining.is_finished(site, self._context.until)

    def _gone(self, entry: Entry) -> None:
        self.learner.observe_failure(entry.url)
        self._give_up_guess(entry)
        self.frontier.remember(entry, learner.GONE)
        self.pursue()

    def _give_up_guess(self, entry: Entry) -> None:
        """Give up the https address that waits for *entry*, its http address, which has not led there."""
        https = with_https(entry.url)
        if https in self._waiting:
            self._answered[https] = self._waiting.pop(https)
            self.frontier.rescore({https: 0.0})

    def _replace(self, entry: Entry, url: str, told: Callable[[bool], None] = ignore) -> None:
        target = Entry(url, self.slot(url), entry.priority, entry.parent, entry.depth, entry.kind)
        target.redirects, target.request = entry.redirects + 1, entry.request
        self._waiting.pop(url, None)
        self._answered.pop(url, None)
        self._announce(self.learner.observe_redirect(entry.url, url))
        self._give_up_guess(entry)
        self.frontier.remember(entry, learner.redirect_fact(url))
        self.frontier.redirect(entry, target, told)
        self.pursue()

    def _end_redirect(self, entry: Entry, why: str, status: int, location: str = "") -> bool:
        self.log(entry, status=status, outcome="redirect" if location else "redirect-nowhere", location=location)
        self._stats.inc_value(f"bilingual/redirect/{why}")
        self._gone(entry)
        self.frontier.finish(entry)
        return False

    def _source(self, entry: Entry) -> str:
        return self.slot(entry.parent) if entry.parent else entry.slot


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
