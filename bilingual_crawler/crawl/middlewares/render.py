"""Downloader middleware: renders pages that are empty without JavaScript, in Chromium by scrapy-playwright."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import re
import shutil
import signal
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from cachetools import LRUCache
from scrapy import Request
from scrapy.http import Headers, HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import build_from_crawler

from bilingual_crawler import to_install
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.language import ReadingComponent, is_of
from bilingual_crawler.crawl.middlewares.stop import is_stopping, put_back, unless_stopping
from bilingual_crawler.crawl.requests import header
from bilingual_crawler.crawl.signals import ENTRY, READ, StillWanted, count_and_log, engine_of, page_rendered
from bilingual_crawler.pages.formats import HTML
from bilingual_crawler.pages.model import LinkPosition, PageRecord
from bilingual_crawler.urls.hosts import host_of, registered_domain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import BrowserContext, Page, Route
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

    from bilingual_crawler.frontier.entry import Entry

    Fetch = Callable[[str, dict[str, str], bool], Awaitable[Response]]

logger = logging.getLogger(__name__)

FETCHED = frozenset(("script", "xhr", "fetch"))  # Playwright's types of resources that build a page
LOADS = 3  # number of times that a page may load itself again
REQUESTS = 100  # scripts and data that one page may request; some pages request data every second without end
CACHE_BYTES = 64 << 20
_NOT_FORWARDED = frozenset(("accept-encoding", "connection", "content-length", "cookie", "host", "user-agent"))
_NOT_RETURNED = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class PageNetwork:
    """Answers every request of one page: its HTML by the download, scripts and data by *fetch*, a browser's.

    Requests to the site of the page have the ``Accept-Language`` and the cookies that *asked*, the request of the page,
    had.
    """

    def __init__(self, url: str, document: Response, fetch: Fetch, asked: Headers) -> None:
        self._url = url
        self._asked = {name: value for name in ("accept-language", "cookie") if (value := header(asked, name))}
        self._document = document
        self._fetch = fetch
        self._loads = 0
        self._requests = 0
        self.interrupted = False  # the crawl stopped before all requests of the page were answered
        self.left_for: str | None = None  # where scripts have sent the visitor instead of showing the page

    async def attach(self, page: Page, request: Request) -> None:
        """Put this between *page* and the network."""
        for cookie in filter(None, self._asked.get("cookie", "").split("; ")):
            name, _, value = cookie.partition("=")
            await page.context.add_cookies([{"name": name, "value": value, "url": self._url}])
        await page.context.route("**/*", lambda route: route.abort())
        await page.route("**/*", self._answer)

    async def _answer(self, route: Route) -> None:
        request, kind = route.request, route.request.resource_type
        is_fetched = kind in FETCHED and request.method == "GET" and request.url.startswith("http")
        if request.is_navigation_request():
            await self._navigate(route)
        elif kind == "stylesheet":
            await route.fulfill(status=200, content_type="text/css", body="")
        elif is_fetched and self._requests < REQUESTS:
            self._requests += 1
            await self._answer_with_resource(route, script=kind == "script")
        else:
            await route.abort()

    async def _navigate(self, route: Route) -> None:
        url, in_frame = route.request.url, route.request.frame.parent_frame is not None
        leaves = urldefrag(url).url != self._url
        if in_frame or leaves or self._loads == LOADS:
            if leaves and not in_frame and self.left_for is None and url.startswith("http"):
                self.left_for = url
            await route.abort()
        else:
            self._loads += 1
            await _fulfill(route, self._document)

    async def _answer_with_resource(self, route: Route, *, script: bool) -> None:
        request = route.request
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_FORWARDED}
        headers.setdefault("referer", self._url)
        if registered_domain(request.url) == registered_domain(self._url):
            headers |= self._asked
        try:
            resource = await self._fetch(request.url, headers, script)
        except Exception as error:
            self.interrupted |= isinstance(error, StillWanted)
            logger.debug(f"{self._url}: the page does not get {request.url}: {error}")
            await route.abort()
        else:
            await _fulfill(route, resource)


async def _fulfill(route: Route, answer: Response) -> None:
    flat = {name.decode("latin-1"): b", ".join(values).decode("latin-1") for name, values in answer.headers.items()}
    headers = {name: value for name, value in flat.items() if name.lower() not in _NOT_RETURNED}
    await route.fulfill(status=answer.status, headers=headers, body=answer.body)


MIN_TEXT = 100  # characters of own text below which a page with scripts is taken for a shell
MANY_SHELLS = 0.1  # share of pages above which the crawl says at its end that they need a browser
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")  # languages that Chromium takes


def is_shell(page: PageRecord, body: bytes) -> bool:
    """Whether *page*, parsed from *body*, has scripts, and almost no text or no visible link to another page."""
    empty = len(page.text) < MIN_TEXT or all(link.position is LinkPosition.HEAD for link in page.links)
    return empty and _SCRIPT.search(body) is not None


CLOSE_SECONDS = 10.0
_HOSTS = 10_000
_MAX_IN_VAIN = 10  # pages in a row that stayed shells; after each the next one of the host has half the time


class RenderError(Exception):
    """The browser has not rendered a page; the message says why."""


class Browser(CrawlComponent):
    """scrapy-playwright, started with the first page that is rendered, each page in a fresh context.

    The browser has no network of its own: see :class:`PageNetwork`. Stats:
    ``bilingual/render/resources|cached_resources|failed_resources``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._scripts = LRUCache[tuple[str | None, ...], Response](CACHE_BYTES, getsizeof=lambda one: len(one.body))
        self._half = self._options.render_timeout * 1000 / 2  # milliseconds to load a page, and to wait for its text
        self._in_vain: LRUCache[str, int] = LRUCache(_HOSTS)  # host -> its last pages in a row that stayed shells
        self._max_size = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._open = asyncio.Semaphore(self._options.render_concurrency)
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()
        self._handler: ScrapyPlaywrightDownloadHandler | None = None
        self._watching: asyncio.Task[None] | None = None

    async def render(self, response: Response, asked: Headers) -> tuple[str, str | None]:
        """Run the scripts of *response*, a page that was requested with the headers *asked*; raises RenderError.

        Returns the HTML, and the URL to which scripts navigated instead of showing the page.
        """
        address = urldefrag(response.url).url
        network = PageNetwork(address, response, self._fetch, asked)
        locale = header(asked, "Accept-Language").partition(",")[0].partition(";")[0].strip()
        async with self._open:
            try:
                html = await self._run(await self._started(), address, network, locale)
            except Exception as error:
                if network.left_for is None:
                    raise RenderError(str(error) or type(error).__name__) from error
                html = ""
        if network.interrupted:
            raise RenderError("the crawl is stopping")
        return html, network.left_for

    async def _fetch(self, url: str, headers: dict[str, str], is_script: bool) -> Response:
        """Fetch *url* through the crawler's downloader; raises what that raises.

        So politeness, robots.txt, the address guard, limits, archive and replay apply. A site loads the same scripts on
        every page.
        """
        # a script may be in the language that is asked for
        key = (url, headers.get("accept-language"), headers.get("cookie"))
        if is_script and key in self._scripts:
            self._stats.inc_value("bilingual/render/cached_resources")
            return self._scripts[key]
        slot = self._visits.frontier.server(self._visits.slot(url))
        request = Request(url, headers=headers, callback=NO_CALLBACK, meta={"download_slot": slot})
        self._stats.inc_value("bilingual/render/resources")
        try:
            resource = await engine_of(self._crawler).download_async(request)
        except Exception:
            self._stats.inc_value("bilingual/render/failed_resources")
            raise
        if is_script and resource.status == 200 and len(resource.body) < CACHE_BYTES:
            # with its request it would be several times as large
            self._scripts[key] = resource = resource.replace(request=None)
        return resource

    async def close(self) -> None:
        handler, self._handler = self._handler, None
        if handler is not None:
            await _close(handler)
        if self._watching is not None:
            self._watching.cancel()

    async def _started(self) -> ScrapyPlaywrightDownloadHandler:
        from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

        async with self._starting:
            if self._handler is None:
                handler = build_from_crawler(ScrapyPlaywrightDownloadHandler, self._crawler)
                handler.config.launch_options = launch_options(self._crawler.settings)
                # the handler does this when the engine starts, which was earlier
                handler.browser_provider = handler.browser_provider_cls(handler.config)
                await handler.browser_provider.start()
                self._handler = handler
                self._watching = asyncio.create_task(_watch_memory())
            return self._handler

    async def _run(self, handler: ScrapyPlaywrightDownloadHandler, url: str, network: PageNetwork, locale: str) -> str:
        from scrapy_playwright.page import PageMethod

        context, host = f"page-{next(self._numbers)}", host_of(url)
        in_vain = self._in_vain.get(host, 0)
        settling = PageMethod(_settle, timeout=self._half, patience=self._half / 2**in_vain, limit=self._max_size)
        meta = {
            "playwright": True,
            "playwright_context": context,
            "playwright_include_page": True,  # closed here with its context
            "playwright_context_kwargs": {
                "user_agent": self._crawler.settings["USER_AGENT"],
                "accept_downloads": False,
                "service_workers": "block",
                **({"locale": locale} if _LOCALE.fullmatch(locale) else {}),
            },
            "playwright_page_init_callback": network.attach,
            "playwright_page_goto_kwargs": {"wait_until": "domcontentloaded", "timeout": self._half},
            "playwright_page_methods": [settling],
        }
        try:
            async with asyncio.timeout(self._options.render_timeout):
                response = await handler.download_request(Request(url, meta=meta))
        finally:
            wrapper = handler.context_wrappers.get(context)
            if wrapper is not None:
                await _close(wrapper.context)
        self._in_vain[host] = 0 if settling.result else min(in_vain + 1, _MAX_IN_VAIN)
        if not response.url.startswith("http"):
            raise RenderError(f"its scripts navigated to {response.url}")
        html: str = response.text
        return html


