"""A DuckDB database that lives while lists are made: sorting and removing repetitions in bounded memory."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from bilingual_crawler.urls.hosts import domain_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

MEMORY = "2GB"
"""What DuckDB holds in memory; the rest is on disk."""
BATCH = 50_000
GROWTH = 5_000_000  # rows that a table may grow by before it is worth being made smaller


@contextmanager
def scratch(folder: Path) -> Iterator[DuckDBPyConnection]:
    """An empty database in a temporary folder inside `folder`; SQL may call ``domain_label(url)``."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".prepare-", dir=folder) as place:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": f"{place}/spilled",
            "preserve_insertion_order": "false",
        }
        with duckdb.connect(f"{place}/scratch.duckdb", config=config) as db:
            db.execute("SET enable_progress_bar = false")
            add_function(db, "domain_label", domain_label)
            yield db


def add_function(db: DuckDBPyConnection, name: str, function: Callable[[str], str | None]) -> None:
    """Let SQL call a function of a text; None is NULL, and NULL gives NULL."""

    def of_column(texts: pa.Array) -> pa.Array:
        return pa.array([None if text is None else function(text) for text in texts.to_pylist()], pa.string())

    db.create_function(
        name, of_column, ["VARCHAR"], "VARCHAR", type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL
    )


def insert(db: DuckDBPyConnection, statement: str, columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> int:
    """Run `statement`, which reads the table ``batch``, for every 50,000 of `rows`; returns the number of rows."""
    rows, count = iter(rows), 0
    while some := list(islice(rows, BATCH)):
        db.register("batch", pa.table(dict(zip(columns, map(list, zip(*some, strict=True)), strict=True))))
        db.execute(statement)
        count += len(some)
    return count


def fetch(db: DuckDBPyConnection, query: str) -> Iterator[tuple[str, ...]]:
    """The rows of a query, one by one."""
    cursor = db.execute(query)
    while some := cursor.fetchmany(BATCH):
        yield from some
