"""Best-first hand-out of URLs among the slots that may be asked now."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilingual_crawler.frontier.entry import Entry, Push, State
from bilingual_crawler.frontier.policies.base import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bilingual_crawler.frontier.store import FrontierStore


MAX_RECONSIDERED = 32
"""URLs that may fall back before one is handed out all the same."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be handed out; 0 means no limit."""

    per_slot: int = 2
    """Requests of one slot in flight. Two keep a polite host busy: one transfers while one waits out its delay."""
    in_flight: int = 16
    pages: int = 0
    pages_per_slot: int = 0


class Frontier:
    """Hands out the best URL of a slot that may be asked now.

    Order: highest priority, then first discovered, among slots with free capacity that are not backing off. A URL is
    handed out once: it stays in flight until :meth:`finish`, :meth:`redirect` or :meth:`retry`. Raise-only: pushing a
    known URL can raise a queued one and never anything else. What is handed out survives a crash if the store does.
    """

    def __init__(
        self,
        store: FrontierStore,
        limits: Limits,
        clock: Callable[[], float],
        reconsider: Callable[[str, float], float] | None = None,
    ) -> None:
        """*reconsider* gives a URL whose turn has come its priority of now; if that is lower, another may go first."""
        self.store = store
        self._reconsider = reconsider
        self._limits = limits
        self._clock = clock
        self._in_flight: Counter[str] = Counter()
        self._resting: dict[str, float] = {}
        self._closed: set[str] = set()
        self._heap: list[tuple[float, int, str]] = []
        self._offered: dict[str, tuple[float, int, str]] = {}
        self._offer(head.slot for head in store.heads())

    def push(self, entries: Sequence[Entry]) -> list[Push]:
        outcomes = self.store.push(entries)
        self._offer({e.slot for e, outcome in zip(entries, outcomes, strict=True) if outcome is not Push.IGNORED})
        return outcomes

    def rescore(self, priorities: Mapping[str, float]) -> None:
        """Set new priorities for those of the URLs that are queued, up or down."""
        if priorities:
            self._offer(self.store.rescore(priorities))

    def pop(self) -> Entry | None:
        """The best URL that may be fetched now, or None."""
        if self._full():
            return None
        self._wake()
        tries = MAX_RECONSIDERED if self._reconsider else 0
        while self._heap:
            offer = heapq.heappop(self._heap)
            slot = offer[2]
            if self._offered.get(slot) != offer:
                continue
            del self._offered[slot]
            if not self._open(slot):
                continue
            if tries and self._fell(slot):
                tries -= 1
                self._offer((slot,))
                continue
            entry = self.store.pop(slot)
            assert entry is not None
            self._in_flight[slot] += 1
            self._offer((slot,))
            return entry
        return None

    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        """*entry* needs no further fetch: processed, failed for good, or refused. Saying so twice is harmless."""
        if self.store.finish(entry.url, state):
            self._release(entry.slot)

    def redirect(self, entry: Entry, target: Entry) -> bool:
        """*target* takes the place of *entry* in the queue; false if it is known already."""
        wanted = self.store.redirect(entry.url, target)
        self._release(entry.slot)
        if wanted:
            self._offer((target.slot,))
        return wanted

    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        """Queue *entry* again and leave its slot alone for *rest* seconds; no attempt is lost unless it *failed*."""
        if self.store.requeue(entry.url, failed=failed):
            until = self._clock() + rest
            self._resting[entry.slot] = max(until, self._resting.get(entry.slot, until))
            self._release(entry.slot)

    def close(self, slot: str) -> bool:
        """Hand out nothing of *slot* any more; false if that was so already."""
        closed = slot in self._closed
        self._closed.add(slot)
        return not closed

    def has_pending(self) -> bool:
        """Whether anything is in flight or may still be handed out."""
        if self._in_flight.total():
            return True
        if self._spent():
            return False
        return any(head.priority != NEVER and not self._slot_spent(head.slot) for head in self.store.heads())

    def _fell(self, slot: str) -> bool:
        """Whether the best of *slot* is worth less than when it was queued; then it has gone back to its place."""
        entry = self.store.peek(slot)
        assert self._reconsider
        assert entry is not None
        priority = self._reconsider(entry.url, entry.priority)
        if priority >= entry.priority:
            return False
        self.store.rescore({entry.url: priority})
        return True

    def _offer(self, slots: Iterable[str]) -> None:
        for slot in slots:
            head = self.store.head(slot) if self._open(slot) else None
            if head is None or head.priority == NEVER:
                continue
            offer = (-head.priority, head.order, slot)
            if self._offered.get(slot) != offer:
                self._offered[slot] = offer
                heapq.heappush(self._heap, offer)

    def _release(self, slot: str) -> None:
        self._in_flight[slot] -= 1
        if not self._in_flight[slot]:
            del self._in_flight[slot]
        self._offer((slot,))

    def _wake(self) -> None:
        now = self._clock()
        for slot in [slot for slot, until in self._resting.items() if until <= now]:
            del self._resting[slot]
            self._offer((slot,))

    def _open(self, slot: str) -> bool:
        return (
            slot not in self._resting
            and self._in_flight[slot] < (self._limits.per_slot or math.inf)
            and not self._slot_spent(slot)
        )

    def _slot_spent(self, slot: str) -> bool:
        limit = self._limits.pages_per_slot
        return slot in self._closed or (bool(limit) and self.store.done_in(slot) + self._in_flight[slot] >= limit)

    def _full(self) -> bool:
        return self._spent() or (bool(self._limits.in_flight) and self._in_flight.total() >= self._limits.in_flight)

    def _spent(self) -> bool:
        limit = self._limits.pages
        return bool(limit) and self.store.count(State.DONE) + self._in_flight.total() >= limit
