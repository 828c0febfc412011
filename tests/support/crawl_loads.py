"""What every crawl imports and loads, for the fork server, except what a forked process cannot share.

That is the event loop of Twisted, and onnxruntime, which waits at its exit for a thread that a forked process has not.
"""

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from scrapy.utils.misc import walk_modules_iter


class _Later(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":
            raise AttributeError(name)  # ``inspect`` asks every module where its file is
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


MODULES = (
    *(f"bilingual_crawler.{name}" for name in ("alignment.at_end", "pairing.align", "pairing.methods")),
    *(f"bilingual_crawler.bitext.{name}" for name in ("exports", "produce")),
    *(f"bilingual_crawler.crawl.middlewares.{name}" for name in ("addresses", "backoff", "language")),
    *(f"bilingual_crawler.crawl.middlewares.{name}" for name in ("links", "render", "robots", "stop", "traps", "warc")),
    "bilingual_crawler.crawl.spiders.bilingual",
    *(f"bilingual_crawler.{name}" for name in ("crawl.handlers", "pipelines", "reporting.status")),
    *(f"bilingual_crawler.{name}" for name in ("pages.jobs", "pages.sandbox.helper", "scheduler")),
    "scrapy.core.downloader.handlers.http11",
    *(f"scrapy.extensions.{name}" for name in ("closespider", "corestats", "logcount", "logstats", "memdebug")),
    *(f"scrapy.extensions.{name}" for name in ("memusage", "remote_control", "spiderstate", "telnet", "throttle")),
    *("scrapy.cmdline", "scrapy.logformatter", "itemadapter", "aiohttp.web"),
    *("numpy.ma", "rich._emoji_codes", "scipy.sparse.csgraph"),
)
PACKAGES = ("bilingual_crawler.commands", "scrapy.commands", "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares")
"""All their modules are imported, too."""


def load() -> None:
    spec = find_spec("onnxruntime")
    sys.modules["onnxruntime"] = _Later("onnxruntime")
    sys.modules["onnxruntime"].__spec__ = spec
    for module in MODULES:
        importlib.import_module(module)
    for package in PACKAGES:
        list(walk_modules_iter(package))

    from bilingual_crawler.pages.language import BY_DEFAULT
    from bilingual_crawler.reporting.markup import _templates
    from bilingual_crawler.urls.hosts import split_host
    from bilingual_crawler.urls.tokens import languages_of

    BY_DEFAULT.load()
    split_host("example.org")
    languages_of("en")
    for template in ("chart.svg", "page.html", "parts.html", "report.html"):
        _templates.get_template(template)
    assert not {"onnxruntime.capi", "twisted.internet.reactor"} & sys.modules.keys()
