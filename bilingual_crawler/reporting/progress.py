"""Extensions: the live line; ``sites.tsv``, one line for each judged site of a discovery, and its counts."""

import logging
import sys
import time
from typing import Any

from rich.console import Console
from rich.status import Status
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from bilingual_crawler import noun
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import DiscoveryContext
from bilingual_crawler.crawl.signals import output_failed
from bilingual_crawler.discovery.sites import BILINGUAL, Funnel, JudgedSite
from bilingual_crawler.reporting.ledger import tally_of
from bilingual_crawler.storage.records import SITES, TsvLog

UPDATE_SECONDS = 0.5


class SitesExtension(CrawlComponent):
    """Writes ``sites.tsv`` of a discovery, one line per judged site, and counts its lines of all runs."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not isinstance(self._context, DiscoveryContext):
            raise NotConfigured
        self._search = self._context.search
        path = self._context.output_dir / SITES
        # a resume judges the sites again before the spider is open
        self._log = TsvLog(path, JudgedSite)
        self.funnel = Funnel(path)

    def counts(self) -> dict[str, Any]:
        """The funnel in a summary."""
        return {"site_candidates": self.funnel.reasons.total() + self._search.unjudged} | self.funnel.counts()

    def site_judged(self, site: JudgedSite) -> None:
        if site.site in self.funnel.sites:
            return
        try:
            self._log.write_record(site)
        except OSError as error:
            self._crawler.signals.send_catch_log(output_failed, error=error)
        else:
            self.funnel.note(site.site, site.verdict, site.archived)

    def spider_closed(self) -> None:
        self._log.close()


logger = logging.getLogger(__name__)


class ProgressExtension(CrawlComponent):
    """Shows pages, documents and pairs of all runs, queued URLs, and pages per second, in one line.

    The line is logged every ``LOGSTATS_INTERVAL`` seconds, with the speed since the last one. The live line has the
    speed of this run. When the crawl does not fetch any more, both show the current phase.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._status = Status("starting", console=Console(stderr=True)) if sys.stderr.isatty() else None
        self._phase = ""
        self._showing = create_looping_call(self._show)
        self._logging = create_looping_call(self._log)

    def spider_opened(self) -> None:
        self._began = self._logged = (time.monotonic(), tally_of(self._crawler).fetched)
        if self._status:
            self._status.start()
            self._showing.start(UPDATE_SECONDS, now=False)
        if interval := self._crawler.settings.getfloat("LOGSTATS_INTERVAL"):
            self._logging.start(interval, now=False)

    def spider_closed(self) -> None:
        for call in (self._showing, self._logging):
            if call.running:
                call.stop()
        if self._status:
            self._status.stop()

    def phase_changed(self, phase: str) -> None:
        self._phase = phase
        self._show()

    def _show(self) -> None:
        if self._status:
            self._status.update(self._line(*self._began))

    def _log(self) -> None:
        logger.info(self._line(*self._logged))
        self._logged = (time.monotonic(), tally_of(self._crawler).fetched)

    def _line(self, since: float, fetched: int) -> str:
        """The counts, and the pages per second since the moment *since*, when *fetched* pages were fetched."""
        tally, visits = tally_of(self._crawler), self._visits
        doing = f"{self._phase}: " if self._phase else ""
        found = self._crawler.get_extension(SitesExtension)
        judged = found.funnel.reasons.total() if found else 0
        sites = f"{found.funnel.reasons[BILINGUAL]} of {judged} {noun(judged, 'site')} bilingual, " if found else ""
        pairs = self._stats.get_value("bilingual/pairs/found", 0)
        counts = doing + sites + counts_line(tally.fetched, tally.documents.total(), pairs, visits.frontier.remaining)
        if (estimate := visits.learner.remaining.total()) and estimate.found:
            low, high = estimate.interval
            counts += f", about {estimate.share:.0%} ({low:.0%} to {high:.0%}) of the pairs of the sites visited"
        rate = (tally.fetched - fetched) / (time.monotonic() - since)
        return counts if self._phase else f"{counts}, {rate:.1f} pages/s"


def counts_line(fetched: int, documents: int, pairs: int, queued: int) -> str:
    counts = ((fetched, "page"), (documents, "document"), (pairs, "pair"))
    return f"{', '.join(f'{number} {noun(number, one)}' for number, one in counts)}, {queued} queued"
