"""Downloader middleware: renders pages that are empty without JavaScript."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, Response

from bilingual_crawler.crawl.middlewares.language import ReadingComponent, is_of
from bilingual_crawler.crawl.middlewares.stop import is_stopping, put_back, unless_stopping
from bilingual_crawler.crawl.rendering import Browser, RenderError, is_shell, missing_for_rendering
from bilingual_crawler.crawl.signals import ENTRY, READ, StillWanted, count_and_log, page_rendered
from bilingual_crawler.pages.formats import HTML

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.pages.model import PageRecord

logger = logging.getLogger(__name__)

_TOTAL = ""


class RenderMiddleware(ReadingComponent):
    """Renders HTML pages: none with ``render=never``, all with ``always``, shells with ``auto``.

    It comes after the language filter, whose result shows the shells (pages that are empty without scripts). The filter
    runs again on the rendered page. If scripts navigate to another URL, this is a redirect. A page that cannot be
    rendered, or is beyond ``BILINGUAL_RENDER_MAX_PAGES`` or ``BILINGUAL_RENDER_MAX_PAGES_PER_SITE``, stays as it was
    downloaded. A page whose rendering a stop cuts off is left for the resume. Stats:
    ``bilingual/render/shells|pages|redirects|failed|over_budget``, and those of
    :class:`~bilingual_crawler.crawl.rendering.Browser`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._mode = self._context.render
        missing = missing_for_rendering(crawler.settings)
        self._browser = None if self._mode == "never" or missing else Browser(crawler, self._slot_of)
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
        if shell:
            why = "shows almost nothing without JavaScript; -a render=auto renders such pages in a browser"
            first = logging.WARNING if self._mode == "never" else logging.DEBUG
            count_and_log(self._crawler, "bilingual/render/shells", f"{response.url} {why}", first=first)
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
        if self._browser is not None:
            await self._browser.close()

    def _slot_of(self, url: str) -> str:
        visits = self._visits
        return visits.frontier.server(visits.slot(url))

    async def _take_budget(self, slot: str) -> bool:
        """Count a page that is rendered, unless that exceeds a limit; raises StillWanted."""
        limits = {
            f"rendered {_TOTAL}": self._options.render_max_pages,
            f"rendered {slot}": self._options.render_max_pages_per_site,
        }
        visits = self._visits
        sums = await unless_stopping(self._crawler, visits.count(*limits))
        if any(limit and sums[name] > limit for name, limit in limits.items()):
            visits.frontier.add(dict.fromkeys(limits, -1))
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
