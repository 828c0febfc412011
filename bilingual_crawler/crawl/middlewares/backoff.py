"""Downloader middlewares: pauses for failing hosts, and URLs that kill the process."""

import errno
import logging
import math
import os
import socket
import time
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, StopDownload
from scrapy.http import Response
from scrapy.utils.misc import load_object

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.stop import again, end_crawl
from bilingual_crawler.crawl.signals import ENTRY, FAILURES, Refused, count_and_log
from bilingual_crawler.frontier.backoff import Backoff, Patience, Rest, own_shortage, retry_after
from bilingual_crawler.frontier.entry import POISON, SUSPECT, Entry
from bilingual_crawler.options import Options
from bilingual_crawler.urls.hosts import registered_domain

logger = logging.getLogger(__name__)

PAGE_ERROR = 500  # a failure of the page, not of the host
WAITS = 5  # answers 429 or 503 to one URL before it is dropped
MAX_OWN_REST = 60.0  # longest pause in seconds when this machine has no sockets left
_MACHINE = "this machine"
NO_ANSWER = "no_answer"  # the finish_reason of a crawl that stops because the network may be gone


class HostUnavailable(Refused):
    """The page was not requested, since the host is unavailable, though perhaps *alive*, or *asked* for a pause."""

    def __init__(self, outcome: str, message: str, *, alive: bool, asked: float | None = None) -> None:
        super().__init__(outcome, message, silent=not alive)
        self.alive, self.asked = alive, asked


