"""What the frontier knows about one URL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class State(IntEnum):
    """Life of a URL in the frontier; it only ever moves forward, except that a retry or a resume re-queues it."""

    QUEUED = 0
    IN_FLIGHT = 1
    DONE = 2
    REDIRECTED = 3
    """Answered by a redirect: its target took its place."""
    REFUSED = 4
    """Known and never to be fetched; not counted as a page of any budget."""


NEVER = float("-inf")
"""Priority of a URL that is known and not to be fetched."""
SUSPECT = -1e300
"""Priority of a URL that was in flight when the process died: it goes last, and alone."""
POISON = 1e300
"""Priority of a URL that was in flight at two deaths: its turn comes at once, to be refused."""
FIXED = (SUSPECT, POISON)
"""Priorities that nothing changes but a death."""


def after_death(priority: float) -> float:
    """The priority of a URL that was in flight when the process died."""
    return POISON if priority in FIXED else SUSPECT


class Push(StrEnum):
    """What a push did."""

    NEW = "new"
    RAISED = "raised"
    IGNORED = "ignored"


class Kind(StrEnum):
    PAGE = "page"
    SITEMAP = "sitemap"


@dataclass(slots=True)
class Entry:
    """A URL with its place in the queue."""

    url: str
    slot: str
    """Politeness slot: requests of one slot share delays and limits."""
    priority: float
    """Any float; higher is sooner."""
    parent: str = ""
    """URL of the page whose link gave the best priority; empty for seeds."""
    depth: int = 0
    """Links from a seed, on the shortest way seen while it was queued."""
    kind: Kind = Kind.PAGE
    order: int = 0
    """Discovery order; the tie-break between equal priorities. Given by the store."""
    attempts: int = 0
    """Failed fetches so far."""
    redirects: int = 0
    """Redirects that led here from the URL that was first asked for."""
    state: State = State.QUEUED
