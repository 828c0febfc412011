"""Signals, keys of ``request.meta`` and flags of responses, by which components share the state of a request."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    IgnoreRequest,
    StopDownload,
)
from scrapy.spidermiddlewares.httperror import HttpError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

PREFIX = "bilingual_"
"""Prefix of all keys."""

ENTRY = "bilingual_entry"
"""The :class:`~bilingual_crawler.frontier.entry.Entry` that a request fetches."""
REST = "bilingual_rest"
"""The :class:`~bilingual_crawler.frontier.backoff.Rest` with which a request goes back to the frontier."""
FAILURES = "bilingual_failures"
"""Failures in a row of the host when the request was sent."""
WALLED = "bilingual_walled"
"""Whether the host showed one page for all URLs when the request was sent."""
RANK = "bilingual_rank"
"""The :class:`~bilingual_crawler.items.Wanted` of a request that a spider has yielded."""

BYTE_LIMIT, BYTES_RECEIVED = "bilingual_read_bytes", "bilingual_bytes_received"
"""Bytes after which the download of a request ends, and those that have come."""

SWITCH = "bilingual_switch"
"""The :class:`~bilingual_crawler.crawl.variants.Switch` that came with a redirect."""

READ = "bilingual_read"
"""What was read of a page: a :class:`~bilingual_crawler.pages.model.PageRecord`."""
SITE_OPT_OUTS = "bilingual_site_opt_outs"
"""The :class:`~bilingual_crawler.pages.origin.OptOuts` that the site declares for the page."""
SITEMAP = "bilingual_sitemap"
"""A :class:`~bilingual_crawler.pages.jobs.Sitemap`."""
COPY = "bilingual_copy"
"""True if too many pages of the host have this text."""

WARC_LOCATION = "bilingual_warc"
"""The :class:`~bilingual_crawler.storage.writer.WarcLocation` of the response's record."""
ARCHIVED_DATE = "bilingual_archived"
"""``WARC-Date`` of a response from an archive; None for a response made up by the replay."""

NOT_MODIFIED = "bilingual_not_modified"
"""True if the site answered 304, and the response is from the archive of an earlier crawl."""

REDIRECT_FLAG = "replay-redirect"
"""In ``response.flags`` of a redirect made up by the replay: the page is archived under another URL."""
MISSING_FLAG = "replay-missing"
"""In ``response.flags`` of the 404 for a URL that is not in the archive."""

STOPPED = "shutdown"
"""Scrapy's ``finish_reason`` of an end by a signal."""
REFUSED_CONNECTION = "connection-refused"
"""Outcome where the host is there, and nothing listens at its port."""


class Refused(IgnoreRequest):
    """A URL that is not fetched, or whose response is discarded; *outcome* is its entry in ``crawl.tsv``."""

    def __init__(self, outcome: str, message: str, *, status: int = 0, silent: bool = False) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.status = status
        """HTTP status, if the URL was fetched."""
        self.silent = silent
        """Whether the server did not answer."""


class StillWanted(IgnoreRequest):
    """The crawl is stopping: the URL returns to the frontier for the next run."""


def reason(error: BaseException) -> tuple[int, str]:
    """HTTP status (0 without an answer) and outcome of a fetch that failed with *error*."""
    match error:
        case HttpError():
            return error.response.status, f"http-{error.response.status}"
        case StopDownload():
            return error.response.status if error.response else 200, "not-html"
        case Refused():
            return error.status, error.outcome
        case CannotResolveHostError():
            return 0, "host-not-found"
        case DownloadConnectionRefusedError():
            return 0, REFUSED_CONNECTION
        case _ if isinstance(error, DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in str(error):
            return 0, "too-large"
        case IgnoreRequest():
            return 0, "ignored"
        case _:
            return 0, f"error-{type(error).__name__}"


def count_and_log(
    crawler: Crawler, stat: str, message: str, *, by: int = 1, first: int = logging.WARNING, later: int = logging.DEBUG
) -> None:
    """Add *by* to *stat*, and log *message*: with the level *first* at the first time, then with *later*."""
    assert crawler.stats
    level = later if crawler.stats.get_value(stat) else first
    crawler.stats.inc_value(stat, by)
    logger.log(level, message)


def is_silent(error: BaseException) -> bool:
    """Whether *error* means that a server with a known address did not answer."""
    status, outcome = reason(error)
    if status or outcome == "host-not-found":
        return False
    return error.silent if isinstance(error, Refused) else outcome.startswith(("error-", REFUSED_CONNECTION))


def is_fault(error: BaseException) -> bool:
    """Whether *error* is a fault of a component: Scrapy and Twisted have classes for those of servers and networks."""
    return type(error).__module__ == "builtins" and not isinstance(error, OSError)


pair_found = object()
"""Sent with ``pair`` when both of its documents are fetched; a better pair of one of them may follow."""
url_fetched = object()
"""Sent once for every requested URL, with ``fetch``: a :class:`Fetch`."""

profile_read = object()
"""*url*, *profile*: what an alignment compares of a page, packed; sent before its document goes to the outputs."""
document_read = object()
"""Sent with ``document``, an :class:`~bilingual_crawler.items.Document`, where the spider yields items of its own."""

site_judged = object()
"""Sent with ``site``, a :class:`~bilingual_crawler.discovery.sites.JudgedSite`, at each verdict of a discovery."""

sitemaps_named = object()
"""Sent with ``urls``, the sitemaps in a robots.txt, or if it names none, that at the usual address."""

page_rendered = object()
"""Sent with ``request`` and ``response`` (HTML in UTF-8) for a page that the browser rendered."""

output_failed = object()
"""Sent with ``error``, an OSError, when an output cannot be written (disk full): no URL may be finished after it."""

FAILED_OUTPUTS = "bilingual/output/failed"
"""Stat that counts missing or incomplete outputs; above 0 the command exits with 1."""
MISSING_OUTPUTS = "bilingual/output/missing"
"""Stat: the outputs that the alignment at the end has not made, with the command that makes each."""
ERRORS = "bilingual/errors/"
"""Prefix of stats: errors of components and callbacks by type; with any the command exits with 1."""
MODELS = "bilingual/models/"
"""Prefix of stats: the URL models by kind, each with its checksum and what computes it."""

phase_changed = object()
"""Sent with ``phase``, the current step of a stopping crawl, such as ``stopping, transfers left: 2``."""

stop_now = object()
"""Sent on the second stop signal: nothing may delay the end."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """The outcome of a request; a line of ``crawl.tsv``."""

    time: str
    status: int
    """HTTP status; 0 without an answer."""
    url: str
    language: str
    """Language of the content, ISO 639-3; ``un`` if unknown, empty without content."""
    priority: float
    referrer: str
    depth: int
    outcome: str
    """``document``, ``other-language``, ``sitemap``, ``redirect``, or why the URL was dropped."""
    location: str = ""
    """Target of a redirect."""
    declared: str = ""
    """The language of the crawl that the page declares, ISO 639-3, if its text is in another one."""
