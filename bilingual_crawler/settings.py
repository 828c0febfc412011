"""Scrapy's settings of the project; those that begin with ``BILINGUAL_`` are in :mod:`bilingual_crawler.options`."""

import typing as _typing

import scrapy.settings.default_settings as _of_scrapy

from bilingual_crawler import options as _options

globals().update(_options.DEFAULTS)
if _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any: ...


BOT_NAME = "bilingual-crawler"
SPIDER_MODULES = ["bilingual_crawler.crawl.spiders"]
# in Scrapyd the commands of the egg must win over installed entry points
COMMANDS_MODULE = "bilingual_crawler.commands"

DEPTH_LIMIT = 100
FEED_EXPORT_ENCODING = "utf-8"

# Politeness
USER_AGENT = _options.DEFAULTS["BILINGUAL_USER_AGENT"]
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = BOT_NAME
CONCURRENT_REQUESTS = 16
CONCURRENT_REQUESTS_PER_DOMAIN = 2
CONCURRENT_ITEMS = 1
WARN_ON_GENERATOR_RETURN_VALUE = False
DOWNLOAD_DELAY = 1
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1
AUTOTHROTTLE_MAX_DELAY = 30
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 20 * 1024 * 1024
# CONCURRENT_REQUESTS is the limit; by size, one large page whose links are queued in parts would stop all downloads
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 1 << 40
COOKIES_ENABLED = False
METAREFRESH_ENABLED = False
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

# Safety
TWISTED_DNS_RESOLVER = "bilingual_crawler.crawl.middlewares.addresses.GuardedResolver"
DOWNLOAD_HANDLERS = {
    **dict.fromkeys(("data", "file", "ftp", "s3")),
    **dict.fromkeys(("http", "https"), "bilingual_crawler.crawl.handlers.LimitedDownloadHandler"),
}

LOG_LEVEL = "INFO"

# The parts
SCHEDULER = "bilingual_crawler.scheduler.FrontierScheduler"
STATS_CLASS = "bilingual_crawler.crawl.scrapy_internals.Stats"
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "bilingual_crawler.crawl.middlewares.stop.StopMiddleware": 80,
    "bilingual_crawler.crawl.middlewares.backoff.PoisonMiddleware": 85,
    "bilingual_crawler.crawl.middlewares.backoff.BackoffMiddleware": 90,
    "bilingual_crawler.crawl.middlewares.warc.ArchivedPagesMiddleware": 95,
    "bilingual_crawler.crawl.middlewares.traps.TrapRequestsMiddleware": 97,
    "bilingual_crawler.crawl.middlewares.addresses.AddressesMiddleware": 98,
    "bilingual_crawler.crawl.middlewares.robots.RobotsMiddleware": 100,
    "bilingual_crawler.crawl.middlewares.robots.TdmMiddleware": 105,
    "bilingual_crawler.crawl.middlewares.traps.TrapPagesMiddleware": 550,
    "bilingual_crawler.crawl.middlewares.language.NegotiatedMiddleware": 552,
    "bilingual_crawler.crawl.middlewares.walls.WallMiddleware": 553,
    "bilingual_crawler.crawl.middlewares.render.RenderMiddleware": 555,
    "bilingual_crawler.crawl.middlewares.language.LanguageFilterMiddleware": 560,
    "bilingual_crawler.crawl.middlewares.robots.FirstBytesMiddleware": 595,
    "bilingual_crawler.crawl.middlewares.walls.WallRedirectsMiddleware": 610,
    "bilingual_crawler.crawl.middlewares.language.VariantsMiddleware": 640,
    "bilingual_crawler.crawl.middlewares.warc.WarcMiddleware": 650,
    "bilingual_crawler.crawl.middlewares.warc.KnownPagesMiddleware": 660,
}
SPIDER_MIDDLEWARES = {"bilingual_crawler.crawl.middlewares.links.LinkPriorityMiddleware": 100}
ITEM_PIPELINES = {"bilingual_crawler.pipelines.OutputPipeline": 900}
# it imports aiohttp to find that it is off, and also if its place is None
EXTENSIONS_BASE = {one: at for one, at in _of_scrapy.EXTENSIONS_BASE.items() if not one.endswith(".RemoteControl")}
EXTENSIONS = {
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.spiderstate.SpiderState": None,
    "bilingual_crawler.reporting.ledger.CrawlLogExtension": 490,
    "bilingual_crawler.reporting.progress.SitesExtension": 495,
    "bilingual_crawler.reporting.summary.SummaryExtension": 500,
    "bilingual_crawler.reporting.progress.ProgressExtension": 510,
    "bilingual_crawler.reporting.status.StatusExtension": 520,
}
