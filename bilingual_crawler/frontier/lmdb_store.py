"""The frontier's store on LMDB: durable, for one process at a time."""

import mmap
import struct
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

import lmdb

from bilingual_crawler.frontier.checkpoint import DATA, LmdbCheckpoints, restore
from bilingual_crawler.frontier.entry import (
    Entry,
    Push,
    State,
    after_death,
    pack,
    pack_state,
    state_of,
    unpack,
    unpack_fact,
)
from bilingual_crawler.frontier.frontier import Head, StoreError, digest

MAX_CHANGES = 10_000  # maximum changes of a transaction, which bounds its pages in memory
_SIZE = 16
_NONE = bytes(_SIZE)
_ROOM = 4096
FORMAT = b"bilingual-frontier 6"
_RANK = struct.Struct(">QQ")
"""Priority, inverted so that the highest sorts first, and discovery order."""
_DOUBLE = struct.Struct(">d")
_UINT = struct.Struct(">Q")
_SIGN = 1 << 63
_READ_ALL = """
import os, sys, lmdb
env = lmdb.open(sys.argv[1], readonly=True, lock=False)
env.copyfd(os.open(os.devnull, os.O_WRONLY), compact=True)
"""


Tables = namedtuple("Tables", "urls queue in_flight slots facts meta")
"""The tables of a frontier, or a cursor on each."""


