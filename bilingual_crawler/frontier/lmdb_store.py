"""The embedded store: an LMDB environment in one folder."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import lmdb

from bilingual_crawler.frontier.checkpoint import DATA, Checkpoints, restore
from bilingual_crawler.frontier.entry import Push, State
from bilingual_crawler.frontier.in_flight import InFlight, left_in_flight
from bilingual_crawler.frontier.lmdb_records import (
    FORMAT,
    ORDER,
    PLACE,
    QUEUED,
    RANK,
    RANK_AT,
    SLOT,
    depth_of,
    descending,
    entry_of,
    fixed,
    head_of,
    pack,
    pack_details,
    pack_link,
    place_after_death,
    unpack,
    url_of,
    with_one_more_attempt,
)
from bilingual_crawler.frontier.lmdb_transaction import OpenTransaction, Tables
from bilingual_crawler.frontier.store import StoreError, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.frontier.store import Head

_STATES = tuple(State)
_SLOT = struct.Struct(">I")
_UINT = struct.Struct(">Q")


def _format(env: Any) -> bytes:
    """The format of what an environment holds; this one if it holds nothing."""
    with env.begin() as txn:
        if not txn.get(b"meta"):
            return FORMAT
        found: bytes = txn.get(b"format", FORMAT, db=env.open_db(b"meta", txn, create=False))
    return found


def check(folder: Path) -> None:
    """Raise StoreError if *folder* holds something that :class:`LmdbStore` cannot go on with."""
    if (folder / DATA).exists():
        restore(folder)
        _environment(folder).close()


def _environment(folder: Path, map_size: int = 1 << 36) -> Any:
    try:
        env = lmdb.open(
            str(folder), map_size=map_size, max_dbs=8, sync=False, metasync=False, writemap=False, max_readers=8
        )
        found = _format(env)
    except lmdb.Error as error:
        raise StoreError(f"{folder}: not a usable frontier ({error}); move it away to start anew") from error
    if found != FORMAT:
        env.close()
        raise StoreError(
            f"{folder}: frontier format {found.decode(errors='replace')!r}, this version reads "
            f"{FORMAT.decode()!r}; finish that crawl with the version that began it"
        )
    return env


class LmdbStore:
    """A :class:`FrontierStore` on LMDB.

    ``urls`` maps a 16-byte hash of the URL to its record, ``queue`` places to links, so that the first key of a slot is
    its best URL, ``details`` discovery orders to details (what these words mean is in
    :mod:`~bilingual_crawler.frontier.lmdb_records`). A URL that needs no fetch any more keeps its record only. ``facts``
    is what was learnt by slot, ``meta`` counters and named values.

    In the tables what is in flight is queued, so that handing out changes none of them: it is marked in the file
    ``in-flight``, and what a dead process had marked goes to its new place when the store is opened. All changes go
    into one transaction until a URL is finished or redirected; then they reach the operating system, and the death of
    the process does not undo them.
    What was committed at a :meth:`checkpoint` survives the death of the machine as well.

    Raises :class:`StoreError` if the folder holds something else or another format, and from the first write on that
    fails (disk full): what was committed before stays, and nothing is written after it.
    """

    def __init__(self, folder: Path, *, map_size: int = 1 << 36) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / DATA).exists()
        restore(folder)
        self._env = _environment(folder, map_size)
        try:
            self._tables = Tables(*(self._env.open_db(name.encode()) for name in Tables._fields))
        except lmdb.Error as error:
            raise StoreError(f"{folder}: not a usable frontier ({error}); move it away to start anew") from error
        self._checkpoints = Checkpoints(self._env, folder)
        if not new:
            self._checkpoints.begin()()
        self._open = OpenTransaction(self._env, folder, self._tables, self._save_numbers)
        self._slot_ids: dict[str, bytes] = {}
        self._slot_names: dict[bytes, str] = {}
        self._flying: dict[bytes, int] = {}
        """Places of the URLs in flight, and their marks."""
        self._begin: dict[bytes, bytes] = {}
        """By slot, where to look for its best URL: what is queued before is in flight."""
        self._next: tuple[str, Head | None] | None = None
        """The head of the slot that a URL was taken of last, which is asked for at once; until any slot gets another."""
        with self._open as at:
            at.meta.put(b"format", FORMAT)
            self._order = self._number(at, b"order")
            self._counts = {state: self._number(at, b"count%d" % state) for state in _STATES}
            """As on disk: what is in flight is queued."""
            for name, slot in at.slots:
                self._name_slot(name.decode(), slot)
            marks = folder / "in-flight"
            left = left_in_flight(marks)
            # made anew before the commit: whoever dies in between has not died of these URLs
            self._marks = InFlight(marks)
            self._move_suspects(at, left)
        self._open.commit()

    # transactions -------------------------------------------------------------------------------------------------

    def _number(self, at: Tables, name: bytes) -> int:
        value = at.meta.get(name)
        return int(_UINT.unpack(value)[0]) if value else 0

    def _save_numbers(self, at: Tables) -> None:
        at.meta.put(b"order", _UINT.pack(self._order))
        for state, count in self._counts.items():
            at.meta.put(b"count%d" % state, _UINT.pack(count))

    def _slot_id(self, at: Tables, name: str) -> bytes:
        slot = self._slot_ids.get(name)
        if slot is None:
            slot = _SLOT.pack(len(self._slot_ids))
            at.slots.put(name.encode(), slot)
            self._name_slot(name, slot)
        return slot

    def _name_slot(self, name: str, slot: bytes) -> None:
        self._slot_ids[name] = slot
        self._slot_names[slot] = name

    def _state(self, record: bytes) -> State:
        state = _STATES[record[0]]
        return State.IN_FLIGHT if state is State.QUEUED and record[PLACE] in self._flying else state

    def _move_suspects(self, at: Tables, orders: Iterable[bytes]) -> None:
        """The process died while the URLs of these *orders* were in flight."""
        for order in orders:
            details = at.details.get(order)
            # what was not committed is not there
            if details:
                key = digest(url_of(details))
                held = at.urls.get(key)[PLACE]
                self._place(at, key, place_after_death(held), at.queue.pop(held))

    def _place(self, at: Tables, key: bytes, place: bytes, link: bytes) -> None:
        at.urls.put(key, QUEUED + place)
        at.queue.put(place, link)
        self._offer(place)
        self._open.changes += 1

    def _offer(self, place: bytes) -> None:
        """What is at *place* may be handed out."""
        self._next = None
        begin = self._begin.get(place[SLOT])
        if begin and place < begin:
            self._begin[place[SLOT]] = place

    def _entry(self, at: Tables, slot: str, place: bytes) -> Entry:
        """What the cursor of the queue is at, which is *place*."""
        return entry_of(slot, place, at.queue.value(), at.details.get(place[ORDER]))

    # the protocol -------------------------------------------------------------------------------------------------

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        outcomes = []
        with self._open as at:
            for entry in entries:
                key = digest(entry.url)
                falling = descending(entry.priority)
                record = at.urls.get(key)
                if record is None:
                    self._order += 1
                    entry.order = self._order
                    place = self._slot_id(at, entry.slot) + RANK.pack(falling, entry.order)
                    at.details.put(place[ORDER], pack_details(entry), append=True)
                    self._place(at, key, place, pack_link(entry.depth))
                    self._counts[State.QUEUED] += 1
                    outcomes.append(Push.NEW)
                    continue
                held = record[PLACE]
                before, order = RANK.unpack_from(held, RANK_AT)
                if falling < before and self._state(record) is State.QUEUED and not fixed(held):
                    depth = min(depth_of(at.queue.pop(held)), entry.depth)
                    self._place(at, key, held[SLOT] + RANK.pack(falling, order), pack_link(depth, entry.parent))
                    outcomes.append(Push.RAISED)
                else:
                    outcomes.append(Push.IGNORED)
        return outcomes

    def pop(self, slot: str) -> Entry | None:
        with self._open as at:
            place = self._best(at, slot)
            if place is None:
                return None
            entry = self._entry(at, slot, place)
            entry.state = State.IN_FLIGHT
            self._flying[place] = self._marks.mark(place[ORDER])
            self._begin[place[SLOT]] = place
            at.queue.next()
            after = self._skip_flying(at, place[SLOT])
            self._next = slot, head_of(slot, after) if after else None
        return entry

    def peek(self, slot: str) -> Entry | None:
        with self._open as at:
            place = self._best(at, slot)
            return self._entry(at, slot, place) if place else None

    def slots(self) -> list[str]:
        return list(self._slot_ids)

    def queued(self, slot: str) -> Iterator[str]:
        with self._open as at:
            for place, _ in self._items(self._tables.queue, slot):
                if place not in self._flying:
                    yield url_of(at.details.get(place[ORDER]))

    def finish(self, url: str, state: State = State.DONE) -> bool:
        with self._open as at:
            ended = self._end(at, url, state) is not None
        self._open.commit()
        return ended

    def redirect(self, url: str, target: Entry) -> bool:
        with self._open as at:
            wanted = self._replace(at, url, target)
        self._open.commit()
        return wanted

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        with self._open as at:
            place = self._land(at, digest(url))
            if place is None:
                return False
            self._offer(place)
            if failed:
                at.details.put(place[ORDER], with_one_more_attempt(at.details.get(place[ORDER])))
                self._open.changes += 1
        return True

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        changed: set[str] = set()
        with self._open as at:
            for url, priority in priorities.items():
                key = digest(url)
                record = at.urls.get(key)
                if record is None or self._state(record) is not State.QUEUED:
                    continue
                held = record[PLACE]
                place = held[SLOT] + RANK.pack(descending(priority), RANK.unpack_from(held, RANK_AT)[1])
                if place != held and not fixed(held):
                    self._place(at, key, place, at.queue.pop(held))
                    changed.add(self._slot_names[held[SLOT]])
        return changed

    def states(self, urls: Sequence[str]) -> list[State | None]:
        with self._open as at:
            records = (at.urls.get(digest(url)) for url in urls)
            return [self._state(record) if record else None for record in records]

    def heads(self) -> list[Head]:
        return [head for slot in self._slot_ids if (head := self.head(slot))]

    def head(self, slot: str) -> Head | None:
        if self._next and self._next[0] == slot:
            return self._next[1]
        with self._open as at:
            place = self._best(at, slot)
        return head_of(slot, place) if place else None

    def count(self, state: State) -> int:
        if state is State.IN_FLIGHT:
            return len(self._flying)
        return self._counts[state] - (len(self._flying) if state is State.QUEUED else 0)

    def done_in(self, slot: str) -> int:
        with self._open as at:
            return self._number(at, b"done " + self._slot_ids.get(slot, b""))

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        with self._open as at:
            place = self._slot_id(at, slot) + _UINT.pack(self._open.size(self._tables.facts))
            at.facts.put(place, pack((url, fact)))

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        with self._open:
            for _, fact in self._items(self._tables.facts, slot):
                yield tuple(unpack(fact))

    def get(self, name: str) -> bytes | None:
        with self._open as at:
            value: bytes | None = at.meta.get(b"named " + name.encode())
            return value

    def put(self, name: str, value: bytes) -> None:
        with self._open as at:
            at.meta.put(b"named " + name.encode(), value)

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        self._open.commit()
        return self._checkpoints.begin(first)

    def close(self) -> None:
        try:
            if self._open.close():
                self._checkpoints.end()
        finally:
            self._marks.close()
            self._env.close()

    def _items(self, table: Any, slot: str) -> Iterator[tuple[bytes, bytes]]:
        """Within the context, the keys of *table* that begin with the slot, and their values."""
        slot_id = self._slot_ids.get(slot)
        if slot_id is None:
            return
        cursor = self._open.cursor(table)
        cursor.set_range(slot_id)
        for key, value in cursor:
            if not key.startswith(slot_id):
                return
            yield key, value

    def _best(self, at: Tables, slot: str) -> bytes | None:
        """The place of the best URL of *slot* that is not in flight; the cursor of the queue is there then."""
        slot_id = self._slot_ids.get(slot)
        if slot_id is None:
            return None
        at.queue.set_range(self._begin.get(slot_id, slot_id))
        return self._skip_flying(at, slot_id)

    def _skip_flying(self, at: Tables, slot_id: bytes) -> bytes | None:
        """Move the cursor of the queue on to the next place of the slot that is not in flight."""
        while (place := at.queue.key()).startswith(slot_id):
            if place not in self._flying:
                return place  # type: ignore[no-any-return]
            at.queue.next()
        return None

    def _land(self, at: Tables, key: bytes) -> bytes | None:
        """A URL is not in flight any more; its place, if it was."""
        record = at.urls.get(key)
        if record is None or self._state(record) is not State.IN_FLIGHT:
            return None
        place: bytes = record[PLACE]
        self._marks.clear(self._flying.pop(place))
        return place

    def _end(self, at: Tables, url: str, state: State) -> bytes | None:
        """The place that a URL had, if it was in flight until now."""
        key = digest(url)
        place = self._land(at, key)
        if place is None:
            return None
        at.queue.pop(place)
        at.details.pop(place[ORDER])
        at.urls.put(key, bytes((state,)) + place)
        self._open.changes += 1
        self._counts[State.QUEUED] -= 1
        self._counts[state] += 1
        if state is State.DONE:
            name = b"done " + place[SLOT]
            at.meta.put(name, _UINT.pack(self._number(at, name) + 1))
        return place

    def _replace(self, at: Tables, url: str, target: Entry) -> bool:
        source = self._end(at, url, State.REDIRECTED)
        key = digest(target.url)
        record = at.urls.get(key)
        if record and (self._state(record) is not State.QUEUED or fixed(record[PLACE])):
            return False
        if source is None:
            return record is not None
        rank = RANK.unpack_from(source, RANK_AT)
        if record:
            held = record[PLACE]
            at.queue.pop(held)
            at.details.pop(held[ORDER])
            rank = tuple(map(min, rank, RANK.unpack_from(held, RANK_AT)))
        else:
            self._counts[State.QUEUED] += 1
        place = self._slot_id(at, target.slot) + RANK.pack(*rank)
        at.details.put(place[ORDER], pack_details(target))
        self._place(at, key, place, pack_link(target.depth))
        return True
