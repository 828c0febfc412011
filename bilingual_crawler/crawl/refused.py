"""Requests that are not made, and why."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class Refused(IgnoreRequest):
    """A URL that is not fetched; *outcome* is what ``crawl.tsv`` says about it."""

    def __init__(self, outcome: str, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.status = status
        """Of the answer, if it was fetched after all."""


class StillWanted(IgnoreRequest):
    """The crawl is stopping: the URL goes back to the frontier, so that a resume fetches it."""