class BackoffMiddleware(CrawlComponent):
    """Replaces Scrapy's RetryMiddleware, which retries without a pause.

    A request that fails by the network or with one of ``RETRY_HTTP_CODES`` goes back to its place in the frontier, at
    most ``RETRY_TIMES`` times. Its politeness slot pauses, as :class:`Backoff` says, until its host is given up. A
    crawl that can be resumed stops if no host answers. Stats: ``bilingual/backoff/<status or error>``,
    ``bilingual/hosts_given_up``, ``bilingual/machine/<error>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._enabled = settings.getbool("RETRY_ENABLED")
        self._tries = settings.getint("RETRY_TIMES")
        self._statuses = frozenset(map(int, settings.getlist("RETRY_HTTP_CODES")))
        self._errors = tuple(map(load_object, settings.getlist("RETRY_EXCEPTIONS")))
        self._patience = patience_of(self._options)
        self._backoff = Backoff(self._patience, time.monotonic)
        longest = min(self._patience.longest, MAX_OWN_REST)
        self._own = Backoff(Patience(self._patience.start, longest, failures=math.inf), time.monotonic)
        self._stopped = False  # whether the network seems to be gone, and the crawl ends

    def response_downloaded(self, request: Request, response: Response) -> None:
        """End the failures in a row of the host. Redirects and dropped responses do not reach process_response."""
        if ENTRY in request.meta:
            self._own.answered(_MACHINE)
            if not self._is_failure(response):
                self._backoff.answered(origin(request.url))

    def process_request(self, request: Request) -> None:
        if ENTRY in request.meta:
            if self._backoff.given_up(origin(request.url)):
                raise Refused("host-given-up", "the host failed too often", silent=True)
            request.meta[FAILURES] = self._backoff.failures(origin(request.url))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        entry: Entry | None = request.meta.get(ENTRY)
        status = response.status
        if entry is None or not self._enabled or status not in self._statuses:
            return response
        self._stats.inc_value(f"bilingual/backoff/{status}")
        if status == PAGE_ERROR:
            rest: float | None = min(self._patience.longest, self._patience.start * 2.0**entry.attempts)
        else:
            rest = self._failed(request, alive=True, asked=asked_to_wait(response))
        tries = WAITS if status in (429, 503) else self._tries
        if rest is None:
            return response
        if entry.attempts < tries:
            return again(request, Rest(rest))
        if status != PAGE_ERROR and self._is_spared(request, tries):
            return again(request, Rest(rest, after_others=True))
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None or not self._enabled:
            return None
        stopped = exception.response if isinstance(exception, StopDownload) else None
        if isinstance(exception, StopDownload | DownloadCancelledError) and not self._is_failure(stopped):
            # an answer that is not read to its end
            self._backoff.answered(origin(request.url))
        if shortage := _shortage_behind(exception):
            note_shortage(self._crawler, shortage)
            # an address family that this machine lacks reads the same as ports that are used up
            for_good = shortage == "EADDRNOTAVAIL"
            if for_good and entry.attempts >= WAITS:
                return None
            return again(request, Rest(self._own.failed(_MACHINE, alive=True) or 0.0, failed=for_good))
        unavailable = exception if isinstance(exception, HostUnavailable) else None
        if not (unavailable or isinstance(exception, self._errors)):
            return None
        if self._visits.is_guess(entry) and not (unavailable and unavailable.alive):
            return None
        self._stats.inc_value(f"bilingual/backoff/{unavailable.outcome if unavailable else type(exception).__name__}")
        alive, asked = (unavailable.alive, unavailable.asked) if unavailable else (False, None)
        rest = self._failed(request, alive=alive, asked=asked)
        if rest is None:
            return None
        if unavailable or entry.attempts < self._tries:
            return again(request, Rest(rest, failed=not unavailable))
        # the network may be gone, so that the request need not be the reason of its last failure
        silent = self._backoff.is_silence(origin(request.url))
        silent = silent and self._visits.expects_answers(request.url, elsewhere=True)
        if self._stopped or (silent and self._backoff.failures(origin(request.url)) > 1):
            return again(request, Rest(rest, failed=False))
        # a first failure in a row says less: other pages of the host may have been answered just before
        if silent and entry.attempts == self._tries:
            return again(request, Rest(rest))
        return again(request, Rest(rest, after_others=True)) if self._is_spared(request, self._tries) else None

    def _is_spared(self, request: Request, tries: int) -> bool:
        """Whether *request* has one more try: its host only failed between the last two, and may have been away."""
        entry: Entry = request.meta[ENTRY]
        return entry.attempts == tries and request.meta.get(FAILURES, 0) > 0 and self._visits.may_be_away(entry)

    def _is_failure(self, response: Response | None) -> bool:
        failed = response is not None and response.status in self._statuses and response.status != PAGE_ERROR
        return self._enabled and failed

    def _failed(self, request: Request, *, alive: bool, asked: float | None) -> float | None:
        host = origin(request.url)
        before = self._backoff.given_up(host)
        expected = partial(self._visits.expects_answers, request.url)
        rest = self._backoff.failed(host, alive=alive, retry_after=asked, others_should_answer=expected)
        if rest is None and self._visits.is_durable and self._backoff.is_silence(host) and expected():
            self._stopped = True
            why = "no host answers any more, the network of this machine may be gone. The crawl can be resumed"
            end_crawl(self._crawler, NO_ANSWER, f"Stopping: {why}")
            self._backoff.forget(host)
            return 0.0
        if rest is None and not before:
            self._visits.learner.remaining.give_up(registered_domain(request.url))
            message = f"{host} failed too often: given up"
            count_and_log(self._crawler, "bilingual/hosts_given_up", message, later=logging.INFO)
        return rest


def note_shortage(crawler: Crawler, shortage: str) -> None:
    """Count that this machine has something none left of, an :func:`own_shortage`, and log it once per kind."""
    error = f"{os.strerror(getattr(errno, shortage))} ({shortage})"
    what = "this machine has no sockets, file descriptors or memory left; the crawl waits and tries again"
    fix = "A lower CONCURRENT_REQUESTS or a higher ulimit -n helps"
    count_and_log(crawler, f"bilingual/machine/{shortage}", f"{error}: {what}. {fix}")


def _shortage_behind(exception: Exception) -> str | None:
    """As :func:`own_shortage`; a look-up of a name fails without saying why, so a socket is opened to find out."""
    shortage = own_shortage(exception)
    if shortage or not any(isinstance(one, CannotResolveHostError) for one in (exception, exception.__cause__)):
        return shortage
    try:
        socket.socket().close()
    except OSError as error:
        return own_shortage(error)
    return None


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def asked_to_wait(response: Response) -> float | None:
    value = response.headers.get("Retry-After")
    return retry_after(value.decode("latin-1"), datetime.now(UTC)) if value else None


def patience_of(options: Options) -> Patience:
    return Patience(options.backoff_start, options.backoff_max, options.retry_after_max, options.host_failures)


class PoisonMiddleware:
    """Logs each suspect, so that the log of a process that dies ends with the culprit. Refuses poisonous URLs."""

    def process_request(self, request: Request) -> None:
        entry: Entry | None = request.meta.get(ENTRY)
        if entry is None:
            return
        if entry.priority == POISON:
            logger.warning(f"{entry.url}: not fetched again, because the crawl died twice while it was in flight")
            raise Refused("poison", "the crawl died twice while it was in flight")
        if entry.priority == SUSPECT:
            logger.info(f"{entry.url}: the crawl died while it was in flight; it is fetched again, alone")
