"""Downloader middlewares: parse responses in helper processes, identify their languages, and ask in them."""

import asyncio
import dataclasses
from functools import partial
from time import perf_counter
from typing import TypeVar

from msgspec.structs import replace
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response
from scrapy.settings import default_settings

from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.middlewares.backoff import note_shortage, origin
from bilingual_crawler.crawl.middlewares.stop import is_stopping
from bilingual_crawler.crawl.politeness import robots_agent
from bilingual_crawler.crawl.requests import asks_for_page, header, header_text
from bilingual_crawler.crawl.signals import ENTRY, READ, SITEMAP, SWITCH, Refused, StillWanted, count_and_log
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.frontier.backoff import own_shortage
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.items import Document
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Options, Part
from bilingual_crawler.pages.formats import ONLY_HTML, PDF, format_of
from bilingual_crawler.pages.jobs import PageJob, PdfJob, SitemapJob
from bilingual_crawler.pages.links import refreshed
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pages.origin import NOINDEX, NOTHING, TDM_POLICY, TDM_RESERVATION, opt_outs
from bilingual_crawler.pages.robots import header_directives, page_rules
from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, SandboxError
from bilingual_crawler.pages.sandbox.pool import submit
from bilingual_crawler.pairing.reading import CrawledPageJob
from bilingual_crawler.urls.canonical import asked_language, canonicalise

Result = TypeVar("Result")

REDIRECTS = range(300, 400)
_PAUSE = 1.0  # seconds until a helper process is started again
REST = 3.0  # pause after a response that has broken a limit, in times of what it took
MAX_REST = 10.0


class ReadingComponent(CrawlComponent):
    """Reads responses in helper processes, and refuses those that break a limit or lack the expected content.

    All sites with a response over a limit share one helper, which rests after each further one and so leaves processors
    to the other helpers. Stats: ``bilingual/unreadable/time|memory|crash|damaged|encrypted|no-text|illegible``.
    """

    async def _read(self, job: Job[Result], url: str) -> Result:
        """The result of *job* for the response from *url*; raises Refused, and StillWanted if the crawl stops first."""
        while True:
            try:
                return await self._read_once(job, is_suspect=self._context.traps.was_unreadable(url))
            except (ContentError, SandboxError) as error:
                count_and_log(self._crawler, f"bilingual/unreadable/{error.kind}", f"{url} could not be read: {error}")
                if isinstance(error, ContentError):
                    raise Refused(error.kind, str(error), status=200) from error
                self._context.traps.note_unreadable(url)
                raise Refused(f"unreadable-{error.kind}", str(error), status=200) from error
            except OSError as error:
                # a helper process cannot be started
                shortage = own_shortage(error)
                if shortage is None:
                    raise
                note_shortage(self._crawler, shortage)
                if is_stopping(self._crawler):
                    raise StillWanted("the crawl is stopping") from error
            await asyncio.sleep(_PAUSE)

    async def _read_once(self, job: Job[Result], *, is_suspect: bool) -> Result:
        if not is_suspect:
            return await asyncio.wrap_future(submit(job))
        async with self._context.suspects:
            begun = perf_counter()
            try:
                return await asyncio.wrap_future(submit(job))
            except SandboxError:
                await asyncio.sleep(min(MAX_REST, REST * (perf_counter() - begun)))
                raise

    async def _read_page(self, request: Request, response: Response, url: str) -> None:
        """Put the record of the page *url* in *response* into the meta of *request*; raises Refused."""
        context = self._context
        is_pdf = is_of(PDF, response, url)
        pairs = context.pairs if self._options.align else None
        job = PdfJob(response.body, url) if is_pdf else page_job(response, url, context.formats, pairs)
        announced = self._visits.learner.announced_language(url) if ENTRY in request.meta else None
        found = await self._read(dataclasses.replace(job, detection=context.detection, announced=announced), url)
        request.meta[READ] = counted(found, request, response, self._crawler, self._options)
        self._stats.inc_value(f"bilingual/language/{found.language}")
        if is_pdf:
            self._stats.inc_value("bilingual/pdf/too-long" if found.is_cut else "bilingual/pdf/whole")