async def _close(closable: BrowserContext | ScrapyPlaywrightDownloadHandler) -> None:
    """Close a context, or the handler. One that hangs or is gone is left to the end of the process."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await closable.close()
    except Exception as error:
        logger.debug(f"The browser does not answer: {error!r}")


_POLL_MS = 200
_SETTLED = """least => {
  const size = root => [...root.querySelectorAll("*")].reduce(
    (sum, one) => sum + (one.shadowRoot ? size(one.shadowRoot) : 0), (root.innerText ?? root.textContent).trim().length)
  const now = document.body ? size(document.body) : 0
  const before = document[Symbol.for("size")]
  document[Symbol.for("size")] = now
  return now >= least && now === before
}"""
"""Whether the page has some text, as much as when this was asked before."""
_SHADOWS = """() => {
  const open = root => {
    for (const host of root.querySelectorAll("*")) if (host.shadowRoot) {
      open(host.shadowRoot)
      const template = document.createElement("template")
      template.setAttribute("shadowrootmode", "open")
      template.content.append(...[...host.shadowRoot.childNodes].map(node => node.cloneNode(true)))
      host.prepend(template)
    }
  }
  open(document)
  return document.documentElement.outerHTML.length
}"""
"""Write the shadow trees into the page, whose HTML lacks them; return the length of its HTML."""


async def _settle(page: Page, timeout: float, patience: float, limit: int) -> bool:
    """Wait until the page has no open requests, and no longer is a shell; return whether it came to that.

    It has *timeout* milliseconds for the first, and *patience* for the second: scripts may show their text by a timer.
    """
    from playwright.async_api import TimeoutError as StillBusy

    begun = time.monotonic()
    with suppress(StillBusy):
        await page.wait_for_load_state("networkidle", timeout=timeout)
    left = max(min(patience, timeout - 1000 * (time.monotonic() - begun)), 2 * _POLL_MS)
    has_settled = False
    with suppress(StillBusy):
        await page.wait_for_function(_SETTLED, arg=MIN_TEXT, polling=_POLL_MS, timeout=left)
        has_settled = True
    size = await page.evaluate(_SHADOWS)
    if limit and size > limit:
        raise RenderError(f"its scripts made {size} characters of HTML, DOWNLOAD_MAXSIZE is {limit}")
    return has_settled


MAX_PAGE_BYTES, MAX_BYTES = 1 << 30, 3 << 30  # memory that a page may take, and all together
WATCH_SECONDS = 0.25


async def _watch_memory() -> None:
    """Kill the largest page of the browser, whose scripts alone Chromium limits, if it or all take too much memory."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        if pages := await asyncio.to_thread(_pages_below, os.getpid()):
            largest = max(pages, key=pages.__getitem__)
            if pages[largest] > MAX_PAGE_BYTES or sum(pages.values()) > MAX_BYTES:
                with suppress(ProcessLookupError):
                    os.kill(largest, signal.SIGKILL)


