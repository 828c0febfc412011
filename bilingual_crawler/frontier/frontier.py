"""What a scheduler needs of a frontier: which URL next, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bilingual_crawler.frontier.entry import Entry, Push, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_RECONSIDERED = 32
"""URLs that may fall back before one is handed out all the same."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be handed out; 0 means no limit."""

    per_slot: int = 2
    """Requests of one slot, or of the slots on one server, in flight. Two keep a polite host busy: while one transfers,
    the other waits out its delay."""
    in_flight: int = 16
    pages: int = 0
    pages_per_slot: int = 0


def ignore(_: object) -> None:
    """The caller does not want the outcome."""


class Frontier(Protocol):
    """Hands out the best URL of a slot that may be asked now.

    Order: highest priority, then first discovered, among slots with free capacity that are not resting. A URL is handed
    out once: it stays in flight until :meth:`finish`, :meth:`redirect` or :meth:`retry`. A push raises a known URL or
    leaves it alone. When the store fails, the frontier freezes and every call does nothing.

    What is handed out survives a crash if the store does. What may have caused it, a
    :data:`~bilingual_crawler.frontier.entry.SUSPECT`, is handed out when nothing else is in flight, so that no other
    URL dies with it again.

    A method that takes *told* calls it in the event loop when the outcome is known, perhaps after it has returned.
    """

    @property
    def left(self) -> int:
        """URLs that are queued or in flight."""

    def push(self, entries: Sequence[Entry], told: Callable[[list[Push]], None] = ignore) -> None:
        """Queue or raise *entries* in one transaction; *told* gets the outcome of each."""

    def rescore(self, priorities: Mapping[str, float]) -> None:
        """Set new priorities, up or down, for those of the URLs that are queued."""

    def pop(self) -> Entry | None:
        """The best URL that may be fetched now, or None."""

    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        """*entry* needs no further fetch: processed, failed for good, or refused. Saying so twice is harmless."""

    def redirect(self, entry: Entry, target: Entry, told: Callable[[bool], None] = ignore) -> None:
        """*target* is queued with the priority and order of *entry*; *told* gets false if it is known already."""

    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        """Queue *entry* again and let its slot rest for *rest* seconds; an attempt is counted if it *failed*."""

    def remember(self, entry: Entry, fact: bytes) -> None:
        """Keep what fetching *entry* taught."""

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones."""

    def server(self, slot: str) -> str:
        """What the limit of requests in flight is counted by: the slot itself, or what it shares with others."""

    def close(self, slot: str) -> bool:
        """Hand out nothing of *slot* any more; false if it was closed before."""

    def has_pending(self) -> bool:
        """Whether anything is in flight or may still be handed out."""

    def freeze(self) -> None:
        """Do nothing any more: what is in flight stays so, and is fetched again by the next run."""

    async def leave(self) -> None:
        """The process ends: close the store."""
