"""Why a URL gave no page."""

from __future__ import annotations

from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, IgnoreRequest, StopDownload
from scrapy.spidermiddlewares.httperror import HttpError


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