def _pages_below(root: int) -> dict[int, int]:
    """The processes of pages below the process *root*, with their own bytes; empty without Linux's ``/proc``."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            process = int(folder.name)
            parents[process] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                _, resident, shared, *_ = map(int, (folder / "statm").read_text().split())
                pages[process] = (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    below = {root}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    return {process: size for process, size in pages.items() if process in below}


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # the name of that argument in older versions
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""Arguments that cut the browser off from the network. WebRTC over TCP, and WebTransport, look up addresses, too."""


def missing_for_rendering(settings: BaseSettings) -> str | None:
    """What has to be installed before pages can be rendered; None if all is there."""
    if find_spec("scrapy_playwright") is None:
        return f"the package scrapy-playwright is missing: {to_install('playwright')}"
    if settings.get("PLAYWRIGHT_CDP_URL") or settings.get("PLAYWRIGHT_CONNECT_URL"):
        return None
    executable = launch_options(settings).get("executable_path")
    if executable:
        return None if shutil.which(executable) else f"PLAYWRIGHT_LAUNCH_OPTIONS: there is no browser {executable}"
    own = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "~/.cache/ms-playwright")).expanduser()
    if any(own.glob("chromium*")):
        return None
    return "no browser was found: apt-get install chromium, or python -m playwright install chromium"


