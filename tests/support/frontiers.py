"""Entries by URLs such as ``//host/1``, and frontiers that are emptied."""

from collections import Counter
from collections.abc import Iterable

from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.local import LocalFrontier


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def entry(url: str, priority: float = 0.0) -> Entry:
    return Entry(url, url.split("/")[2], priority)


def taken(frontier: LocalFrontier) -> Entry:
    """The next entry, which there is."""
    popped = frontier.pop()
    assert popped is not None
    return popped


def popped(frontier: LocalFrontier, count: int) -> list[str | None]:
    """The URLs that are handed out one after the other while none is finished; None where none is."""
    return [entry.url if entry else None for entry in (frontier.pop() for _ in range(count))]


def drain(frontier: LocalFrontier) -> list[str]:
    """The URLs in the order in which they are handed out, one after the other."""
    urls = []
    while (popped := frontier.pop()) is not None:
        urls.append(popped.url)
        frontier.finish(popped)
    return urls


def hand_out(frontier: LocalFrontier, entries: Iterable[Entry], per_slot: int) -> Counter[str]:
    """How often each URL is handed out, if one is finished after each of *entries* that is pushed, then all.

    Never more than *per_slot* of one slot are in flight.
    """
    handed: Counter[str] = Counter()
    flying: list[Entry] = []

    def take() -> None:
        while (popped := frontier.pop()) is not None:
            handed[popped.url] += 1
            flying.append(popped)
        assert max(Counter(each.slot for each in flying).values(), default=0) <= per_slot

    for each in entries:
        frontier.push([each])
        take()
        if flying:
            frontier.finish(flying.pop(0))
    while frontier.has_pending():
        take()
        frontier.finish(flying.pop(0))
    return handed