class LanguageFilterMiddleware(ReadingComponent):
    """Puts the parsed page, or the parsed sitemap, into ``response.meta``.

    Responses in none of the formats of the crawl are dropped by their headers, before the body is read if the download
    handler allows it. Stats: ``bilingual/language/<code>``, ``bilingual/dropped/not_html``, ``bilingual/pdf/<whether
    whole>``.
    """

    def headers_received(self, headers: Headers, request: Request) -> None:
        url = self._url(request)
        if url is not None and not _any_format(request) and self._format(headers, url) is None:
            raise StopDownload(fail=True)

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        """The headers do not name the status: of a stopped answer that is not 200, the status counts, not the type."""
        stopped = exception.response if isinstance(exception, StopDownload) else None
        return stopped if stopped is not None and stopped.status != 200 else None

    async def process_response(self, request: Request, response: Response) -> Response:
        url = self._url(request)
        if url is None:
            return response
        entry: Entry | None = request.meta.get(ENTRY)
        if response.status != 200 and not _is_whole(response):
            if 200 < response.status < 300 and entry is not None and not entry.request:
                # Scrapy passes any success to the callback
                raise Refused(f"http-{response.status}", "no page: only 200 is", status=response.status)
            return response
        if entry is not None and entry.kind is Kind.SITEMAP:
            sitemap = await self._read(SitemapJob(response.body, url, self._context.formats), url)
            # the site may have redirected from a sitemap that it lacks to one of its pages
            is_moved = entry.redirects and not (sitemap.links or sitemap.nested or sitemap.documents)
            is_page = is_moved and self._format(response.headers, entry.url) is not None
            if not (is_page and self._context.scope.admits(entry.url)):
                request.meta[SITEMAP] = sitemap
                return response
            entry.kind, entry.parent = Kind.PAGE, entry.parent or f"{origin(url)}/robots.txt"
        if self._format(response.headers, url) is None:
            if _any_format(request):
                return response
            self._stats.inc_value("bilingual/dropped/not_html")
            raise Refused("not-html", f"not a document: {header(response.headers, 'Content-Type')}", status=200)
        await self._read_page(request, response, url)
        return response

    def _url(self, request: Request) -> str | None:
        """The URL of the page or sitemap that *request* asks for; None if its answer is not read."""
        if ENTRY in request.meta:
            entry: Entry = request.meta[ENTRY]
            return entry.url
        has_frontier = Part.FRONTIER in self._options.parts
        return None if has_frontier or not asks_for_page(request) else canonicalise(request.url)

    def _format(self, headers: Headers, url: str) -> str | None:
        found = format_of(header(headers, "Content-Type"), url)
        return found if found in self._context.formats else None


class NegotiatedMiddleware(CrawlComponent):
    """Refuses a variant in another language than asked for. It follows the rendering: scripts may choose it."""

    def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        asked = asked_language(entry.url) if entry else None
        # a page that was not read is no answer
        if entry is None or asked is None or response.status != 200 or READ not in request.meta:
            return response
        found = request.meta[READ].language
        right = self._context.pairs.side(found) == asked
        self._visits.variants.note_answer(entry.url, right=right)
        if not right:
            raise Refused("not-negotiated", f"asked for {asked}, answered in {found}", status=200)
        return response


