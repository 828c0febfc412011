"""Keys of ``request.meta`` and flags of responses: what components tell each other about one request."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, IgnoreRequest, StopDownload
from scrapy.spidermiddlewares.httperror import HttpError

PREFIX = "bilingual_"
"""All of them begin with it."""

ENTRY = "bilingual_entry"
"""The :class:`~bilingual_crawler.frontier.entry.Entry` that a request fetches."""
REST = "bilingual_rest"
"""The :class:`~bilingual_crawler.frontier.backoff.Rest` with which a request goes back to the frontier."""
FAILURES = "bilingual_failures"
"""The failures in a row of its host when a request was sent."""
RANK = "bilingual_rank"
"""The :class:`~bilingual_crawler.items.Rank` of a request that a spider has yielded."""

SWITCH = "bilingual_switch"
"""The :class:`~bilingual_crawler.crawl.variants.Switch` that came with a redirect."""

READ = "bilingual_read"
"""What was read of a page: a :class:`~bilingual_crawler.pages.jobs.ReadPage`."""
SITE_OPT_OUTS = "bilingual_site_opt_outs"
"""The :class:`~bilingual_crawler.pages.opt_outs.OptOuts` that the site declares for the page."""
SITEMAP = "bilingual_sitemap"
"""A :class:`~bilingual_crawler.pages.jobs.Sitemap`."""
COPY = "bilingual_copy"
"""True if the page says what too many others of its host have said."""

WARC_LOCATION = "bilingual_warc"
"""The :class:`~bilingual_crawler.storage.WarcLocation` of the response's record."""
ARCHIVED_DATE = "bilingual_archived"
"""The ``WARC-Date`` of a response from an archive; None for one that the replay made up."""

NOT_MODIFIED = "bilingual_not_modified"
"""True if the response is from the archive of an earlier crawl, and the site has said that it has not changed."""

REDIRECT_FLAG = "replay-redirect"
"""In ``response.flags`` of a redirect that the replay made up: the page is archived under another URL."""
MISSING_FLAG = "replay-missing"
"""In ``response.flags`` of the 404 for a URL that is not in the archive."""


class Refused(IgnoreRequest):
    """A URL that is not fetched, or whose answer is not wanted; *outcome* is what ``crawl.tsv`` says about it."""

    def __init__(self, outcome: str, message: str, *, status: int = 0, silent: bool = False) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.status = status
        """Of the answer, if it was fetched after all."""
        self.silent = silent
        """Whether the server is the reason: it did not answer."""


class StillWanted(IgnoreRequest):
    """The crawl is stopping: the URL goes back to the frontier, so that a resume fetches it."""


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
        case _ if isinstance(error, DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in str(error):
            return 0, "too-large"
        case IgnoreRequest():
            return 0, "ignored"
        case _:
            return 0, f"error-{type(error).__name__}"


def is_silent(error: BaseException) -> bool:
    """Whether a fetch failed with *error* because the server, which has an address, did not answer."""
    status, outcome = reason(error)
    if status or outcome == "host-not-found":
        return False
    return error.silent if isinstance(error, Refused) else outcome.startswith("error-")


pair_found = object()
"""Sent with ``pair`` when both of its documents are fetched; a better pair of one of them may follow."""
url_fetched = object()
"""Sent once for every URL that was asked for, with ``fetch``: a :class:`Fetch`."""

document_read = object()
"""Sent with ``document`` for each :class:`~bilingual_crawler.items.Document` of a spider that yields other items."""

site_judged = object()
"""Sent with ``site``, a :class:`~bilingual_crawler.discovery.sites.JudgedSite`, at each verdict of a discovery."""

sitemaps_named = object()
"""Sent with ``urls``, those of the sitemaps that a robots.txt names."""

page_rendered = object()
"""Sent with ``request`` and ``response`` (HTML in UTF-8) for a page that the browser rendered."""

output_failed = object()
"""Sent with ``error``, an OSError, when an output cannot be written (disk full): nothing may be finished any more."""

FAILED_OUTPUTS = "bilingual/output/failed"
"""The stat that counts outputs that are not written, or not as they should be: the exit code of the command is 1."""

phase_changed = object()
"""Sent with ``phase``, a few words: what a crawl that ends is doing, such as ``stopping, transfers left: 2``."""

stop_now = object()
"""Sent when a crawl that is stopping is told so again: whatever would make it wait is given up."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """What came of asking for a URL; a line of ``crawl.tsv``."""

    time: str
    status: int
    """HTTP status; 0 if there was no answer."""
    url: str
    language: str
    """Language of the content, ISO 639-3; ``un`` if unknown, empty if there is no content to look at."""
    priority: float
    referrer: str
    depth: int
    outcome: str
    """``document``, ``other-language``, ``sitemap``, ``redirect``, or why the URL was dropped."""
    location: str = ""
    """Target of a redirect."""
