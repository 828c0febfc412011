"""An LMDB transaction that collects many changes."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import lmdb

from bilingual_crawler.frontier.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

MAX_CHANGES = 10_000
"""Changes after which a transaction is committed in any case; this bounds its pages in memory."""


class Tables(NamedTuple):
    """The tables of a frontier, or a cursor on each."""

    urls: Any
    queue: Any
    in_flight: Any
    slots: Any
    facts: Any
    meta: Any


class OpenTransaction:
    """The transaction for all reads and writes until it is committed; then another begins.

    Use it as a context for each operation; the context gives the cursors. If an operation fails, all changes since the
    last commit are undone, and every further use raises :class:`StoreError`.
    """

    def __init__(self, env: Any, folder: Path) -> None:
        self._env = env
        self._folder = folder
        self._tables = Tables(*(env.open_db(name.encode()) for name in Tables._fields))
        self._txn: Any = None
        self._cursors: Any = None
        self._error: StoreError | None = None
        self.changes = 0
        """Number of changes since the last commit; the user of the class counts them."""

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
        """Number of entries of *table*; within the context."""
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
        self._error = StoreError(
            f"{self._folder}: the frontier cannot be written ({error}); make room and resume, nothing is lost"
        )
        raise self._error from error