def launch_options(settings: BaseSettings) -> dict[str, Any]:
    """``PLAYWRIGHT_LAUNCH_OPTIONS`` over our own: the system's Chromium, in its sandbox unless we are root."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    ours = {"chromium_sandbox": os.geteuid() != 0} | ({"executable_path": found} if found else {})
    given = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
    return ours | given | {"args": [*NO_NETWORK, *given.get("args", ())]}


class RenderMiddleware(ReadingComponent):
    """Renders HTML pages: none with ``render=never``, all with ``always``, shells with ``auto``.

    The language filter, whose result shows the shells, runs again on the rendered page. If scripts navigate to another
    URL, this is a redirect. A page that cannot be rendered, or is over a budget, stays as it was downloaded. Stats:
    ``bilingual/render/shells|pages|redirects|failed|over_budget``, and those of :class:`Browser`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._mode = self._context.render
        self._seen, self._first = 0, ""  # HTML pages, and the first shell
        missing = missing_for_rendering(crawler.settings)
        self._browser = None if self._mode == "never" or missing else Browser(crawler)
        if self._mode == "auto" and missing:
            logger.warning(f"render=auto: {missing}; until then pages that need JavaScript stay as downloaded")

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        read: PageRecord | None = request.meta.get(READ)
        if read is None or response.status != 200:
            return response
        entry: Entry = request.meta[ENTRY]
        if not is_of(HTML, response, entry.url):
            return response
        shell = is_shell(read, response.body)
        self._seen += 1
        if shell:
            self._first = self._first or response.url
            self._stats.inc_value("bilingual/render/shells")
        if self._browser is None or not (shell or self._mode == "always"):
            return response
        try:
            if not await self._take_budget(entry.slot):
                self._stats.inc_value("bilingual/render/over_budget")
                return response
            html, left_for = await unless_stopping(self._crawler, self._browser.render(response, request.headers))
        except (StillWanted, RenderError) as error:
            if isinstance(error, StillWanted) or is_stopping(self._crawler):
                return put_back(self._crawler, request)
            count_and_log(self._crawler, "bilingual/render/failed", f"{response.url} was not rendered: {error}")
            return response
        if left_for is not None:
            self._stats.inc_value("bilingual/render/redirects")
            reasons = {"redirect_urls": [request.url], "redirect_reasons": [response.status]}
            return request.replace(url=left_for, meta={**request.meta, **reasons})
        return await self._replaced(request, response, html)

    async def spider_closed(self) -> None:
        shells = self._stats.get_value("bilingual/render/shells", 0)
        if self._mode == "never" and shells > MANY_SHELLS * self._seen:
            counts = f"{shells} of {self._seen} pages, such as {self._first}, show almost nothing"
            logger.warning(f"{counts} without JavaScript; -a render=auto renders such pages in a browser")
        if self._browser is not None:
            await self._browser.close()

    async def _take_budget(self, slot: str) -> bool:
        """Count a page that is rendered, unless that exceeds a limit; raises StillWanted."""
        options = self._options
        limits = {"rendered ": options.render_max_pages, f"rendered {slot}": options.render_max_pages_per_site}
        sums = await unless_stopping(self._crawler, self._visits.count(*limits))
        if any(limit and sums[name] > limit for name, limit in limits.items()):
            self._visits.frontier.add(dict.fromkeys(limits, -1))
            return False
        return True

    async def _replaced(self, request: Request, plain: Response, html: str) -> Response:
        headers = plain.headers.copy()
        headers["Content-Type"] = "text/html; charset=utf-8"
        body = html.encode("utf-8", "replace")
        response = HtmlResponse(plain.url, headers=headers, body=body, flags=[*plain.flags, "rendered"])
        self._stats.inc_value("bilingual/render/pages")
        await self._crawler.signals.send_catch_log_async(page_rendered, request=request, response=response)
        self._stats.inc_value(f"bilingual/language/{request.meta[READ].language}", -1)
        await self._read_page(request, response, request.meta[ENTRY].url)
        return response