class OpenTransaction:
    """The transaction for all reads and writes until it is committed; then another begins.

    It is the context of each operation, and gives it the cursors. If an operation fails, all changes since the last
    commit are undone, and every further use raises :class:`StoreError`.
    """

    def __init__(self, env: Any, folder: Path) -> None:
        self._env = env
        self._folder = folder
        self._tables = Tables(*(env.open_db(name.encode()) for name in Tables._fields))
        self._txn: Any = None
        self._cursors: Any = None
        self._error: StoreError | None = None
        self.changes = 0
        """Since the last commit; the user of the class counts them."""

    def __enter__(self) -> Tables:
        if self._error:
            raise self._error
        if self._txn is None:
            self._txn = self._env.begin(write=True)
            self._cursors = Tables(*map(self._txn.cursor, self._tables))
        return self._cursors  # type: ignore[no-any-return]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if self.changes >= MAX_CHANGES:
                self.commit()
        elif isinstance(error, Exception):
            self._fail(error)

    def size(self, table: str) -> int:
        return int(self._txn.stat(getattr(self._tables, table))["entries"])

    def walk(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The keys of *table* that begin with *prefix*, and their values; within the context, until the next commit."""
        cursor = self._txn.cursor(getattr(self._tables, table))
        if cursor.set_range(prefix):
            yield from takewhile(lambda item: item[0].startswith(prefix), cursor)

    def commit(self) -> None:
        """Hand all changes to the operating system."""
        if self._error:
            raise self._error
        if self._txn is None:
            return
        try:
            self._txn.commit()
        except Exception as error:
            self._fail(error)
        self._txn, self.changes = None, 0

    def close(self) -> bool:
        """Commit and wait for the disk; false if something failed before."""
        if self._error:
            return False
        self.commit()
        try:
            self._env.sync(True)
        except lmdb.Error as error:
            self._fail(error)
        return True

    def _fail(self, error: Exception) -> None:
        if self._txn is not None:
            self._txn.abort()
            self._txn = None
        if not isinstance(error, lmdb.Error | OSError):
            self._error = StoreError(f"{self._folder}: the frontier failed ({error!r})")
            raise error
        problem = f"the frontier cannot be written ({error}); make room and resume, nothing is lost"
        self._error = StoreError(f"{self._folder}: {problem}")
        raise self._error from error


class InFlight:
    """The digests of the URLs in flight, in an emptied file. Raises OSError if the disk is full.

    The file is mapped into memory, so a mark survives the process without a system call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._free: list[int] = []
        self._grow(0, _ROOM)

    def mark(self, digest: bytes) -> int:
        """Add a URL; the result is the argument of :meth:`clear`."""
        if not self._free:
            self._grow(len(self._map), 2 * len(self._map))
        at = self._free.pop()
        self._map[at : at + _SIZE] = digest
        return at

    def clear(self, mark: int) -> None:
        self._map[mark : mark + _SIZE] = _NONE
        self._free.append(mark)

    def close(self) -> None:
        """Delete the file: the process ends in order."""
        self._map.close()
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _grow(self, size: int, new_size: int) -> None:
        # zeros are written, because on a full disk a page that was never written would be fatal
        self._file.write(bytes(new_size - size))
        self._file.flush()
        self._map = mmap.mmap(self._file.fileno(), new_size)
        self._free.extend(range(size, new_size, _SIZE))


def check(folder: Path) -> None:
    """Raise StoreError if :class:`LmdbStore` cannot resume the frontier in *folder*."""
    if (folder / DATA).exists():
        restore(folder)
        _environment(folder).close()


class LmdbStore:
    """A :class:`~bilingual_crawler.frontier.frontier.FrontierStore` on LMDB.

    ========= ================================================ ============================
    table     key                                              value
    ========= ================================================ ============================
    urls      16-byte digest of the URL                        record
    queue     slot, 0, priority (descending), discovery order  digest
    in_flight digest                                           nothing
    slots     slot                                             how many of its URLs are done
    facts     slot, 0, number                                  URL and fact
    meta      name                                             counter or named number
    ========= ================================================ ============================

    So the first key of a slot in ``queue`` is its best URL. All changes go into one transaction until a URL is finished
    or redirected, or a number is added to. Then they are committed, and survive the death of the process. Opening the
    store puts all URLs in flight back into the queue. The file ``in-flight`` says which URLs were in flight at a death,
    because the last dequeues were not committed then.

    Raises :class:`StoreError` if the folder holds other files or another format, and from the first failed write on
    (disk full): earlier commits stay, and no later change is written.
    """

    def __init__(self, folder: Path, *, map_size: int = 1 << 36) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / DATA).exists()
        restore(folder)
        self._env = _environment(folder, map_size)
        try:
            self._transaction = OpenTransaction(self._env, folder)
        except lmdb.Error as error:
            raise StoreError(f"{folder}: not a usable frontier ({error}); move it away to start again") from error
        self._checkpoints = LmdbCheckpoints(self._env, folder)
        if not new:
            self._checkpoints.begin()()
        self._marks_in_flight: dict[bytes, int] = {}
        marks = folder / "in-flight"
        left = marks.read_bytes() if marks.exists() else b""
        suspects = {left[at : at + _SIZE] for at in range(0, len(left), _SIZE)} - {_NONE}
        with self._transaction as at:
            # renewed before the commit: a death in between was not caused by these URLs
            self._marks = InFlight(marks)
            at.meta.put(b"format", FORMAT)
            for key, _ in list(self._transaction.walk("in_flight", b"")):
                at.in_flight.pop(key)
                self._enqueue(at, key, unpack(at.urls.get(key)))
            for key in suspects:
                # the URL is missing if its push was not committed
                if entry := self._queued(at, key):
                    self._move(at, key, entry, after_death(entry.priority))
        self._transaction.commit()

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        with self._transaction as at:
            return [self._push(at, entry) for entry in entries]

    def _push(self, at: Tables, entry: Entry) -> Push:
        key = digest(entry.url)
        if at.urls.get(key) is None:
            entry.order = _add(at.meta, b"order")
            at.slots.put(entry.slot.encode(), _UINT.pack(0), overwrite=False)
            self._enqueue(at, key, entry)
            return Push.NEW
        held = self._queued(at, key)
        if held is None or not held.movable or entry.priority <= held.priority:
            return Push.IGNORED
        held.parent, held.depth = held.parent and entry.parent, min(held.depth, entry.depth)
        self._move(at, key, held, entry.priority)
        return Push.RAISED

    def pop(self, slot: str) -> Entry | None:
        with self._transaction as at:
            best = self._best(at, slot)
            if best is None:
                return None
            queue_key, key = best
            at.queue.pop(queue_key)
            at.in_flight.put(key, b"")
            self._marks_in_flight[key] = self._marks.mark(key)
            entry = unpack(at.urls.get(key))
            entry.state = State.IN_FLIGHT
        return entry

    def peek(self, slot: str) -> Entry | None:
        with self._transaction as at:
            best = self._best(at, slot)
            return unpack(at.urls.get(best[1])) if best else None

    def slots(self) -> list[str]:
        with self._transaction:
            return [name.decode() for name, _ in self._transaction.walk("slots", b"")]

    def queued(self, slot: str) -> Iterator[str]:
        with self._transaction as at:
            for _, key in self._transaction.walk("queue", _prefix(slot)):
                yield unpack(at.urls.get(key)).url

    def finish(self, url: str, state: State = State.DONE) -> bool:
        with self._transaction as at:
            ended = self._end(at, url, state) is not None
        self._transaction.commit()
        return ended

    def redirect(self, url: str, target: Entry) -> bool:
        with self._transaction as at:
            wanted = self._replace(at, url, target)
        self._transaction.commit()
        return wanted

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        key = digest(url)
        with self._transaction as at:
            entry = self._land(at, key)
            if entry:
                entry.attempts += failed
                self._enqueue(at, key, entry)
        return entry is not None

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        changed: set[str] = set()
        with self._transaction as at:
            for url, priority in priorities.items():
                key = digest(url)
                entry = self._queued(at, key)
                if entry and entry.movable and entry.priority != priority:
                    self._move(at, key, entry, priority)
                    changed.add(entry.slot)
        return changed

    def states(self, urls: Sequence[str]) -> list[State | None]:
        with self._transaction as at:
            return [self._state(at, digest(url)) for url in urls]

    def head(self, slot: str) -> Head | None:
        with self._transaction as at:
            best = self._best(at, slot)
        if best is None:
            return None
        bits, order = _RANK.unpack(best[0][-_RANK.size :])
        return Head(slot, _DOUBLE.unpack(_UINT.pack(bits if bits & _SIGN else bits ^ (_SIGN - 1)))[0], order)

    def count(self, state: State) -> int:
        if state is State.IN_FLIGHT:
            return len(self._marks_in_flight)
        with self._transaction as at:
            if state is State.QUEUED:
                return self._transaction.size("queue")
            return _number(at.meta, b"count %d" % state)

    def done_in(self, slot: str) -> int:
        with self._transaction as at:
            return _number(at.slots, slot.encode())

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        with self._transaction as at:
            at.facts.put(_prefix(slot) + _UINT.pack(self._transaction.size("facts")), pack((url, fact)))

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        with self._transaction:
            for _, fact in self._transaction.walk("facts", _prefix(slot)):
                yield unpack_fact(fact)

    def add(self, numbers: Mapping[str, int]) -> dict[str, int]:
        sums = {}
        with self._transaction as at:
            for name, number in numbers.items():
                key = b"named " + name.encode()
                sums[name] = int(at.meta.get(key, b"0")) + number
                at.meta.put(key, b"%d" % sums[name])
        # a counted action must not be repeated after a death
        self._transaction.commit()
        return sums

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        self._transaction.commit()
        return self._checkpoints.begin(first)

    def close(self) -> None:
        try:
            if self._transaction.close():
                self._checkpoints.end()
        finally:
            self._marks.close()
            self._env.close()

    def _state(self, at: Tables, key: bytes) -> State | None:
        if key in self._marks_in_flight:
            return State.IN_FLIGHT
        record = at.urls.get(key)
        return state_of(record) if record else None

    def _queued(self, at: Tables, key: bytes) -> Entry | None:
        return unpack(at.urls.get(key)) if self._state(at, key) is State.QUEUED else None

    def _best(self, at: Tables, slot: str) -> tuple[bytes, bytes] | None:
        """Key in the queue, and digest, of the best URL of *slot*."""
        prefix = _prefix(slot)
        at.queue.set_range(prefix)
        queue_key, key = at.queue.item()
        return (queue_key, key) if queue_key.startswith(prefix) else None

    def _enqueue(self, at: Tables, key: bytes, entry: Entry) -> None:
        at.urls.put(key, pack(entry))
        at.queue.put(_queue_key(entry), key)
        self._transaction.changes += 1

    def _move(self, at: Tables, key: bytes, entry: Entry, priority: float) -> None:
        at.queue.pop(_queue_key(entry))
        entry.priority = priority
        self._enqueue(at, key, entry)

    def _land(self, at: Tables, key: bytes) -> Entry | None:
        """Remove the URL with this digest from the URLs in flight; None if it was not in flight."""
        mark = self._marks_in_flight.pop(key, None)
        if mark is None:
            return None
        self._marks.clear(mark)
        at.in_flight.pop(key)
        return unpack(at.urls.get(key))

    def _end(self, at: Tables, url: str, state: State) -> Entry | None:
        """Give the URL its final state; returns its entry, or None if it was not in flight."""
        key = digest(url)
        entry = self._land(at, key)
        if entry is None:
            return None
        at.urls.put(key, pack_state(state))
        self._transaction.changes += 1
        _add(at.meta, b"count %d" % state)
        if state is State.DONE:
            _add(at.slots, entry.slot.encode())
        return entry

    def _replace(self, at: Tables, url: str, target: Entry) -> bool:
        source = self._end(at, url, State.REDIRECTED)
        key = digest(target.url)
        held = self._queued(at, key)
        if (held is None and at.urls.get(key)) or (held and not held.movable):
            return False
        if source is None:
            return held is not None
        target.priority, target.order = source.priority, source.order
        if held:
            target.priority, target.order = max(held.priority, source.priority), min(held.order, source.order)
            target.parent, target.depth = held.parent and target.parent, min(held.depth, target.depth)
            at.queue.pop(_queue_key(held))
        at.slots.put(target.slot.encode(), _UINT.pack(0), overwrite=False)
        self._enqueue(at, key, target)
        return True