class VariantsMiddleware(CrawlComponent):
    """Sends ``Accept-Language``, and the cookies of a variant; notes cookies that come with a redirect.

    If the project has set an ``Accept-Language`` in ``DEFAULT_REQUEST_HEADERS``, only variants have another one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        headers = crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        self._asks_by_default = headers == default_settings.DEFAULT_REQUEST_HEADERS

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        visits = self._visits
        if self._asks_by_default or entry.is_variant:
            request.headers["Accept-Language"] = visits.variants.accept_language(entry.url)
        if entry.is_variant and not visits.variants.are_wanted(entry.url):
            raise Refused("not-negotiated", "the site has answered in another language before")
        if cookies := visits.variants.cookies(entry.url):
            request.headers["Cookie"] = cookies

    def process_response(self, request: Request, response: Response) -> Response:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is not None and response.status in REDIRECTS:
            set_cookies = [value.decode("latin-1") for value in response.headers.getlist("Set-Cookie")]
            request.meta[SWITCH] = self._visits.variants.switch(entry.url, set_cookies)
        return response


def counted(page: PageRecord, request: Request, response: Response, crawler: Crawler, options: Options) -> PageRecord:
    """*page* as the crawl counts it, with the rules in the headers of *response*, the only ones that a PDF has."""
    headers, entry = response.headers, request.meta.get(ENTRY)
    values = (value.decode("latin-1") for value in headers.getlist("X-Robots-Tag"))
    directives = header_directives(values, robots_agent(crawler.settings))
    is_noindex, nofollow = page_rules(directives)
    declared = opt_outs(directives, header(headers, TDM_RESERVATION), header(headers, TDM_POLICY), page.url)
    declared = page.opt_outs.over(declared).over(request.meta.get(signals.SITE_OPT_OUTS, NOTHING))
    noindex = NOINDEX if is_noindex else page.objection
    objection = noindex if options.meta_robots_obey else None
    return replace(
        page,
        side=CrawlContext.from_crawler(crawler).pairs.side(page.language),
        seed=entry is not None and not entry.parent,
        depth=entry.depth if entry is not None else 0,
        objection=objection or (declared.objection if options.tdm == "respect" else None),
        nofollow=page.nofollow or nofollow,
        opt_outs=declared,
    )


def page_job(
    response: Response, url: str, formats: frozenset[str] = ONLY_HTML, pairs: LanguagePairs | None = None
) -> PageJob:
    """The job that reads the HTML page in *response*, fetched from *url*; for an alignment of *pairs*, if given."""
    headers = response.headers
    link_headers = tuple(map(header_text, headers.getlist("Link")))
    # browsers read it as the element of this name; to the job it is one more link in the headers
    if target := refreshed(header(headers, "Refresh")):
        link_headers += (f"<{target}>; rel=refresh",)
    language = header(headers, "Content-Language")
    job = PageJob if pairs is None else partial(CrawledPageJob, pairs=pairs)
    content_type = header(headers, "Content-Type")
    return job(response.body, content_type, url, link_headers, formats, content_language=language)


def is_of(wanted: str, response: Response, url: str) -> bool:
    """Whether *response*, fetched from *url*, has the format *wanted*."""
    return format_of(header(response.headers, "Content-Type"), url) == wanted


def document_of(response: Response, page: PageRecord) -> Document | None:
    """Return *page*, read of *response*, as a document; None if it is in no language of the crawl, or opts out."""
    if page.side is None or page.objection:
        return None
    entry: Entry = response.meta[ENTRY]
    warc_file, warc_offset = response.meta.get(signals.WARC_LOCATION, (None, None))[:2]
    now = utc_now()
    return Document(
        url=page.url,
        language=page.side,
        shares=page.shares,
        reliable=page.reliable,
        title=page.title,
        text=page.text,
        fetched_at=now,
        status=response.status,
        depth=page.depth,
        referrer=entry.parent or None,
        score=entry.priority if entry.parent else None,
        warc_file=warc_file,
        warc_offset=warc_offset,
        alternates=[(link.claimed, link.url) for link in page.claims if link.announces and link.claimed],
        switches=[(link.claimed, link.url) for link in page.links if link.is_switch],
        # a feed has all fields of the origin
        origin=dataclasses.replace(page.origin.with_opt_outs(page.opt_outs), fetched_at=now),
    )


def _is_whole(response: Response) -> bool:
    """Whether all of a page came with another status than 200: 203 of a proxy, or 206 with all its bytes."""
    if response.status == 206:
        begin, _, size = header(response.headers, "Content-Range").partition("/")
        return begin.lower() == f"bytes 0-{int(size) - 1}" if size.isdecimal() else not begin
    return response.status == 203


def _any_format(request: Request) -> bool:
    """Whether all formats are welcome: in a sitemap, and where a spider of another project starts."""
    entry: Entry | None = request.meta.get(ENTRY)
    return entry is not None and (entry.kind is Kind.SITEMAP or (bool(entry.request) and not entry.parent))
