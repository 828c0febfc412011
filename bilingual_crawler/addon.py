"""The parts of the crawler for the spiders of another Scrapy project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.utils.misc import load_object

from bilingual_crawler.crawl.context import claim_folders
from bilingual_crawler.crawl.middlewares.backoff import PoisonMiddleware
from bilingual_crawler.crawl.middlewares.language import LanguageFilterMiddleware
from bilingual_crawler.crawl.middlewares.links import LinkPriorityMiddleware, OrdinarySpiderMiddleware
from bilingual_crawler.crawl.middlewares.traps import TrapPagesMiddleware, TrapRequestsMiddleware
from bilingual_crawler.crawl.middlewares.warc import WarcMiddleware
from bilingual_crawler.crawl.spiders.arguments import parse_settings
from bilingual_crawler.options import Options, Part, wrong
from bilingual_crawler.pipelines import OutputPipeline
from bilingual_crawler.reporting.ledger import CrawlLogExtension
from bilingual_crawler.reporting.status import StatusExtension
from bilingual_crawler.reporting.summary import SummaryExtension
from bilingual_crawler.scheduler import RequestScheduler
from bilingual_crawler.settings import SCRAPER_SLOT_MAX_ACTIVE_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

COMPONENTS: Mapping[str, tuple[tuple[str, type, int], ...]] = {
    Part.FRONTIER: (
        ("DOWNLOADER_MIDDLEWARES", PoisonMiddleware, 85),
        ("SPIDER_MIDDLEWARES", LinkPriorityMiddleware, 100),
        ("SPIDER_MIDDLEWARES", OrdinarySpiderMiddleware, 300),
    ),
    Part.LANGUAGE: (("DOWNLOADER_MIDDLEWARES", LanguageFilterMiddleware, 560),),
    Part.TRAPS: (
        ("DOWNLOADER_MIDDLEWARES", TrapRequestsMiddleware, 97),
        ("DOWNLOADER_MIDDLEWARES", TrapPagesMiddleware, 550),
    ),
    Part.PAIRS: (
        ("ITEM_PIPELINES", OutputPipeline, 900),
        ("EXTENSIONS", CrawlLogExtension, 490),
        ("EXTENSIONS", SummaryExtension, 500),
        ("EXTENSIONS", StatusExtension, 520),
    ),
}
REPLAY = "bilingual_crawler.crawl.handlers.ReplayDownloadHandler"


class BilingualAddon:
    """``ADDONS = {"bilingual_crawler.addon.BilingualAddon": 500}`` gives the spiders of a project our parts.

    ``BILINGUAL_PAIR`` names the languages, ``BILINGUAL_PARTS`` the parts; ``BILINGUAL_WARC`` switches the archive,
    ``BILINGUAL_REPLAY`` the replay. What the project sets itself stays as it is, apart from the download handlers of a
    replay, which must not ask the web. Raises UsageError for wrong settings.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        options = Options.of(settings)
        context = parse_settings(settings, self._crawler.spidercls.name)
        claim_folders(self._crawler, context)
        context.share(self._crawler)
        for part in options.parts:
            for name, component, place in COMPONENTS[part]:
                settings.setdefault_in_component_priority_dict(name, component, place)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", WarcMiddleware, 650)
        if Part.FRONTIER in options.parts:
            settings.set("SCHEDULER", RequestScheduler, "addon")
            settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", SCRAPER_SLOT_MAX_ACTIVE_SIZE, "addon")
            # any class with a scheduler's methods counts as a subclass
            if RequestScheduler not in load_object(settings["SCHEDULER"]).__mro__:
                why = "the part frontier is a scheduler itself; leave SCHEDULER out, or frontier out of BILINGUAL_PARTS"
                raise wrong("SCHEDULER", settings["SCHEDULER"], why)
        if options.replay:
            handlers = settings.getdict("DOWNLOAD_HANDLERS") | dict.fromkeys(("http", "https"), REPLAY)
            settings.set("DOWNLOAD_HANDLERS", handlers, settings.getpriority("DOWNLOAD_HANDLERS") or 0)
