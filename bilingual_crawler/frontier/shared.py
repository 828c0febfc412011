"""The frontier of one worker among several, on a store that they share."""

import asyncio
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Protocol

from bilingual_crawler.frontier.budget import SiteBudget
from bilingual_crawler.frontier.entry import Entry, Push, State
from bilingual_crawler.frontier.frontier import (
    MAX_RECONSIDERED,
    SITE_BUDGET,
    Limits,
    SharedStore,
    SlotState,
    StoreError,
    batched,
    ignore,
)
from bilingual_crawler.frontier.local import LocalFrontier

HEARTBEAT_SECONDS = 0.5
BUSY_SECONDS = 120.0  # maximum seconds of the event loop for one page, before the heartbeat of the worker stops
LEAVE_SECONDS = 10.0
"""Seconds that a worker waits for the store when it stops, and at its end; after that its leases expire."""
LEARNT_AT_ONCE = 1000  # facts or queued URLs of a gained slot that the event loop learns in one step

Known = tuple["Sequence[tuple[str, bytes]]", "Sequence[str]"]
"""A part of the facts, or of the queued URLs, of a slot."""


class Worker(Protocol):
    """The process that a shared frontier belongs to; its methods are called in the event loop."""

    def reconsider(self, url: str, priority: float) -> float:
        """The current priority of the next URL; if it fell, the URL goes back."""

    def gained(self, learnt: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
        """Learn a part of the facts, or of the queued URLs, of a gained slot."""

    def wake(self) -> None:
        """A URL may be fetched, or the crawl is over."""

    def stop(self, error: StoreError) -> None:
        """The store has failed."""


class SharedFrontier:
    """A :class:`~bilingual_crawler.frontier.frontier.Frontier` on a store that several workers share.

    All calls go in order to one thread with a :class:`LocalFrontier`, so the event loop never waits for the network.
    While the store does not answer, no URL is handed out and no call is lost. After each call the thread takes the URLs
    that may be fetched now, and :meth:`pop` hands them out. The limits hold for the taken URLs, so no URL is taken much
    too early. A second thread sends the heartbeat while the event loop is busy.
    """

    def __init__(
        self,
        store: SharedStore,
        limits: Limits,
        clock: Callable[[], float],
        worker: Worker,
        budget: SiteBudget | None = None,
    ) -> None:
        self.store = store
        self._worker = worker
        self._frontier = LocalFrontier(store, limits, clock, failed=self._failed, budget=budget)
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self._ready: deque[Entry] = deque()
        self._calls = 0
        self._fallen = 0
        self._over = False
        self._frozen = False
        self._closed: set[str] = set()
        self._open: Sequence[str] = ()
        self.remaining = 0
        """URLs of all workers, queued or in flight, at the last heartbeat."""
        self.spent = ""
        self._turn()
        self._leaving = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def push(self, entries: Sequence[Entry], on_done: Callable[[list[Push]], None] = ignore) -> None:
        self._do(self._frontier.push, entries, self._in_loop(on_done))

    def rescore(self, priorities: Mapping[str, float]) -> None:
        if priorities:
            self._do(self._frontier.rescore, priorities)

    def pop(self) -> Entry | None:
        while self._ready and not self._frozen:
            entry = self._ready.popleft()
            priority = self._worker.reconsider(entry.url, entry.priority)
            if priority >= entry.priority or self._fallen == MAX_RECONSIDERED:
                self._fallen = 0
                return entry
            self._fallen += 1
            self.put_back(entry, priority)
        return None

    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        self._do(self._frontier.finish, entry, state)

    def redirect(self, entry: Entry, target: Entry, on_done: Callable[[bool], None] = ignore) -> None:
        self._do(self._frontier.redirect, entry, target, self._in_loop(on_done))

    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        self._do(lambda: self._frontier.retry(entry, rest=rest, failed=failed))

    def put_back(self, entry: Entry, priority: float, *, failed: bool = False) -> None:
        self._do(lambda: self._frontier.put_back(entry, priority, failed=failed))

    def remember(self, entry: Entry, fact: bytes) -> None:
        self._do(self._frontier.remember, entry, fact)

    def add(self, numbers: Mapping[str, int], on_done: Callable[[dict[str, int]], None] = ignore) -> None:
        self._do(self._frontier.add, numbers, self._in_loop(on_done))

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL; all count as done if the store fails, as in a frozen :class:`LocalFrontier`."""
        try:
            return await self._loop.run_in_executor(self._thread, self.store.states, urls)
        except StoreError as error:
            self._worker.stop(error)
            return [State.DONE] * len(urls)

    def server(self, slot: str) -> str:
        """The slot itself: workers do not know each other's addresses."""
        return slot

    def close(self, slot: str, reason: str = SITE_BUDGET) -> bool:
        closed = slot in self._closed
        self._closed.add(slot)
        self._do(self._frontier.close, slot, reason)
        return not closed

    def reopen(self, slot: str) -> None:
        self._closed.discard(slot)
        self._do(self._frontier.reopen, slot)

    def has_pending(self) -> bool:
        """Whether this or another worker has URLs in flight or to hand out."""
        return not self._frozen and (not self._over or bool(self._ready))

    def open_slots(self) -> Sequence[str]:
        """As they were at the last heartbeat."""
        return self._open

    def freeze(self) -> None:
        self._frozen = True
        self._frontier.freeze()

    def hurry(self) -> None:
        self._loop.call_later(LEAVE_SECONDS, self.store.give_up)

    async def leave(self) -> None:
        """Give the slots and leases of this worker to the others."""
        self._leaving.set()
        leaving = self._loop.run_in_executor(self._thread, self._close)
        try:
            await asyncio.wait_for(asyncio.shield(leaving), LEAVE_SECONDS)
        except (TimeoutError, StoreError):
            self.store.give_up()
        self._thread.shutdown(wait=False)

    @property
    def slot_states(self) -> Mapping[str, SlotState]:
        return self._frontier.slot_states

    @property
    def rests(self) -> Mapping[str, float]:
        return self._frontier.rests

    def _close(self) -> None:
        self._frontier.sum_up()
        self.remaining = self._frontier.remaining
        self.store.close()

    def _do(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._over = False
        self._calls += 1
        self._thread.submit(self._run, work, *arguments).add_done_callback(self._in_loop(self._done))

    def _run(self, work: Callable[..., Any], *arguments: Any) -> None:
        """In the thread: run the calls, then take the URLs that may be fetched."""
        work(*arguments)
        while not self._leaving.is_set() and (entry := self._frontier.pop()):
            self._loop.call_soon_threadsafe(self._take, entry)

    def _take(self, entry: Entry) -> None:
        self._ready.append(entry)
        self._worker.wake()

    def _done(self, call: Future[None]) -> None:
        self._calls -= 1
        call.result()

    def _failed(self, error: StoreError) -> None:
        self._loop.call_soon_threadsafe(self._worker.stop, error)

    def _in_loop(self, on_done: Callable[[Any], None]) -> Callable[[Any], Any]:
        """*on_done*, wrapped for calls from the thread."""
        return lambda answer: self._loop.call_soon_threadsafe(functools.partial(on_done, answer))

    def _beat(self) -> None:
        """In a thread of its own: send heartbeats while the worker is busy with a page, not if it hangs."""
        # after an end without :meth:`leave`, loop and thread accept no calls
        with suppress(RuntimeError):
            while not self._leaving.wait(HEARTBEAT_SECONDS):
                self._loop.call_soon_threadsafe(self._turn)
                if time.monotonic() - self._turned < BUSY_SECONDS:
                    sharing = self._thread.submit(self._run, self._take_share)
                    sharing.add_done_callback(self._in_loop(Future.result))
                    wait([sharing])

    def _turn(self) -> None:
        self._turned = time.monotonic()

    def _take_share(self) -> None:
        """In the thread: one heartbeat, in which slots are given away or taken over."""
        if self._leaving.is_set():
            return
        try:
            active = self._frontier.open_slots()
            share = self.store.share(idle=not self._frontier.has_pending(), active=len(active))
            self._open = [*active, *share.gained]
            self.store.release(self._frontier.hand_over(share.surplus))
            self.remaining = self._frontier.remaining
        except StoreError as error:
            self._failed(error)
            return
        for slot in share.gained:
            self._tell(self._known(slot))
        self._frontier.offer(share.changed)
        if share.over:
            self.spent = self._frontier.spent
            self._loop.call_soon_threadsafe(self._end)

    def _known(self, slot: str) -> Iterator[Known]:
        """The facts, then the queued URLs, of a gained slot. The facts determine the priorities of the URLs."""
        for facts in batched(self.store.facts(slot), LEARNT_AT_ONCE):
            yield facts, ()
        self._frontier.offer((slot,))
        for queued in batched(self.store.queued(slot), LEARNT_AT_ONCE):
            yield (), queued

    def _tell(self, known: Iterator[Known]) -> None:
        """In the thread: pass the next part to the worker. Another part follows when this one is learnt."""
        try:
            part = next(known, None)
        except StoreError as error:
            self._failed(error)
            return
        if part:
            self._loop.call_soon_threadsafe(self._learn, part, known)

    def _learn(self, part: Known, rest: Iterator[Known]) -> None:
        self._worker.gained(*part)
        if not self._leaving.is_set():
            self._thread.submit(self._run, self._tell, rest).add_done_callback(self._in_loop(Future.result))

    def _end(self) -> None:
        """End unless a call since the last heartbeat, at which every worker was idle, may have brought a URL."""
        self._over = not self._calls
        self._worker.wake()