def _check_length(folder: Path, env: Any) -> None:
    """Raise StoreError if pages in use are behind the end of the file: LMDB would die of a signal when it reads them.

    A sound file may be too short, too, as LMDB does not write freed pages; so another process reads all pages in use.
    """
    path = folder / DATA
    if path.stat().st_size >= (env.info()["last_pgno"] + 1) * env.stat()["psize"]:
        return
    if subprocess.run([sys.executable, "-c", _READ_ALL, str(folder)], stderr=subprocess.DEVNULL).returncode < 0:
        env.close()
        raise StoreError(f"{path}: the end of the file is missing; copy it again, or move {folder} away to start again")


def _environment(folder: Path, map_size: int = 1 << 36) -> Any:
    try:
        env = lmdb.open(str(folder), map_size=map_size, max_dbs=8, max_readers=8, sync=False, metasync=False)
        _check_length(folder, env)
        with env.begin() as txn:
            # an empty environment has no tables
            tables = txn.get(b"meta") and env.open_db(b"meta", txn, create=False)
            found: bytes = txn.get(b"format", FORMAT, db=tables) if tables else FORMAT
    except lmdb.Error as error:
        raise StoreError(f"{folder}: not a usable frontier ({error}); move it away to start again") from error
    if found != FORMAT:
        env.close()
        formats = f"frontier format {found.decode(errors='replace')!r}, this version reads {FORMAT.decode()!r}"
        raise StoreError(f"{folder}: {formats}; finish that crawl with the version that began it")
    return env


def _prefix(slot: str) -> bytes:
    return slot.encode() + b"\0"


def _queue_key(entry: Entry) -> bytes:
    bits = _UINT.unpack(_DOUBLE.pack(entry.priority + 0.0))[0]
    return _prefix(entry.slot) + _RANK.pack(bits if bits & _SIGN else bits ^ (_SIGN - 1), entry.order)


def _number(table: Any, key: bytes) -> int:
    value = table.get(key)
    return int(_UINT.unpack(value)[0]) if value else 0


def _add(table: Any, key: bytes) -> int:
    number = _number(table, key) + 1
    table.put(key, _UINT.pack(number))
    return number
