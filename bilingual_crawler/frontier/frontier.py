"""Best-first hand-out of URLs among the slots that may be asked now."""

from __future__ import annotations

import functools
import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from bilingual_crawler.frontier.entry import NEVER, SUSPECT, Entry, Push, State
from bilingual_crawler.frontier.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bilingual_crawler.frontier.store import FrontierStore


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MAX_RECONSIDERED = 32
"""URLs that may fall back before one is handed out all the same."""

SPARE_OFFERS = 1000
"""Offers that may be out of date in the heap, beside as many as there are slots, before they are thrown out."""


def ignore(_: object) -> None:
    """Told by default."""


def _unless_frozen(
    method: Callable[Concatenate[Frontier, Arguments], Result],
) -> Callable[Concatenate[Frontier, Arguments], Result | None]:
    """The frontier freezes when its store fails, and is not asked again."""

    @functools.wraps(method)
    def call(frontier: Frontier, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result | None:
        if frontier._frozen:
            return None
        try:
            return method(frontier, *args, **kwargs)
        except StoreError as error:
            frontier.freeze()
            frontier._failed(error)
            return None

    return call


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be handed out; 0 means no limit."""

    per_slot: int = 2
    """Requests of one slot, or of the slots on one server, in flight. Two keep a polite host busy: one transfers while one waits out its delay."""
    in_flight: int = 16
    pages: int = 0
    pages_per_slot: int = 0


class Frontier:
    """Hands out the best URL of a slot that may be asked now.

    Order: highest priority, then first discovered, among slots with free capacity that are not backing off. A URL is
    handed out once: it stays in flight until :meth:`finish`, :meth:`redirect` or :meth:`retry`. Raise-only: pushing a
    known URL can raise a queued one and never anything else. What is handed out survives a crash if the store does;
    what may have caused it, a :data:`~bilingual_crawler.frontier.entry.SUSPECT`, is then handed out while nothing else
    is in flight, so that no other URL dies with it again.
    """

    def __init__(
        self,
        store: FrontierStore,
        limits: Limits,
        clock: Callable[[], float],
        reconsider: Callable[[str, float], float] | None = None,
        failed: Callable[[StoreError], None] = ignore,
    ) -> None:
        """*reconsider* gives a URL whose turn has come its priority of now; if that is lower, another may go first.

        *failed* is told once when the store cannot go on; the frontier is frozen then.
        """
        self.store = store
        self._reconsider = reconsider
        self._limits = limits
        self._clock = clock
        self._failed = failed
        self._frozen = False
        self._flying: set[str] = set()
        self._in_flight: Counter[str] = Counter()
        self._alone = False
        """Whether a suspect is in flight."""
        self._servers: dict[str, str] = {}
        self._held_up: defaultdict[str, set[str]] = defaultdict(set)
        self._resting: dict[str, float] = {}
        self._closed: set[str] = set()
        self._leaving: set[str] = set()
        self._heap: list[tuple[float, int, str]] = []
        self._offered: dict[str, tuple[float, int, str]] = {}
        self.offer(head.slot for head in store.heads())

    @_unless_frozen
    def push(self, entries: Sequence[Entry], told: Callable[[list[Push]], None] = ignore) -> None:
        """Queue or raise *entries* in one transaction; *told* gets the outcome for each."""
        outcomes = self.store.push(entries)
        changed = (entry for entry, outcome in zip(entries, outcomes, strict=True) if outcome is not Push.IGNORED)
        self.offer({entry.slot for entry in changed if self._leads(entry)})
        told(outcomes)

    @_unless_frozen
    def rescore(self, priorities: Mapping[str, float]) -> None:
        """Set new priorities for those of the URLs that are queued, up or down."""
        if priorities:
            self.offer(self.store.rescore(priorities))

    @_unless_frozen
    def pop(self) -> Entry | None:
        """The best URL that may be fetched now, or None."""
        if self._full():
            return None
        if self._resting:
            self._wake()
        tries = MAX_RECONSIDERED if self._reconsider else 0
        while self._heap:
            offer = heapq.heappop(self._heap)
            slot = offer[2]
            if self._offered.get(slot) != offer:
                continue
            del self._offered[slot]
            if not self._open(slot):
                self.offer((slot,))
                continue
            if tries and self._fell(slot):
                tries -= 1
                self.offer((slot,))
                continue
            if offer[0] == -SUSPECT and self._in_flight:
                self.offer((slot,))
                return None
            entry = self.store.pop(slot)
            if entry is None:
                continue
            self._alone = entry.priority == SUSPECT
            self._flying.add(entry.url)
            self._in_flight[slot] += 1
            self.offer((slot,))
            return entry
        return None

    @_unless_frozen
    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        """*entry* needs no further fetch: processed, failed for good, or refused. Saying so twice is harmless."""
        if entry.url in self._flying:
            self.store.finish(entry.url, state)
            self._release(entry)

    @_unless_frozen
    def redirect(self, entry: Entry, target: Entry, told: Callable[[bool], None] = ignore) -> None:
        """*target* takes the place of *entry* in the queue; *told* gets false if it is known already."""
        if entry.url not in self._flying:
            return
        wanted = self.store.redirect(entry.url, target)
        self._release(entry)
        if wanted:
            self.offer((target.slot,))
        told(wanted)

    @_unless_frozen
    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        """Queue *entry* again and leave its slot alone for *rest* seconds; no attempt is lost unless it *failed*."""
        if entry.url in self._flying:
            self.store.requeue(entry.url, failed=failed)
            until = self._clock() + rest
            self._resting[entry.slot] = max(until, self._resting.get(entry.slot, until))
            self._release(entry)

    @_unless_frozen
    def put_back(self, entry: Entry, priority: float) -> None:
        """*entry* was not asked for and is worth less than it was: queue it again at its new place."""
        self.store.requeue(entry.url, failed=False)
        self.store.rescore({entry.url: priority})
        self._release(entry)

    def freeze(self) -> None:
        """Do nothing any more: what is in flight stays so, and is fetched again by the next run."""
        self._frozen = True

    @_unless_frozen
    def remember(self, entry: Entry, fact: bytes) -> None:
        """Keep what fetching *entry* taught."""
        self.store.remember(entry.slot, entry.url, fact)

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones; a frozen frontier has no use for any."""
        return [State.DONE] * len(urls) if self._frozen else self.store.states(urls)

    def server(self, slot: str) -> str:
        """What has the limit of requests in flight: the slot itself, unless it was said to share one."""
        return self._servers.get(slot, slot)

    @_unless_frozen
    def share_server(self, slot: str, server: str) -> None:
        """From now on the requests of all slots on *server* count together."""
        before = self.server(slot)
        self._servers[slot] = server
        self.offer(self._held_up.pop(before, ()))

    def close(self, slot: str) -> bool:
        """Hand out nothing of *slot* any more; false if that was so already."""
        closed = slot in self._closed
        self._closed.add(slot)
        return not closed

    @property
    def left(self) -> int:
        """URLs that are queued or in flight."""
        return self.store.count(State.QUEUED) + self.store.count(State.IN_FLIGHT)

    def has_pending(self) -> bool:
        """Whether anything is in flight or may still be handed out."""
        if self._frozen:
            return False
        if self._in_flight.total():
            return True
        if self._spent():
            return False
        return bool(self.open_slots())

    async def leave(self) -> None:
        """Close the store."""
        self.store.close()

    def open_slots(self) -> list[str]:
        """Slots with something to hand out, now or later."""
        return [h.slot for h in self.store.heads() if h.priority != NEVER and not self._slot_spent(h.slot)]

    def hand_over(self, count: int) -> list[str]:
        """Those of *count* slots chosen to leave this process of which nothing is in flight; the rest is asked no more."""
        staying = [slot for slot in self.open_slots() if slot not in self._leaving and slot not in self._resting]
        staying.sort(key=self._in_flight.__getitem__)
        self._leaving.update(staying[: max(0, count - len(self._leaving))])
        back = set(list(self._leaving)[count:])
        gone = {slot for slot in self._leaving - back if not self._in_flight[slot]}
        self._leaving -= back | gone
        self.offer(back)
        return list(gone)

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

    def offer(self, slots: Iterable[str]) -> None:
        """The best URLs of *slots* may have changed."""
        for slot in slots:
            head = self.store.head(slot) if self._open(slot) else None
            if head is None or head.priority == NEVER:
                self._offered.pop(slot, None)
                if self._server_busy(slot):
                    self._held_up[self.server(slot)].add(slot)
                continue
            offer = (-head.priority, head.order, slot)
            if self._offered.get(slot) != offer:
                self._offered[slot] = offer
                heapq.heappush(self._heap, offer)
        if len(self._heap) > 2 * len(self._offered) + SPARE_OFFERS:
            self._heap = list(self._offered.values())
            heapq.heapify(self._heap)

    def _leads(self, entry: Entry) -> bool:
        """Whether *entry* may go before what its slot has on offer."""
        offered = self._offered.get(entry.slot)
        return offered is None or entry.priority >= -offered[0]

    def _release(self, entry: Entry) -> None:
        self._flying.discard(entry.url)
        self._alone = False
        self._in_flight[entry.slot] -= 1
        if not self._in_flight[entry.slot]:
            del self._in_flight[entry.slot]
        self.offer({entry.slot, *self._held_up.pop(self.server(entry.slot), ())})

    def _wake(self) -> None:
        now = self._clock()
        for slot in [slot for slot, until in self._resting.items() if until <= now]:
            del self._resting[slot]
            self.offer((slot,))

    def _open(self, slot: str) -> bool:
        return not (slot in self._resting or slot in self._leaving or self._server_busy(slot) or self._slot_spent(slot))

    def _server_busy(self, slot: str) -> bool:
        limit = self._limits.per_slot
        if not limit:
            return False
        if not self._servers:
            return self._in_flight.get(slot, 0) >= limit
        server = self.server(slot)
        return sum(count for other, count in self._in_flight.items() if self.server(other) == server) >= limit

    def _slot_spent(self, slot: str) -> bool:
        limit = self._limits.pages_per_slot
        return slot in self._closed or (bool(limit) and self.store.done_in(slot) + self._in_flight[slot] >= limit)

    def _full(self) -> bool:
        return (
            self._alone
            or self._spent()
            or (bool(self._limits.in_flight) and self._in_flight.total() >= self._limits.in_flight)
        )

    def _spent(self) -> bool:
        limit = self._limits.pages
        return bool(limit) and self.store.count(State.DONE) + self._in_flight.total() >= limit
