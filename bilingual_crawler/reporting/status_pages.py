"""The web pages of a running crawl: figures, ``status.json``, metrics, and the explanation of a priority."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure
from twisted.web.resource import ErrorPage
from twisted.web.server import NOT_DONE_YET, Request

from bilingual_crawler.reporting.ledger import COUNTERS
from bilingual_crawler.reporting.local_pages import HTML, LimitedSite, LocalPages, Page, answer
from bilingual_crawler.reporting.markup import render
from bilingual_crawler.urls.canonical import canonicalise

logger = logging.getLogger(__name__)

JSON = "application/json"
NAMESPACE = "bilingual"


class Watched(Protocol):
    """A running crawl, as its web pages see it."""

    @property
    def has_begun(self) -> bool: ...

    def status(self) -> Mapping[str, Any]: ...

    def page(self) -> str: ...

    async def explain(self, url: str) -> Mapping[str, Any]: ...


class StatusSite(LimitedSite):
    """The pages of *crawl*, which are served at *host*."""

    def __init__(self, crawl: Watched, host: str) -> None:
        registry = CollectorRegistry()
        registry.register(_Metrics(crawl))
        pages: dict[bytes, Callable[[Request], Any]] = {
            b"": _current(crawl, crawl.page, HTML),
            b"status.json": _current(crawl, lambda: json.dumps(crawl.status(), ensure_ascii=False), JSON),
            # not the library's Twisted resource, which asks in another thread
            b"metrics": _current(crawl, lambda: generate_latest(registry).decode(), CONTENT_TYPE_LATEST),
            b"explain": partial(_explained, crawl),
        }
        root = LocalPages(host, lambda: crawl.has_begun)
        for path, get in pages.items():
            page: Any = Page(get)
            root.putChild(path, page)
        super().__init__(root)


def _current(crawl: Watched, make: Callable[[], str], kind: str) -> Callable[[Request], bytes]:
    """A page whose text is made once for each state of the figures, for any number of clients."""
    shown: Mapping[str, Any] = {}
    text = ""

    def get(request: Request) -> bytes:
        nonlocal shown, text
        status = crawl.status()
        if status is not shown:
            shown, text = status, make()
        return answer(request, text, kind)

    return get


def _explained(crawl: Watched, request: Request) -> Any:
    """The terms of the priority of the URL in the query, as HTML or JSON."""
    asked = (request.args or {}).get(b"url", [b""])[0].decode("utf-8", "replace").strip()
    url = canonicalise(asked)
    if asked and url is None:
        return ErrorPage(400, "Bad Request", "Give an http(s) address.").render(request)

    async def explain() -> None:
        explained = await crawl.explain(url) if url else None
        if b"application/json" in (request.getHeader(b"accept") or b""):
            body = answer(request, json.dumps(explained), JSON)
        else:
            body = answer(request, render("explain.html", explained=explained), HTML)
        request.write(body)
        request.finish()

    explaining = deferred_from_coro(explain())
    request.notifyFinish().addErrback(lambda _: explaining.cancel())
    explaining.addErrback(_failed, request)
    return NOT_DONE_YET


def _failed(failure: Failure, request: Request) -> None:
    """Answer 500 to a *request* that failed, unless its client is gone."""
    if not failure.check(CancelledError):
        logger.error(f"{request.uri.decode('ascii', 'replace')} is not answered: {failure.value!r}")
        request.setResponseCode(500)
        request.finish()


class _Metrics:
    """The figures as metrics of Prometheus."""

    def __init__(self, crawl: Watched) -> None:
        self._crawl = crawl

    def collect(self) -> Iterator[Metric]:
        status = self._crawl.status()
        summary = status["summary"]
        for key, (name, text, label) in COUNTERS.items():
            if label:
                family = CounterMetricFamily(f"{NAMESPACE}_{name}", text, labels=[label])
                for value, count in summary[key].items():
                    family.add_metric([value], count)
            else:
                family = CounterMetricFamily(f"{NAMESPACE}_{name}", text, value=summary[key])
            yield family
        gauges = [
            ("queued", summary["queued"], "URLs that are queued or in flight"),
            ("harvest_rate", summary["harvest_rate"], "Share of the fetched pages that are in a pair"),
            ("pages_per_second", status["pages_per_second"], "Pages per second of the last minute"),
        ]
        if estimate := summary["estimate"]:
            gauges += [
                ("estimated_pairs_remaining", estimate["remaining"], "Pairs that are estimated to be left"),
                ("estimated_share_found", estimate["share"], "Share of the pairs that is found, as estimated"),
            ]
        for name, value, text in gauges:
            yield GaugeMetricFamily(f"{NAMESPACE}_{name}", text, value=value)
        # a better pair takes the place of two, and the alignment replaces them all
        pairs = GaugeMetricFamily(f"{NAMESPACE}_pairs", "Document pairs", labels=["pair"])
        for name, counts in summary["by_pair"].items():
            pairs.add_metric([name], counts["pairs"])
        yield pairs
