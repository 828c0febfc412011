"""The protocol of a store, which holds the URLs of a frontier."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bilingual_crawler.frontier.entry import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bilingual_crawler.frontier.entry import Entry, Push


class StoreError(Exception):
    """The store cannot be used, or has failed; the message names it and the fix."""


class StoreLost(StoreError):
    """The store does not hold any more what it has held: its crawl cannot go on."""


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

    Every call is one transaction: after a crash either all or nothing of it is there. URLs in flight when a process
    dies are queued with the priority of :func:`~bilingual_crawler.frontier.entry.after_death`.
    """

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        """Queue unseen URLs and raise queued ones if the new priority is higher. No URL is lowered or revived.

        A raised URL takes the new entry's parent, unless it is a seed, and the smaller depth. It keeps its discovery
        order. Fixed priorities stay.
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
        """Replace in-flight *url* by *target* at the same place of the queue. A queued target that is a seed stays one,
        and keeps the smaller depth.

        False if the target is known and needs no fetch, is in flight, or keeps its fixed priority.
        """

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        """Put an in-flight URL back in its place, with one more attempt if it *failed*; false if not in flight."""

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        """Set the priorities of queued URLs, unless fixed; returns the slots of those that changed."""

    def states(self, urls: Sequence[str]) -> list[State | None]:
        """State of each URL, None for unseen ones."""

    def heads(self) -> list[Head]:
        """The best queued URL of every slot that has one."""

    def head(self, slot: str) -> Head | None: ...

    def count(self, state: State) -> int: ...

    def done_in(self, slot: str) -> int:
        """Number of done URLs of *slot*."""

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        """Store the fact learnt from *url*, with its slot."""

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        """The facts of *slot* by URL, in the order in which they were stored."""

    def add(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Add to the numbers of these names, which are kept beside the queue and are 0 at first; returns the sums."""

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        """Make a checkpoint. The earlier changes survive a power cut once the result was called (in any thread). The
        result calls *first* before; if *first* raises OSError, there is no checkpoint. Raises that error or StoreError.
        """

    def close(self) -> None: ...
