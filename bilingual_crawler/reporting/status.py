"""Extension: the figures of a running crawl, in bounded memory, served on ``BILINGUAL_STATUS``."""

from __future__ import annotations

import asyncio
import logging
import operator
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from cachetools import LRUCache
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from twisted.internet.error import CannotListenError

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.politeness import by_site
from bilingual_crawler.crawl.signals import Fetch
from bilingual_crawler.items import Document, Pair
from bilingual_crawler.options import PREFIX, Options, wrong
from bilingual_crawler.reporting.ledger import is_fetched, tally_of
from bilingual_crawler.reporting.markup import harvest_chart, render
from bilingual_crawler.reporting.results import Course, SiteCounts, most_fetched
from bilingual_crawler.reporting.summary import SummaryExtension
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from bilingual_crawler.reporting.status_pages import StatusSite

logger = logging.getLogger(__name__)

MAX_POINTS = 1200  # points of the curve; when it has more, every second one is dropped
MAX_TITLES = MAX_SITES = 10_000
MAX_NEWEST = 20
SPEED_SECONDS = 60
REFRESH_SECONDS = 2  # seconds between requests of a browser; the figures are at most half as old
SHOWN_SITES = 100


class StatusExtension(CrawlComponent):
    """Serves ``/``, ``/status.json``, ``/metrics`` and ``/explain`` on ``BILINGUAL_STATUS`` while the crawl runs.

    When the crawl has ended, a watching browser is shown the end before the port is closed. Raises UsageError if the
    address is not free.
    """

    def __init__(self, crawler: Crawler) -> None:
        address = Options.of(crawler.settings).status
        if address is None:
            raise NotConfigured
        super().__init__(crawler)
        self._curve: list[tuple[int, int]] = []  # (pages fetched, pairs), in this order
        self._sites: LRUCache[str, SiteCounts] = LRUCache(MAX_SITES)
        self._newest: deque[Pair] = deque(maxlen=MAX_NEWEST)
        self._titles: LRUCache[str, str] = LRUCache(MAX_TITLES)
        self._moments: deque[tuple[float, int]] = deque()
        self._phase = ""
        self._advancing = create_looping_call(self._advance)
        self._asked = self._made = 0.0
        self._status: dict[str, Any] = {}
        # few crawls are watched, and the web pages import the client of Prometheus
        from bilingual_crawler.reporting.status_pages import StatusSite

        self._port = _listen(StatusSite(self, address[0]), address)
        host = self._port.getHost()
        logger.info(f"Status of the crawl: http://{f'[{host.host}]' if ':' in host.host else host.host}:{host.port}/")

    def spider_opened(self) -> None:
        self._read_outputs()
        self._phase = "crawling"
        self._advancing.start(REFRESH_SECONDS / 2)

    def _read_outputs(self) -> None:
        """Count what the output folder holds: that of earlier runs, or at the end what the alignment has made of it."""
        course = Course(self._context.output_dir, self._context.pairs)
        self._curve = course.curve
        self._sites.update(course.sites)

    def url_fetched(self, fetch: Fetch) -> None:
        if is_fetched(asdict(fetch)):
            self._sites.setdefault(registered_domain(fetch.url), SiteCounts()).fetched += 1

    def item_scraped(self, item: object) -> None:
        if isinstance(item, Document):
            self._titles[item.url] = item.title

    def pair_found(self, pair: Pair) -> None:
        self._newest.append(pair)

    def phase_changed(self, phase: str) -> None:
        self._phase = phase

    async def spider_closed(self, reason: str) -> None:
        if self._advancing.running:
            self._advancing.stop()
        self._phase = f"done: {reason}"
        self._read_outputs()
        self._made = 0.0
        if time.monotonic() - self._asked < 2 * REFRESH_SECONDS:
            await asyncio.sleep(1.5 * REFRESH_SECONDS)
        self._port.stopListening()

    @property
    def has_begun(self) -> bool:
        return bool(self._phase)

    def status(self) -> Mapping[str, Any]:
        """All figures, at most a second old."""
        self._asked = now = time.monotonic()
        if now - self._made >= REFRESH_SECONDS / 2:
            self._made = now
            self._status = self._now()
        return self._status

    def page(self) -> str:
        status = self.status()
        return render(
            "status.html",
            refresh=0 if self._is_done else REFRESH_SECONDS,
            chart=harvest_chart(status["curve"]) if status["curve"][-1][0] else "",
            newest=[*map(self._shown, reversed(self._newest))],
            **status,
        )

    def _shown(self, pair: Pair) -> dict[str, str]:
        titles = {"title_a": self._titles.get(pair.url_a, ""), "title_b": self._titles.get(pair.url_b, "")}
        return asdict(pair) | {"score": f"{pair.score:.3f}"} | titles

    async def explain(self, url: str) -> dict[str, Any]:
        """State of *url* in the frontier, and the terms of its priority if the policy can tell them."""
        (state,) = await self._visits.frontier.states([url])
        policy = self._context.policy
        return {
            "url": url,
            "policy": policy.name,
            "state": "unseen" if state is None else state.name.lower().replace("_", " "),
            "terms": {name: round(value, 4) for name, value in policy.terms(url).items()},
        }

    def _advance(self) -> None:
        """Add the present numbers to the curve."""
        now = time.monotonic()
        point = fetched, _ = tally_of(self._crawler).fetched, self._stats.get_value("bilingual/pairs/found", 0)
        self._moments.append((now, fetched))
        while now - self._moments[0][0] > SPEED_SECONDS:
            self._moments.popleft()
        if point != self._curve[-1]:
            self._curve.append(point)
        if len(self._curve) > MAX_POINTS:
            self._curve = [*self._curve[:-1:2], self._curve[-1]]

    def _now(self) -> dict[str, Any]:
        summary = self._crawler.get_extension(SummaryExtension)
        assert summary
        visits = self._visits
        queued, rests = by_site(visits.quota.urls, operator.add), by_site(visits.frontier.rests, max)
        moments = self._moments or [(0.0, 0)]
        (before, fetched), (now, fetched_now) = moments[0], moments[-1]
        return {
            "phase": self._phase,
            "pages_per_second": round((fetched_now - fetched) / max(now - before, 1e-9), 2),
            "summary": summary.now(),
            "curve": self._curve,
            "sites": [
                {
                    "site": site,
                    "fetched": of_site.fetched,
                    "pairs": (pairs := self._pairs_on(site)),
                    "yield": round(pairs / of_site.fetched, 4) if of_site.fetched else 0.0,
                    "queued": queued.get(site, 0),
                    "rests_s": round(rests.get(site, 0.0)),
                }
                for site, of_site in most_fetched(self._sites)[:SHOWN_SITES]
            ],
        }

    def _pairs_on(self, site: str) -> int:
        """Pairs with a document of *site*: those found on the way until the crawl has ended, then those aligned."""
        if self._is_done:
            return self._sites[site].pairs
        return sum(ledger.book.pairs_on(site) for ledger in self._visits.learner.ledgers.values())

    @property
    def _is_done(self) -> bool:
        return self._phase.startswith("done")


def _listen(site: StatusSite, address: tuple[str, int]) -> Any:
    # the reactor must not be imported before Scrapy has chosen it
    from twisted.internet import reactor

    host, port = address
    try:
        return cast("Any", reactor).listenTCP(port, site, interface=host)
    except CannotListenError as error:
        reason = getattr(error.socketError, "strerror", None) or error.socketError
        raise wrong(f"{PREFIX}STATUS", f"{host}:{port}", f"{reason}; give another address") from error
