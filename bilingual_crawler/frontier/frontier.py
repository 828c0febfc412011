"""The protocols of the frontier and of its stores, with their limits and errors."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from bilingual_crawler.frontier.entry import Entry, Push, State

Item = TypeVar("Item")
MAX_RECONSIDERED = 32  # maximum URLs of a call whose priority may fall before the next URL is handed out in any case
PAGE_BUDGET, SITE_BUDGET, UNTIL, BLOCKED = "page_budget", "site_budget", "until", "blocked"
"""Why queued URLs are not handed out: budget of the crawl or of a slot; as in :class:`SlotState`, LEFT and BLOCKED."""


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """*items* in lists of *size*; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


class StoreError(Exception):
    """The store cannot be used, or has failed; the message names it and the fix."""


class StoreLost(StoreError):
    """The store has lost data: the crawl cannot continue."""


class Head(NamedTuple):
    """The best queued URL of a slot, as an order key: the greatest priority first, then the first discovered."""

    slot: str
    priority: float
    order: int


def digest(url: str) -> bytes:
    """16 bytes that stand for *url*."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class FrontierStore(Protocol):
    """Seen-set, queues and in-flight URLs in one transactional place.

    Every call is one atomic transaction. URLs in flight at the death of a process are queued with the priority of
    :func:`~bilingual_crawler.frontier.entry.after_death`. A store that ``BILINGUAL_FRONTIER`` names is made with that
    URL, and with a name of this process that stays the same with one ``JOBDIR``.
    """

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        """Queue unseen URLs and raise queued ones if the new priority is higher. No URL is lowered or revived.

        A raised URL takes the new entry's parent, unless it is a seed, and the smaller depth, but keeps its order.
        """

    def pop(self, slot: str) -> Entry | None:
        """Take the best queued URL of *slot*; it is in flight until it is finished or re-queued."""

    def peek(self, slot: str) -> Entry | None:
        """The best queued URL of *slot*, left where it is."""

    def slots(self) -> list[str]:
        """The slots that this process crawls."""

    def queued(self, slot: str) -> Iterator[str]:
        """The queued URLs of *slot*, in no order."""

    def finish(self, url: str, state: State = State.DONE) -> bool:
        """Mark a URL in flight as done (or refused); false, without effect, if it was not in flight."""

    def redirect(self, url: str, target: Entry) -> bool:
        """Replace in-flight *url* by *target* at the same place of the queue; a queued seed stays one.

        False if the target is known and needs no fetch, is in flight, or keeps its fixed priority.
        """

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        """Put an in-flight URL back in its place, with one more attempt if it *failed*; false if not in flight."""

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        """Set the priorities of queued URLs, unless fixed; returns the slots of those that changed."""

    def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones."""

    def head(self, slot: str) -> Head | None:
        """The best queued URL of *slot*, if it has one; called often."""

    def count(self, state: State) -> int: ...

    def done_in(self, slot: str) -> int:
        """Number of done URLs of *slot*."""

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        """Store the fact learnt from *url*, with its slot."""

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        """The facts of *slot* by URL, in the order in which they were stored."""

    def add(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Increment counters, initially 0, that survive the process, by *numbers*; return the sums."""

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        """Begin a checkpoint; the result, called in any thread, finishes it: earlier changes then survive a power cut.

        The result calls *first* before, and raises its OSError, or StoreError.
        """

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Share:
    """The answer to a heartbeat: slots that now belong to the worker, or that other workers may have changed."""

    gained: list[str]
    changed: list[str]
    surplus: int
    """Number of slots with queued URLs that the worker should release."""
    over: bool
    """Whether all workers are idle: the crawl is over."""


@runtime_checkable
class SharedStore(FrontierStore, Protocol):
    """A store that several processes, its workers, share: each has slots of its own."""

    def share(self, *, idle: bool, active: int) -> Share:
        """Send the heartbeat of a worker with *active* slots to fetch from; *idle* if it has no URL left."""

    def release(self, slots: Sequence[str]) -> None:
        """Give *slots* to other workers; none of their URLs may be in flight."""

    def give_up(self) -> None:
        """Stop waiting for the store; may be called from another thread."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the URLs handed out; 0 is no limit."""

    per_slot: int = 2
    """Requests in flight of one slot or server; of two, one transfers while the other waits for its delay."""
    in_flight: int = 16
    pages: int = 0
    pages_per_slot: int = 0


class SlotState(StrEnum):
    """State of a slot at the end of a crawl."""

    OPEN = "open"
    SPENT = "spent"
    """It has no budget for its URLs."""
    LEFT = "left"
    """It has URLs, and enough of its pairs are found."""
    BLOCKED = "blocked"
    """It shows one page for all of its URLs."""
    FINISHED = "finished"
    """It has no URL."""


def ignore(_: object) -> None:
    """Ignore the outcome of a call."""


class Frontier(Protocol):
    """Hands out the best URL that may be fetched now.

    The order is by priority, then by discovery, among slots with free capacity that are not paused. A URL is handed out
    once: it is in flight until :meth:`finish`, :meth:`redirect` or :meth:`retry`. A push raises a queued URL or leaves
    it unchanged. When the store fails, the frontier freezes and every call does nothing. A URL that may have caused a
    crash (:data:`~bilingual_crawler.frontier.entry.SUSPECT`) is handed out only while no other one is in flight.
    *on_done* is called in the event loop when the outcome of a method is known, which may be after its return.
    """

    @property
    def remaining(self) -> int:
        """URLs that are queued or in flight."""

    @property
    def slot_states(self) -> Mapping[str, SlotState]:
        """The states of the slots of this process, after :meth:`leave`; empty before."""

    @property
    def rests(self) -> Mapping[str, float]:
        """The paused slots, each with the seconds until its end."""

    @property
    def spent(self) -> str:
        """Why queued URLs are not handed out, when nothing is pending; empty if nothing is left.

        The first of :data:`PAGE_BUDGET`, :data:`BLOCKED`, :data:`SITE_BUDGET` and :data:`UNTIL` that holds for a URL.
        """

    def push(self, entries: Sequence[Entry], on_done: Callable[[list[Push]], None] = ignore) -> None:
        """Queue or raise *entries* in one transaction. *on_done* gets the outcome of each."""

    def rescore(self, priorities: Mapping[str, float]) -> None:
        """Set new priorities, up or down, of queued URLs; ignore other URLs."""

    def pop(self) -> Entry | None:
        """The best URL that may be fetched now, or None."""

    def finish(self, entry: Entry, state: State = State.DONE) -> None:
        """Finish *entry*, which was processed, failed finally, or was refused. Idempotent."""

    def redirect(self, entry: Entry, target: Entry, on_done: Callable[[bool], None] = ignore) -> None:
        """Queue *target* with the priority and order of *entry*. *on_done* gets false if *target* is known already."""

    def retry(self, entry: Entry, *, rest: float, failed: bool = True) -> None:
        """Queue *entry* again and pause its slot for *rest* seconds. An attempt counts if it *failed*."""

    def put_back(self, entry: Entry, priority: float, *, failed: bool = False) -> None:
        """Queue *entry* again with another *priority*, without a pause. An attempt counts if it *failed*."""

    def remember(self, entry: Entry, fact: bytes) -> None:
        """Store the fact learnt from *entry*."""

    def add(self, numbers: Mapping[str, int], on_done: Callable[[dict[str, int]], None] = ignore) -> None:
        """Increment the persistent counters of all runs and workers by *numbers*. *on_done* gets the sums."""

    async def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones."""

    def server(self, slot: str) -> str:
        """The unit of the limit of requests in flight: the slot itself, or the server that it shares with others."""

    def close(self, slot: str, reason: str = SITE_BUDGET) -> bool:
        """Hand out no more URLs of *slot*, for the *reason* that :attr:`spent` gives; false if it was closed before."""

    def reopen(self, slot: str) -> None:
        """Hand out URLs of *slot* again, if it was closed."""

    def has_pending(self) -> bool:
        """Whether a URL is in flight or may still be handed out."""

    def open_slots(self) -> Sequence[str]:
        """Slots of this process with a URL to hand out, now or later."""

    def freeze(self) -> None:
        """Ignore all further calls. URLs in flight stay in flight, and the next run fetches them again."""

    def hurry(self) -> None:
        """Wait only a few more seconds for a store that does not answer: the crawl is stopping."""

    async def leave(self) -> None:
        """Close the store at the end of the process."""
