"""The embedded store: an LMDB environment in one folder."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import lmdb
import msgpack

from bilingual_crawler.frontier.checkpoint import DATA, Checkpoints, restore
from bilingual_crawler.frontier.entry import Entry, Kind, Push, State
from bilingual_crawler.frontier.lmdb_transaction import OpenTransaction
from bilingual_crawler.frontier.store import Head, StoreError, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

FORMAT = b"bilingual-frontier 2"
_pack = msgpack.Packer().pack
_STATES = tuple(State)
_KINDS = {str(kind): kind for kind in Kind}
_RANK = struct.Struct(">QQ")
_DOUBLE = struct.Struct(">d")
_UINT = struct.Struct(">Q")
_STATE = 1
"""Where the state of a URL is in its record: after the byte that says how many fields there are."""
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def _descending(priority: float) -> int:
    """64 bits that sort from the highest float to the lowest."""
    bits: int = _UINT.unpack(_DOUBLE.pack(priority + 0.0))[0]
    ascending = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return ascending ^ _ALL


def _priority(descending: int) -> float:
    ascending = descending ^ _ALL
    bits = ascending ^ _SIGN if ascending & _SIGN else ascending ^ _ALL
    return float(_DOUBLE.unpack(_UINT.pack(bits))[0])


def _entry(record: bytes) -> Entry:
    state, priority, order, slot, parent, depth, kind, attempts, redirects, url = msgpack.unpackb(record)
    return Entry(url, slot, priority, parent, depth, _KINDS[kind], order, attempts, redirects, _STATES[state])


class LmdbStore:
    """A :class:`FrontierStore` on LMDB.

    ``urls`` maps a 16-byte hash of the URL to its record, ``queue`` holds
    (slot, priority descending, discovery order) so that the first key of a slot is its best URL, ``flight`` the URLs
    handed out, ``facts`` what was learnt by slot, ``meta`` counters and named values. What is done goes into one
    transaction until a URL is finished or redirected; then all of it reaches the operating system, and the death of the
    process does not undo it. What a death does undo belongs to URLs that were in flight, and these are queued again on
    opening. What was committed at a :meth:`checkpoint` survives the death of the machine as well.

    Raises :class:`StoreError` if the folder holds something else or another format, and from the first write on that
    fails (disk full): what was committed before stays, and nothing is written after it.
    """

    def __init__(self, folder: Path, *, map_size: int = 1 << 36) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / DATA).exists()
        restore(folder)
        try:
            self._env = lmdb.open(
                str(folder), map_size=map_size, max_dbs=8, sync=False, metasync=False, writemap=False, max_readers=8
            )
            self._urls = self._env.open_db(b"urls")
            self._queue = self._env.open_db(b"queue")
            self._flight = self._env.open_db(b"flight")
            self._slots = self._env.open_db(b"slots")
            self._facts = self._env.open_db(b"facts")
            self._meta = self._env.open_db(b"meta")
        except lmdb.Error as error:
            raise StoreError(f"{folder}: not a usable frontier ({error}); move it away to start anew") from error
        self._checkpoints = Checkpoints(self._env, folder)
        if not new:
            self._checkpoints.begin()()
        self._open = OpenTransaction(self._env, folder, self._save_numbers)
        self._slot_ids: dict[str, bytes] = {}
        self._flying: set[bytes] = set()
        self._next: tuple[str, Head | None] | None = None
        """The head that a slot has after a pop, until something is queued: it is asked for at once."""
        with self._env.begin(write=True) as txn:
            stored = txn.get(b"format", db=self._meta)
            if stored is None:
                txn.put(b"format", FORMAT, db=self._meta)
            elif stored != FORMAT:
                self._env.close()
                raise StoreError(
                    f"{folder}: frontier format {stored.decode(errors='replace')!r}, this version reads "
                    f"{FORMAT.decode()!r}; finish that crawl with the version that began it"
                )
        with self._open as txn:
            self._order = self._number(txn, b"order")
            self._counts = {state: self._number(txn, b"count%d" % state) for state in _STATES}
            for name, slot in txn.cursor(db=self._slots):
                self._slot_ids[name.decode()] = slot
            self._reclaim(txn)
        self._open.commit()

    # transactions -------------------------------------------------------------------------------------------------

    def _number(self, txn: Any, name: bytes) -> int:
        value = txn.get(name, db=self._meta)
        return int(_UINT.unpack(value)[0]) if value else 0

    def _save_numbers(self, txn: Any) -> None:
        txn.put(b"order", _UINT.pack(self._order), db=self._meta)
        for state, count in self._counts.items():
            txn.put(b"count%d" % state, _UINT.pack(count), db=self._meta)

    def _slot_id(self, txn: Any, name: str) -> bytes:
        slot = self._slot_ids.get(name)
        if slot is None:
            slot = struct.pack(">I", len(self._slot_ids))
            txn.put(name.encode(), slot, db=self._slots)
            self._slot_ids[name] = slot
        return slot

    def _load(self, txn: Any, key: bytes) -> Entry | None:
        record = txn.get(key, db=self._urls)
        if record is None:
            return None
        entry = _entry(record)
        entry.state = self._state(key, record)
        return entry

    def _state(self, key: bytes, record: bytes) -> State:
        """The state of a record; what is in flight is still queued by its record, which spares a write."""
        return State.IN_FLIGHT if key in self._flying else _STATES[record[_STATE]]

    def _place(self, txn: Any, entry: Entry) -> bytes:
        return self._slot_id(txn, entry.slot) + _RANK.pack(_descending(entry.priority), entry.order)

    def _enqueue(self, txn: Any, key: bytes, entry: Entry) -> None:
        self._next = None
        entry.state = State.QUEUED
        record = (
            int(entry.state),
            entry.priority,
            entry.order,
            entry.slot,
            entry.parent,
            entry.depth,
            str(entry.kind),
            entry.attempts,
            entry.redirects,
            entry.url,
        )
        txn.put(key, _pack(record), db=self._urls)
        txn.put(self._place(txn, entry), key, db=self._queue)
        self._open.changes += 1

    def _move(self, before: State | None, after: State) -> None:
        if before is not None:
            self._counts[before] -= 1
        self._counts[after] += 1

    def _reclaim(self, txn: Any) -> None:
        for key in [key for key, _ in txn.cursor(db=self._flight)]:
            entry = self._load(txn, key)
            assert entry is not None
            self._move(State.IN_FLIGHT, State.QUEUED)
            self._enqueue(txn, key, entry)
            txn.delete(key, db=self._flight)

    # the protocol -------------------------------------------------------------------------------------------------

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        outcomes = []
        with self._open as txn:
            for entry in entries:
                key = digest(entry.url)
                held = self._load(txn, key)
                if held is None:
                    self._order += 1
                    entry.order = self._order
                    self._enqueue(txn, key, entry)
                    self._move(None, State.QUEUED)
                    outcomes.append(Push.NEW)
                elif held.state is State.QUEUED and entry.priority > held.priority:
                    txn.delete(self._place(txn, held), db=self._queue)
                    held.priority, held.parent, held.depth = entry.priority, entry.parent, min(held.depth, entry.depth)
                    self._enqueue(txn, key, held)
                    outcomes.append(Push.RAISED)
                else:
                    outcomes.append(Push.IGNORED)
        return outcomes

    def pop(self, slot: str) -> Entry | None:
        with self._open as txn:
            cursor = self._best(txn, slot)
            if cursor is None:
                return None
            key = cursor.value()
            cursor.delete()
            self._next = (slot, self._head(slot, cursor.key()))
            record = txn.get(key, db=self._urls)
            txn.put(key, b"", db=self._flight)
            self._flying.add(key)
            self._move(State.QUEUED, State.IN_FLIGHT)
            self._open.changes += 1
        entry = _entry(record)
        entry.state = State.IN_FLIGHT
        return entry

    def peek(self, slot: str) -> Entry | None:
        with self._open as txn:
            cursor = self._best(txn, slot)
            return self._load(txn, cursor.value()) if cursor else None

    def slots(self) -> list[str]:
        return list(self._slot_ids)

    def queued(self, slot: str) -> Iterator[str]:
        with self._open as txn:
            for key in self._values(txn, self._queue, slot):
                entry = self._load(txn, key)
                assert entry is not None
                yield entry.url

    def finish(self, url: str, state: State = State.DONE) -> bool:
        with self._open as txn:
            ended = self._end(txn, url, state) is not None
        self._open.commit()
        return ended

    def redirect(self, url: str, target: Entry) -> bool:
        with self._open as txn:
            wanted = self._replace(txn, url, target)
        self._open.commit()
        return wanted

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        key = digest(url)
        with self._open as txn:
            if not self._landed(txn, key):
                return False
            entry = self._load(txn, key)
            assert entry is not None
            entry.attempts += failed
            self._enqueue(txn, key, entry)
            self._move(State.IN_FLIGHT, State.QUEUED)
        return True

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        changed: set[str] = set()
        with self._open as txn:
            for url, priority in priorities.items():
                key = digest(url)
                entry = self._load(txn, key)
                if entry is None or entry.state is not State.QUEUED or entry.priority == priority:
                    continue
                txn.delete(self._place(txn, entry), db=self._queue)
                entry.priority = priority
                self._enqueue(txn, key, entry)
                changed.add(entry.slot)
        return changed

    def states(self, urls: Sequence[str]) -> list[State | None]:
        with self._open as txn:
            keys = [digest(url) for url in urls]
            records = (txn.get(key, db=self._urls) for key in keys)
            return [self._state(key, record) if record else None for key, record in zip(keys, records, strict=True)]

    def heads(self) -> list[Head]:
        return [head for slot in self._slot_ids if (head := self.head(slot))]

    def head(self, slot: str) -> Head | None:
        if self._next and self._next[0] == slot:
            return self._next[1]
        with self._open as txn:
            cursor = self._best(txn, slot)
            return self._head(slot, cursor.key()) if cursor else None

    def count(self, state: State) -> int:
        return self._counts[state]

    def done_in(self, slot: str) -> int:
        with self._open as txn:
            return self._number(txn, b"done " + self._slot_ids.get(slot, b""))

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        with self._open as txn:
            place = self._slot_id(txn, slot) + _UINT.pack(txn.stat(self._facts)["entries"])
            txn.put(place, _pack((url, fact)), db=self._facts)

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        with self._open as txn:
            for value in self._values(txn, self._facts, slot):
                yield tuple(msgpack.unpackb(value))

    def get(self, name: str) -> bytes | None:
        with self._open as txn:
            value: bytes | None = txn.get(b"named " + name.encode(), db=self._meta)
            return value

    def put(self, name: str, value: bytes) -> None:
        with self._open as txn:
            txn.put(b"named " + name.encode(), value, db=self._meta)

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        self._open.commit()
        return self._checkpoints.begin(first)

    def close(self) -> None:
        try:
            if self._open.close():
                self._checkpoints.end()
        finally:
            self._env.close()

    def _values(self, txn: Any, db: Any, slot: str) -> Iterator[bytes]:
        """The values of *db* whose keys begin with the slot."""
        slot_id = self._slot_ids.get(slot)
        cursor = txn.cursor(db=db)
        if slot_id is None or not cursor.set_range(slot_id):
            return
        for key, value in cursor:
            if not key.startswith(slot_id):
                return
            yield value

    def _head(self, slot: str, place: bytes) -> Head | None:
        """What a key of the queue says, if it is one of *slot*."""
        if not place.startswith(self._slot_ids[slot]):
            return None
        descending, order = _RANK.unpack_from(place, 4)
        return Head(slot, _priority(descending), order)

    def _best(self, txn: Any, slot: str) -> Any:
        """A cursor on the best URL of *slot* in the queue, if there is one."""
        slot_id = self._slot_ids.get(slot)
        if slot_id is None:
            return None
        cursor = txn.cursor(db=self._queue)
        return cursor if cursor.set_range(slot_id) and cursor.key().startswith(slot_id) else None

    def _landed(self, txn: Any, key: bytes) -> bool:
        """Take a URL from those in flight, if it is one of them."""
        self._flying.discard(key)
        return bool(txn.delete(key, db=self._flight))

    def _set_state(self, txn: Any, key: bytes, record: bytes, state: State) -> None:
        txn.put(key, record[:_STATE] + bytes((state,)) + record[_STATE + 1 :], db=self._urls)
        self._open.changes += 1

    def _replace(self, txn: Any, url: str, target: Entry) -> bool:
        source = self._end(txn, url, State.REDIRECTED)
        key = digest(target.url)
        held = self._load(txn, key)
        if held is not None and held.state is not State.QUEUED:
            return False
        if held is not None:
            txn.delete(self._place(txn, held), db=self._queue)
        else:
            self._move(None, State.QUEUED)
        if source is not None:
            target.order, target.priority = source.order, source.priority
            if held is not None:
                target.order = min(held.order, source.order)
                target.priority = max(held.priority, source.priority)
        self._enqueue(txn, key, target)
        return True

    def _end(self, txn: Any, url: str, state: State) -> Entry | None:
        key = digest(url)
        if not self._landed(txn, key):
            return None
        record = txn.get(key, db=self._urls)
        self._set_state(txn, key, record, state)
        entry = _entry(record)
        self._move(State.IN_FLIGHT, state)
        if state is State.DONE:
            name = b"done " + self._slot_id(txn, entry.slot)
            txn.put(name, _UINT.pack(self._number(txn, name) + 1), db=self._meta)
        return entry
