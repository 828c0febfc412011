"""Extension: ``sites.tsv``, one line for each site that a discovery has judged, and the counts of these lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext
from bilingual_crawler.crawl.signals import output_failed, site_judged
from bilingual_crawler.discovery.sites import Funnel, JudgedSite
from bilingual_crawler.records import SITES, TsvLog

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class SitesExtension:
    funnel: Funnel
    """Counts of the lines of all runs."""

    def __init__(self, crawler: Crawler) -> None:
        context = CrawlContext.of(crawler)
        if not isinstance(context, DiscoveryContext):
            raise NotConfigured
        self._signals = crawler.signals
        self._search = context.search
        path = context.output_dir / SITES
        # a resume judges the sites again before the spider is open
        self._log = TsvLog.of(path, JudgedSite)
        self.funnel = Funnel()
        self.funnel.read(path)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.site_judged, signal=site_judged)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    @property
    def queued(self) -> int:
        """Sites that are known and not judged yet."""
        return self._search.unjudged

    def site_judged(self, site: JudgedSite) -> None:
        if self.funnel.knows(site.site):
            return
        try:
            self._log.write_record(site)
        except OSError as error:
            self._signals.send_catch_log(output_failed, error=error)
        else:
            self.funnel.note(site.site, site.verdict, site.archived)

    def spider_closed(self) -> None:
        self._log.close()
