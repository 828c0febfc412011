"""The store protocol: what a frontier needs from whatever holds its URLs."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bilingual_crawler.frontier.entry import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bilingual_crawler.frontier.entry import Entry, Push


class StoreError(Exception):
    """The store cannot be used, or no longer; the message names it and the fix."""


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

    Every call is one transaction: after a crash either all or nothing of it is there. What is in flight when a process
    dies is queued with the priority that :func:`~bilingual_crawler.frontier.entry.after_death` says.
    """

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        """Queue unseen URLs and raise queued ones if the new priority is higher; never lower, never revive.

        A raised URL takes the new entry's parent, the lesser depth, and keeps its discovery order. Fixed ones stay.
        """

    def pop(self, slot: str) -> Entry | None:
        """Take the best queued URL of *slot*; it is in flight until it is finished or re-queued."""

    def peek(self, slot: str) -> Entry | None:
        """The best queued URL of *slot*, left where it is."""

    def slots(self) -> list[str]:
        """The slots that are this process's to crawl."""

    def queued(self, slot: str) -> Iterator[str]:
        """The queued URLs of *slot*, in no order."""

    def finish(self, url: str, state: State = State.DONE) -> bool:
        """The URL is done (or refused); false and without effect unless it was in flight."""

    def redirect(self, url: str, target: Entry) -> bool:
        """Replace in-flight *url* by *target* at the same place of the queue.

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
        """How many URLs of *slot* are done."""

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        """Keep what fetching *url* taught, with its slot."""

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        """What was remembered of *slot*, by URL and in that order."""

    def get(self, name: str) -> bytes | None:
        """A named value kept beside the queue."""

    def put(self, name: str, value: bytes) -> None: ...

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        """What was done so far survives the death of the machine, too, when the result was called (in any thread).

        *first* is called before that, and if it raises OSError, nothing counts. Raises that or StoreError.
        """

    def close(self) -> None: ...
