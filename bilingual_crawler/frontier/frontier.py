"""The protocol of a frontier: which URL comes next, and the outcome of each URL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from bilingual_crawler.frontier.entry import Entry, Push, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_RECONSIDERED = 32
"""URLs whose priority may fall in one call before the next URL is handed out in any case."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of what is handed out; 0 is no limit."""

    per_slot: int = 2
    """Requests in flight of one slot, or of the slots on one server. Two keep a polite host busy: one transfers while
    the other waits for its delay."""
    in_flight: int = 16
    pages: int = 0
    pages_per_slot: int = 0


class SlotState(StrEnum):
    """What is left of a slot at the end of a crawl, the most first."""

    OPEN = "open"
    """URLs that may be fetched."""
    SPENT = "spent"
    """URLs, but its own budget is spent."""
    FINISHED = "finished"
    """Nothing."""


def ignore(_: object) -> None:
    """Ignores the outcome of a call."""


class Frontier(Protocol):
    """Hands out the best URL of a slot that may be asked now.

    The order is by priority, then by discovery, among slots with free capacity that are not paused. A URL is handed out
    once: it is in flight until :meth:`finish`, :meth:`redirect` or :meth:`retry`. A push raises a queued URL or leaves
    it unchanged. When the store fails, the frontier freezes and every call does nothing.

    URLs in flight survive a crash if the store is durable. They may have caused the crash. Such a
    :data:`~bilingual_crawler.frontier.entry.SUSPECT` is handed out only while no other URL is in flight.

    A method with the argument *told* calls it in the event loop when the outcome is known, which may be after its
    return.
    """

    @property
    def left(self) -> int:
        """URLs that are queued or in flight."""

    @property
    def slot_states(self) -> Mapping[str, SlotState]:
        """The states of the slots of this process, after :meth:`leave`; empty before."""

    @property
    def rests(self) -> Mapping[str, float]:
        """The slots that are paused, with the seconds that are left."""

    @property
    def spent(self) -> str:
        """The budget for which queued URLs are not handed out, when nothing is pending; empty if nothing is left.

        ``page_budget`` is that of the crawl, ``site_budget`` that of one or more slots.
        """

    def push(self, entries: Sequence[Entry], told: Callable[[list[Push]], None] = ignore) -> None:
        """Queue or raise *entries* in one transaction. *told* gets the outcome of each."""

    def rescore(self, priorities: Mapping[str, float]) -> None:
        """Set new priorities, up or down, for those of the URLs that are queued."""

    def pop(self) -> Entry | None:
        """The best URL that may be fetched now, or None."""

    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        """*entry* needs no further fetch: it was processed, failed finally, or was refused. Idempotent."""

    def redirect(self, entry: Entry, target: Entry, told: Callable[[bool], None] = ignore) -> None:
        """Queue *target* with the priority and order of *entry*. *told* gets false if *target* is known already."""

    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        """Queue *entry* again and pause its slot for *rest* seconds. An attempt counts if it *failed*."""

    def put_back(self, entry: Entry, priority: float, *, failed: bool = False) -> None:
        """Queue *entry* again with another *priority*, without a pause. An attempt counts if it *failed*."""

    def remember(self, entry: Entry, fact: bytes) -> None:
        """Store the fact learnt from *entry*."""

    def add(self, numbers: Mapping[str, int], told: Callable[[dict[str, int]], None] = ignore) -> None:
        """Add to the numbers of these names, which all runs and workers of the crawl share. *told* gets the sums."""

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones."""

    def server(self, slot: str) -> str:
        """The unit of the limit of requests in flight: the slot itself, or the server that it shares with others."""

    def close(self, slot: str) -> bool:
        """Hand out no more URLs of *slot*; false if it was closed before."""

    def has_pending(self) -> bool:
        """Whether a URL is in flight or may still be handed out."""

    def freeze(self) -> None:
        """Ignore all further calls. URLs in flight stay in flight, and the next run fetches them again."""

    def hurry(self) -> None:
        """The crawl is stopping: wait only a few more seconds for a store that does not answer."""

    async def leave(self) -> None:
        """The process ends: close the store."""
