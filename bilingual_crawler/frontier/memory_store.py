"""The frontier's store in memory: dictionaries and heaps, without resume."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from sys import intern

from bilingual_crawler.frontier.entry import Entry, Push, State
from bilingual_crawler.frontier.frontier import Head

Item = tuple[float, int, str]
"""Priority, negated, and discovery order of a URL."""
SPARE_ITEMS = 1000  # maximum outdated items in the heap of a slot, beyond its number of queued URLs


class MemoryStore:
    """A :class:`~bilingual_crawler.frontier.frontier.FrontierStore` that ends with its process.

    The simulator uses it, and tests compare the durable stores with it. A heap of items per slot gives the best URL. An
    item is outdated if its URL has another priority or is no longer queued.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._heaps: defaultdict[str, list[Item]] = defaultdict(list)
        self._counts: Counter[State | tuple[str, State]] = Counter()
        self._numbers: Counter[str] = Counter()
        self._order = 0

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        return [self._push(entry) for entry in entries]

    def _push(self, entry: Entry) -> Push:
        held = self.entries.get(entry.url)
        if held is None:
            self._order += 1
            entry.order = self._order
            self._add(entry)
            return Push.NEW
        if not held.movable or entry.priority <= held.priority:
            return Push.IGNORED
        held.priority, held.depth = entry.priority, min(held.depth, entry.depth)
        held.parent = held.parent and entry.parent
        self._offer(held)
        return Push.RAISED

    def pop(self, slot: str) -> Entry | None:
        entry = self.peek(slot)
        if entry:
            self._change(entry, State.IN_FLIGHT)
        return entry

    def peek(self, slot: str) -> Entry | None:
        heap = self._heaps.get(slot, [])
        while heap and not self._is_current(heap[0]):
            heappop(heap)
        return self.entries[heap[0][-1]] if heap else None

    def slots(self) -> list[str]:
        return list(self._heaps)

    def queued(self, slot: str) -> Iterator[str]:
        return iter({item[-1] for item in self._heaps.get(slot, []) if self._is_current(item)})

    def finish(self, url: str, state: State = State.DONE) -> bool:
        entry = self._in_flight(url)
        if entry:
            self._change(entry, state)
        return entry is not None

    def redirect(self, url: str, target: Entry) -> bool:
        source, held = self._in_flight(url), self.entries.get(target.url)
        if source:
            self._change(source, State.REDIRECTED)
        if held and not held.movable:
            return False
        if source is None:
            return held is not None
        target.priority, target.order = source.priority, source.order
        if held:
            target.priority, target.order = max(held.priority, source.priority), min(held.order, source.order)
            target.parent, target.depth = held.parent and target.parent, min(held.depth, target.depth)
            self._count(held, -1)
        self._add(target)
        return True

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        entry = self._in_flight(url)
        if entry:
            entry.attempts += failed
            self._change(entry, State.QUEUED)
            self._offer(entry)
        return entry is not None

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        changed = set()
        for url, priority in priorities.items():
            entry = self.entries.get(url)
            if entry and entry.movable and entry.priority != priority:
                entry.priority = priority
                self._offer(entry)
                changed.add(entry.slot)
        return changed

    def states(self, urls: Sequence[str]) -> list[State | None]:
        return [entry.state if (entry := self.entries.get(url)) else None for url in urls]

    def head(self, slot: str) -> Head | None:
        entry = self.peek(slot)
        return Head(slot, entry.priority, entry.order) if entry else None

    def count(self, state: State) -> int:
        return self._counts[state]

    def done_in(self, slot: str) -> int:
        return self._counts[slot, State.DONE]

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        """Does nothing: facts are for a resume."""

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def add(self, numbers: Mapping[str, int]) -> dict[str, int]:
        self._numbers.update(numbers)
        return {name: self._numbers[name] for name in numbers}

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        """Only calls *first*: the store does not survive its process."""
        return first

    def close(self) -> None: ...

    def _in_flight(self, url: str) -> Entry | None:
        entry = self.entries.get(url)
        return entry if entry and entry.state is State.IN_FLIGHT else None

    def _add(self, entry: Entry) -> None:
        entry.slot = intern(entry.slot)
        self.entries[entry.url] = entry
        self._count(entry, 1)
        self._offer(entry)

    def _change(self, entry: Entry, state: State) -> None:
        self._count(entry, -1)
        entry.state = state
        self._count(entry, 1)
        if state not in (State.QUEUED, State.IN_FLIGHT):
            entry.request = ""

    def _count(self, entry: Entry, by: int) -> None:
        self._counts[entry.state] += by
        self._counts[entry.slot, entry.state] += by

    def _offer(self, entry: Entry) -> None:
        heap = self._heaps[entry.slot]
        heappush(heap, (-entry.priority, entry.order, entry.url))
        if len(heap) > 2 * self._counts[entry.slot, State.QUEUED] + SPARE_ITEMS:
            heap[:] = filter(self._is_current, set(heap))
            heapify(heap)

    def _is_current(self, item: Item) -> bool:
        entry = self.entries[item[-1]]
        return entry.state is State.QUEUED and (-entry.priority, entry.order) == item[:2]
