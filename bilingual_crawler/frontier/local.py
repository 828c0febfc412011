"""The frontier of one process, on a store that answers at once."""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar, cast

from bilingual_crawler.frontier.budget import SiteBudget
from bilingual_crawler.frontier.entry import NEVER, SUSPECT, Entry, Push, State
from bilingual_crawler.frontier.frontier import (
    BLOCKED,
    MAX_RECONSIDERED,
    PAGE_BUDGET,
    SITE_BUDGET,
    UNTIL,
    FrontierStore,
    Head,
    Limits,
    SlotState,
    StoreError,
    ignore,
)
from bilingual_crawler.urls.hosts import registered_domain

Offer = tuple[float, int, str]
"""Priority, negated, and discovery order of the best URL of a slot, and the slot."""

SPARE_OFFERS = 1000  # outdated offers, beyond the number of slots, at which the outdated ones are removed
_ALL_SITES = ""
_STATES = {UNTIL: SlotState.LEFT, BLOCKED: SlotState.BLOCKED}
_SUSPECTS = "(suspects)"
"""Name of the heap of suspects, which come after all sites; no host has brackets."""


class Offers:
    """The best URL of each slot that may be fetched now, in a heap for each site (registered domain).

    *budget* decides which site has the next turn; without one, the best of all offers is next. An offer in a heap is
    outdated if it is not the last one of its slot; the first one of a heap never is.
    """

    def __init__(self, budget: SiteBudget | None = None) -> None:
        self._budget = budget
        self._heaps: dict[str, list[Offer]] = {}
        self._current: dict[str, Offer] = {}
        self._held = 0

    def __len__(self) -> int:
        return self._held

    def set(self, head: Head) -> None:
        offer = (-head.priority, head.order, head.slot)
        if self._current.get(head.slot) == offer:
            return
        self.withdraw(head.slot)
        self._current[head.slot] = offer
        name = self._name(offer)
        heappush(self._heaps.setdefault(name, []), offer)
        self._offer_to_budget(name)
        self._held += 1
        if self._held > 2 * len(self._current) + SPARE_OFFERS:
            for heap in self._heaps.values():
                heap[:] = [offer for offer in heap if not self._is_outdated(offer)]
                heapify(heap)
            self._held = len(self._current)

    def withdraw(self, slot: str) -> None:
        offer = self._current.pop(slot, None)
        if offer is None:
            return
        name = self._name(offer)
        heap = self._heaps[name]
        while heap and self._is_outdated(heap[0]):
            heappop(heap)
            self._held -= 1
        if not heap:
            del self._heaps[name]
        self._offer_to_budget(name)

    def take(self) -> Iterator[Offer]:
        """Withdraw the next offers, one by one. The turn of a site lasts until its slots have no offers."""
        while self._heaps:
            name = _ALL_SITES if self._budget is None else self._budget.choose() or _SUSPECTS
            while heap := self._heaps.get(name):
                offer = heap[0]
                self.withdraw(offer[-1])
                yield offer

    def leads(self, entry: Entry) -> bool:
        """Whether *entry* comes before the offer of its slot."""
        current = self._current.get(entry.slot)
        return current is None or entry.priority >= -current[0]

    def _offer_to_budget(self, name: str) -> None:
        if self._budget is not None and name != _SUSPECTS:
            heap = self._heaps.get(name)
            self._budget.offer(name, -heap[0][0] if heap else None)

    def _name(self, offer: Offer) -> str:
        if self._budget is None:
            return _ALL_SITES
        return _SUSPECTS if offer[0] == -SUSPECT else registered_domain(offer[-1])

    def _is_outdated(self, offer: Offer) -> bool:
        return self._current.get(offer[-1]) != offer


Method = TypeVar("Method", bound="Callable[..., Any]")


def _unless_frozen(method: Method) -> Method:
    """Freeze the frontier when its store fails; further calls do not reach the store, and return None."""

    @functools.wraps(method)
    def call(frontier: "LocalFrontier", /, *args: Any, **kwargs: Any) -> Any:
        try:
            return None if frontier._frozen else method(frontier, *args, **kwargs)
        except StoreError as error:
            frontier.freeze()
            frontier._failed(error)
            return None

    return cast("Method", call)


