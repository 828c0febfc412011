"""Extension: a running crawl watched in a browser, by scripts and by Prometheus."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, cast

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from twisted.internet.error import CannotListenError

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.signals import Fetch, pair_found, phase_changed, url_fetched
from bilingual_crawler.crawl.visits import Visits
from bilingual_crawler.items import Document
from bilingual_crawler.options import PREFIX, Options, wrong
from bilingual_crawler.reporting.charts import step_chart
from bilingual_crawler.reporting.crawl_log import CrawlLogExtension
from bilingual_crawler.reporting.live import Live
from bilingual_crawler.reporting.markup import render
from bilingual_crawler.reporting.status_pages import StatusSite
from bilingual_crawler.reporting.summary import SummaryExtension

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy.crawler import Crawler

    from bilingual_crawler.pairing.documents import Pair

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 2
"""Seconds after which a browser asks again; what it gets is at most half as old."""
SHOWN_SITES = 100


class StatusExtension:
    """Serves ``/``, ``/status.json``, ``/metrics`` and ``/explain`` on ``BILINGUAL_STATUS`` while the crawl runs.

    The figures are those of ``summary.json``. When the crawl has ended, a browser that watches is shown the end before
    the address is given up. Raises UsageError when the address cannot be listened on.
    """

    def __init__(self, crawler: Crawler, address: tuple[str, int]) -> None:
        self._crawler = crawler
        self._context = CrawlContext.of(crawler)
        self._live = Live(self._context.pairs)
        self._phase = ""
        self._advancing = create_looping_call(self._advance)
        self._asked = 0.0
        self._made = 0.0
        self._status: dict[str, Any] = {}
        self._port = _listen(StatusSite(self, address[0]), address)
        host = self._port.getHost()
        logger.info(f"Status of the crawl: http://{f'[{host.host}]' if ':' in host.host else host.host}:{host.port}/")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        address = Options.of(crawler.settings).status
        if address is None:
            raise NotConfigured
        extension = cls(crawler, address)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.url_fetched, signal=url_fetched)
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.pair_found, signal=pair_found)
        crawler.signals.connect(extension.phase_changed, signal=phase_changed)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._live.read(self._context.output_dir)
        self._phase = "crawling"
        self._advancing.start(REFRESH_SECONDS / 2)

    def url_fetched(self, fetch: Fetch) -> None:
        self._live.fetched(fetch)

    def item_scraped(self, item: object) -> None:
        if isinstance(item, Document):
            self._live.titled(item.url, item.title)

    def pair_found(self, pair: Pair) -> None:
        self._live.paired(pair)

    def phase_changed(self, phase: str) -> None:
        self._phase = phase

    async def spider_closed(self, reason: str) -> None:
        if self._advancing.running:
            self._advancing.stop()
        self._phase = f"done: {reason}"
        self._live.read(self._context.output_dir)
        self._made = 0.0
        if time.monotonic() - self._asked < 2 * REFRESH_SECONDS:
            await asyncio.sleep(1.5 * REFRESH_SECONDS)
        self._port.stopListening()

    # what the pages ask -----------------------------------------------------------------------------------------------

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
        """The figures as HTML."""
        status = self.status()
        curve = status["curve"]
        title = f"{curve[-1][1]:,} pairs after {curve[-1][0]:,} pages"
        return render(
            "status.html",
            refresh=0 if self._phase.startswith("done") else REFRESH_SECONDS,
            chart=step_chart(curve, x_label="pages fetched", y_label="pairs", title=title) if curve[-1][0] else "",
            newest=self._live.newest,
            **status,
        )

    async def explain(self, url: str) -> dict[str, Any]:
        """State of *url* in the frontier, and the terms of its priority if the policy can tell them."""
        (state,) = await Visits.of(self._crawler).states([url])
        policy = self._context.policy
        return {
            "url": url,
            "policy": policy.name,
            "state": "unseen" if state is None else state.name.lower().replace("_", " "),
            "terms": {name: round(value, 4) for name, value in policy.terms(url).items()},
        }

    def _advance(self) -> None:
        log = self._crawler.get_extension(CrawlLogExtension)
        assert log
        assert self._crawler.stats
        self._live.advance(log.ledger.fetched, self._crawler.stats.get_value("bilingual/pairs/found", 0))

    def _now(self) -> dict[str, Any]:
        summary = self._crawler.get_extension(SummaryExtension)
        assert summary
        visits = Visits.of(self._crawler)
        queued, rests = visits.queued_by_site, visits.rests
        sites = sorted(self._live.sites.items(), key=lambda item: (-item[1].fetched, item[0]))[:SHOWN_SITES]
        return {
            "phase": self._phase,
            "pages_per_second": round(self._live.rate, 2),
            "summary": summary.now(),
            "curve": self._live.curve,
            "sites": [
                {
                    "site": site,
                    "fetched": of_site.fetched,
                    "pairs": of_site.pairs,
                    "yield": round(of_site.pairs / of_site.fetched, 4) if of_site.fetched else 0.0,
                    "queued": queued.get(site, 0),
                    "rests_s": round(rests.get(site, 0.0)),
                }
                for site, of_site in sites
            ],
        }


def _listen(site: StatusSite, address: tuple[str, int]) -> Any:
    # the reactor must not be imported before Scrapy has chosen it
    from twisted.internet import reactor

    host, port = address
    try:
        return cast("Any", reactor).listenTCP(port, site, interface=host)
    except CannotListenError as error:
        reason = getattr(error.socketError, "strerror", None) or error.socketError
        raise wrong(f"{PREFIX}STATUS", f"{host}:{port}", f"{reason}; give another address") from error
