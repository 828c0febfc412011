"""What every crawl imports and loads, except the event loop of Twisted, which cannot be shared: for the fork server."""

from __future__ import annotations

import importlib

from bilingual_crawler.policies.evidence.language import _identifier
from bilingual_crawler.reporting.markup import _templates
from bilingual_crawler.urls.hosts import split_domain

MODULES = (
    *(f"bilingual_crawler.commands.{name}" for name in ("align", "crawl", "harvest", "mine", "report", "review")),
    *(f"bilingual_crawler.crawl.middlewares.{name}" for name in ("addresses", "archived", "backoff", "language")),
    *(f"bilingual_crawler.crawl.middlewares.{name}" for name in ("links", "render", "robots", "stop", "traps", "warc")),
    *(f"bilingual_crawler.crawl.spiders.{name}" for name in ("bilingual", "discovery")),
    *(f"bilingual_crawler.{name}" for name in ("crawl.budgets", "crawl.handlers", "pipelines", "scheduler")),
    "bilingual_crawler.reporting.status",
    "scrapy.core.downloader.handlers.http11",
    *(f"scrapy.extensions.{name}" for name in ("memusage", "remote_control", "telnet", "throttle")),
    *("itemadapter", "scrapy.commands.shell", "aiohttp.web", "language_data.name_data", "marisa_trie", "numpy.ma"),
)

for module in MODULES:
    importlib.import_module(module)
_identifier()
split_domain("example.org")
for template in ("page.html", "parts.html", "report.html"):
    _templates.get_template(template)