class LocalFrontier:
    """A :class:`~bilingual_crawler.frontier.frontier.Frontier` on a store that answers at once."""

    def __init__(
        self,
        store: FrontierStore,
        limits: Limits,
        clock: Callable[[], float],
        reconsider: Callable[[str, float], float] | None = None,
        failed: Callable[[StoreError], None] = ignore,
        budget: SiteBudget | None = None,
    ) -> None:
        """*reconsider* returns the current priority of the next URL; if it fell, another URL may go first. *failed* is
        called once, when the store fails and the frontier freezes. *budget* chooses the next site.
        """
        self.store = store
        self._reconsider = reconsider
        self._limits = limits
        self._clock = clock
        self._failed = failed
        self._frozen = False
        self._remaining = 0
        self._handed_out: set[str] = set()
        self._in_flight: Counter[str] = Counter()
        self._suspect_in_flight = False
        self._servers: dict[str, str] = {}
        self._held_up: defaultdict[str, set[str]] = defaultdict(set)
        self._resting: dict[str, float] = {}
        self._closed_for: dict[str, str] = {}
        self._leaving: set[str] = set()
        self._offers = Offers(budget)
        self.slot_states: dict[str, SlotState] = {}
        self.offer(store.slots())

    @_unless_frozen
    def push(self, entries: Sequence[Entry], on_done: Callable[[list[Push]], None] = ignore) -> None:
        outcomes = self.store.push(entries)
        changed = (entry for entry, outcome in zip(entries, outcomes, strict=True) if outcome is not Push.IGNORED)
        self.offer(dict.fromkeys(entry.slot for entry in changed if self._offers.leads(entry)))
        on_done(outcomes)

    @_unless_frozen
    def rescore(self, priorities: Mapping[str, float]) -> None:
        if priorities:
            self.offer(sorted(self.store.rescore(priorities)))

    @_unless_frozen
    def pop(self) -> Entry | None:
        limit = self._limits.in_flight
        if self._suspect_in_flight or self._spent() or (limit and self._in_flight.total() >= limit):
            return None
        if self._resting:
            now = self._clock()
            for slot in [slot for slot, until in self._resting.items() if until <= now]:
                del self._resting[slot]
                self.offer((slot,))
        tries = MAX_RECONSIDERED if self._reconsider else 0
        for negated, _, slot in self._offers.take():
            if not self._open(slot):
                self.offer((slot,))
                continue
            if tries and self._fell(slot):
                tries -= 1
                self.offer((slot,))
                continue
            if negated == -SUSPECT and self._in_flight:
                self.offer((slot,))
                return None
            if entry := self.store.pop(slot):
                self._suspect_in_flight = entry.priority == SUSPECT
                self._handed_out.add(entry.url)
                self._in_flight[slot] += 1
                self.offer((slot,))
                return entry
        return None

    @_unless_frozen
    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        if entry.url in self._handed_out:
            self.store.finish(entry.url, state)
            self._release(entry)

    @_unless_frozen
    def redirect(self, entry: Entry, target: Entry, on_done: Callable[[bool], None] = ignore) -> None:
        if entry.url not in self._handed_out:
            return
        wanted = self.store.redirect(entry.url, target)
        self._release(entry)
        if wanted:
            self.offer((target.slot,))
        on_done(wanted)

    @_unless_frozen
    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        if entry.url in self._handed_out:
            self.store.requeue(entry.url, failed=failed)
            until = self._clock() + rest
            self._resting[entry.slot] = max(until, self._resting.get(entry.slot, until))
            self._release(entry)

    @_unless_frozen
    def put_back(self, entry: Entry, priority: float, *, failed: bool = False) -> None:
        if entry.url in self._handed_out:
            self.store.requeue(entry.url, failed=failed)
            self.store.rescore({entry.url: priority})
            self._release(entry)

    def freeze(self) -> None:
        self._frozen = True

    @_unless_frozen
    def remember(self, entry: Entry, fact: bytes) -> None:
        self.store.remember(entry.slot, entry.url, fact)

    @_unless_frozen
    def add(self, numbers: Mapping[str, int], on_done: Callable[[dict[str, int]], None] = ignore) -> None:
        on_done(self.store.add(numbers))

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL; all URLs of a frozen frontier count as done."""
        return [State.DONE] * len(urls) if self._frozen else self.store.states(urls)

    def server(self, slot: str) -> str:
        return self._servers.get(slot, slot)

    @_unless_frozen
    def share_server(self, slot: str, server: str) -> None:
        """Have the slots on one *server* share the limit of requests in flight."""
        before = self.server(slot)
        self._servers[slot] = server
        self.offer(self._held_up.pop(before, ()))

    def close(self, slot: str, reason: str = SITE_BUDGET) -> bool:
        closed = slot in self._closed_for
        self._closed_for.setdefault(slot, reason)
        return not closed

    def reopen(self, slot: str) -> None:
        self._closed_for.pop(slot, None)
        self.offer((slot,))

    @property
    def remaining(self) -> int:
        if not self._frozen:
            self._remaining = self.store.count(State.QUEUED) + self.store.count(State.IN_FLIGHT)
        return self._remaining

    @property
    def rests(self) -> Mapping[str, float]:
        now = self._clock()
        return {slot: until - now for slot, until in [*self._resting.items()] if until > now}

    def has_pending(self) -> bool:
        return not self._frozen and (bool(self._in_flight) or (not self._spent() and bool(self.open_slots())))

    @property
    def spent(self) -> str:
        if self._frozen:
            return ""
        queued = self._queued_slots()
        if queued and self._spent():
            return PAGE_BUDGET
        reasons = {self._closed_for.get(slot, SITE_BUDGET) for slot in queued if self._slot_spent(slot)}
        return next((reason for reason in (BLOCKED, SITE_BUDGET, UNTIL) if reason in reasons), "")

    def hurry(self) -> None:
        """Does nothing: the store answers at once."""

    async def leave(self) -> None:
        self.sum_up()
        self.freeze()
        self.store.close()

    def sum_up(self) -> None:
        """Keep the final counts for the summary, which is written after the store is closed."""
        with suppress(StoreError):
            self._remaining = self.remaining
            self.slot_states = dict.fromkeys(self.store.slots(), SlotState.FINISHED)
            for slot in self._queued_slots():
                spent = _STATES.get(self._closed_for.get(slot, ""), SlotState.SPENT)
                self.slot_states[slot] = spent if self._slot_spent(slot) else SlotState.OPEN

    def open_slots(self) -> list[str]:
        return [slot for slot in self._queued_slots() if not self._slot_spent(slot)]

    def _queued_slots(self) -> list[str]:
        return [slot for slot in self.store.slots() if (head := self.store.head(slot)) and head.priority != NEVER]

    def hand_over(self, count: int) -> list[str]:
        """Choose *count* slots for other workers; return those without a URL in flight. The others follow later."""
        staying = [slot for slot in self.open_slots() if slot not in self._leaving and slot not in self._resting]
        staying.sort(key=self._in_flight.__getitem__)
        self._leaving.update(staying[: max(0, count - len(self._leaving))])
        back = set(list(self._leaving)[count:])
        released = {slot for slot in self._leaving - back if not self._in_flight[slot]}
        self._leaving -= back | released
        self.offer(back)
        return list(released)

    def _fell(self, slot: str) -> bool:
        """Update the priority of the best URL of *slot*; return whether it fell."""
        entry = self.store.peek(slot)
        assert self._reconsider
        assert entry is not None
        priority = self._reconsider(entry.url, entry.priority)
        if priority >= entry.priority:
            return False
        self.store.rescore({entry.url: priority})
        return True

    def offer(self, slots: Iterable[str]) -> None:
        """Update the offers of *slots*, whose best URLs may have changed."""
        for slot in slots:
            head = self.store.head(slot) if self._open(slot) else None
            if head is None or head.priority == NEVER:
                self._offers.withdraw(slot)
                if self._server_busy(slot):
                    self._held_up[self.server(slot)].add(slot)
                continue
            self._offers.set(head)

    def _release(self, entry: Entry) -> None:
        self._handed_out.discard(entry.url)
        self._suspect_in_flight = False
        self._in_flight[entry.slot] -= 1
        if not self._in_flight[entry.slot]:
            del self._in_flight[entry.slot]
        self.offer((entry.slot, *sorted(self._held_up.pop(self.server(entry.slot), ()))))

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
        return slot in self._closed_for or (bool(limit) and self.store.done_in(slot) + self._in_flight[slot] >= limit)

    def _spent(self) -> bool:
        limit = self._limits.pages
        return bool(limit) and self.store.count(State.DONE) + self._in_flight.total() >= limit
