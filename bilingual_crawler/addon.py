"""The parts of the crawler for the spiders of another Scrapy project."""

from typing import Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from bilingual_crawler import settings as project
from bilingual_crawler.crawl.context import claim_folders
from bilingual_crawler.crawl.middlewares.links import OrdinarySpiderMiddleware
from bilingual_crawler.crawl.spiders.arguments import parse_settings
from bilingual_crawler.options import Options, Part, wrong
from bilingual_crawler.scheduler import RequestScheduler

# the components of each part, at their places in our own settings
COMPONENTS = {
    Part.FRONTIER: {"PoisonMiddleware", "LinkPriorityMiddleware"},
    Part.LANGUAGE: {"LanguageFilterMiddleware"},
    Part.TRAPS: {"TrapRequestsMiddleware", "TrapPagesMiddleware"},
    Part.PAIRS: {"OutputPipeline", "CrawlLogExtension", "SummaryExtension", "StatusExtension"},
}
TABLES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS")
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
        wanted = {"WarcMiddleware"}.union(*(COMPONENTS[Part(part)] for part in options.parts))
        for name in TABLES:
            for path, place in getattr(project, name).items():
                if path.rpartition(".")[2] in wanted:
                    settings.setdefault_in_component_priority_dict(name, load_object(path), place)
        if Part.FRONTIER in options.parts:
            # no crawl of ours has it
            settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", OrdinarySpiderMiddleware, 300)
            settings.set("SCHEDULER", RequestScheduler, "addon")
            settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", project.SCRAPER_SLOT_MAX_ACTIVE_SIZE, "addon")
            # any class with a scheduler's methods counts as a subclass
            if RequestScheduler not in load_object(settings["SCHEDULER"]).__mro__:
                why = "the part frontier is a scheduler itself; leave SCHEDULER out, or frontier out of BILINGUAL_PARTS"
                raise wrong("SCHEDULER", settings["SCHEDULER"], why)
        if options.replay:
            handlers = settings.getdict("DOWNLOAD_HANDLERS") | dict.fromkeys(("http", "https"), REPLAY)
            settings.set("DOWNLOAD_HANDLERS", handlers, settings.getpriority("DOWNLOAD_HANDLERS") or 0)
