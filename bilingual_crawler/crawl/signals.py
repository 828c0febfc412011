"""What components share: signals, keys of ``request.meta``, flags of responses, outcomes, stats, the engine."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from scrapy import exceptions
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.spidermiddlewares.httperror import HttpError

logger = logging.getLogger(__name__)

# keys of request.meta
PREFIX = "bilingual_"
ENTRY = "bilingual_entry"  # the Entry that a request fetches
REST = "bilingual_rest"  # the Rest with which a request goes back to the frontier
FAILURES = "bilingual_failures"  # failures in a row of the host when the request was sent
WALLED = "bilingual_walled"  # whether the host showed one page for all URLs when the request was sent
RANK = "bilingual_rank"  # the Wanted of a request that a spider has yielded
BYTE_LIMIT = "bilingual_read_bytes"  # bytes after which the download of a request ends
BYTES_RECEIVED = "bilingual_bytes_received"  # bytes of such a request that have come
SWITCH = "bilingual_switch"  # the Switch that came with a redirect
READ = "bilingual_read"  # what was read of a page: a PageRecord
SITE_OPT_OUTS = "bilingual_site_opt_outs"  # the OptOuts that the site declares for the page
SITEMAP = "bilingual_sitemap"  # a Sitemap
COPY = "bilingual_copy"  # True if too many pages of the host have this text
WARC_LOCATION = "bilingual_warc"  # the WarcLocation of the response's record
ARCHIVED_DATE = "bilingual_archived"  # WARC-Date of an archived response; None if the replay has made it up
NOT_MODIFIED = "bilingual_not_modified"  # True if an archived response stands for the answer 304

# flags of responses that the replay has made up
REDIRECT_FLAG = "replay-redirect"  # to another URL, under which the page is archived
MISSING_FLAG = "replay-missing"  # 404 for a URL that is not in the archive

STOPPED = "shutdown"  # Scrapy's finish_reason of an end by a signal
REFUSED_CONNECTION = "connection-refused"  # outcome where the host is there, and nothing listens at its port

# stats
FAILED_OUTPUTS = "bilingual/output/failed"  # missing or incomplete outputs; above 0 the command exits with 1
MISSING_OUTPUTS = "bilingual/output/missing"  # outputs that the alignment has not made -> the commands that make them
ERRORS = "bilingual/errors/"  # prefix: errors of components and callbacks by type; with any the command exits with 1
MODELS = "bilingual/models/"  # prefix: the URL models by kind, each with its checksum and what computes it

# signals
pair_found = object()  # pair: when both of its documents are fetched; a better pair of one of them may follow
url_fetched = object()  # fetch: a Fetch, once for every requested URL
profile_read = object()  # url, profile: what an alignment compares of a page, packed; before document_read
document_read = object()  # document: a Document, where the spider yields items of its own
site_judged = object()  # site: a JudgedSite, at each verdict of a discovery
sitemaps_named = object()  # urls: the sitemaps in a robots.txt; if it names none, that at the usual address
page_rendered = object()  # request, response (HTML in UTF-8): a page that the browser rendered
output_failed = object()  # error: an OSError (disk full); no URL may be finished after it
phase_changed = object()  # phase: step of a stopping crawl, such as "stopping, transfers left: 2"
stop_now = object()  # the second stop signal: nothing may delay the end


class Refused(exceptions.IgnoreRequest):
    """A URL that is not fetched, or whose response is discarded; *outcome* is its entry in ``crawl.tsv``."""

    def __init__(self, outcome: str, message: str, *, status: int = 0, silent: bool = False) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.status = status  # HTTP status, if the URL was fetched
        self.silent = silent  # whether the server did not answer


class StillWanted(exceptions.IgnoreRequest):
    """The crawl is stopping: the URL returns to the frontier for the next run."""


def reason(error: BaseException) -> tuple[int, str]:
    """HTTP status (0 without an answer) and outcome of a fetch that failed with *error*."""
    match error:
        case HttpError():
            return error.response.status, f"http-{error.response.status}"
        case exceptions.StopDownload():
            return error.response.status if error.response else 200, "not-html"
        case Refused():
            return error.status, error.outcome
        case exceptions.CannotResolveHostError():
            return 0, "host-not-found"
        case exceptions.DownloadConnectionRefusedError():
            return 0, REFUSED_CONNECTION
        case _ if isinstance(error, exceptions.DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in str(error):
            return 0, "too-large"
        case exceptions.IgnoreRequest():
            return 0, "ignored"
        case _:
            return 0, f"error-{type(error).__name__}"


def engine_of(crawler: Crawler) -> ExecutionEngine:
    """The engine of *crawler*, which must have begun to crawl."""
    assert crawler.engine
    return crawler.engine


def count_and_log(
    crawler: Crawler, stat: str, message: str, *, by: int = 1, first: int = logging.WARNING, later: int = logging.DEBUG
) -> None:
    """Add *by* to *stat*, and log *message*: with the level *first* at the first time, then with *later*."""
    assert crawler.stats
    level = later if crawler.stats.get_value(stat) else first
    crawler.stats.inc_value(stat, by)
    logger.log(level, message)


def add_counts(crawler: Crawler, prefix: str, counts: Mapping[str, int]) -> None:
    """Add *counts* to the stats whose names begin with *prefix*."""
    assert crawler.stats
    for name, count in counts.items():
        crawler.stats.inc_value(f"{prefix}{name}", count)


def is_silent(error: BaseException) -> bool:
    """Whether *error* means that a server with a known address did not answer."""
    status, outcome = reason(error)
    if status or outcome == "host-not-found":
        return False
    return error.silent if isinstance(error, Refused) else outcome.startswith(("error-", REFUSED_CONNECTION))


@dataclass(frozen=True, slots=True)
class Fetch:
    """The outcome of a request; a line of ``crawl.tsv``."""

    time: str
    status: int  # HTTP status; 0 without an answer
    url: str
    language: str  # language of the content, ISO 639-3; un if unknown, empty without content
    priority: float
    referrer: str
    depth: int
    outcome: str  # document, other-language, sitemap, redirect, or why the URL was dropped
    location: str = ""  # target of a redirect
    declared: str = ""  # the language of the crawl that the page declares, ISO 639-3, if its text is in another one
