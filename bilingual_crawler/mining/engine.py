"""The protocol of an engine; the ibis expressions of the URL stage are the same for all engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa

    Fields: TypeAlias = tuple[tuple[str, pa.DataType], ...]
    BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


class Engine(Protocol):
    """Runs ibis expressions, functions of Arrow batches, and jobs."""

    processes: int
    """How many jobs run at a time."""

    def read(self, files: Sequence[str]) -> ir.Table:
        """The rows of Parquet files; MiningError if they cannot be read. Broken UTF-8 in a string is replaced."""

    def add(self, table: ir.Table, function: BatchFunction, fields: Fields, name: str) -> ir.Table:
        """*table* with the columns that *function* adds, as *fields* describes them; kept under *name*."""

    def keep(self, table: ir.Table, name: str) -> ir.Table:
        """*table*, computed once and kept under *name*."""

    def write(self, table: ir.Table, folder: Path, by: str | None = None) -> None:
        """Write *table* into the new *folder* as Parquet, with *by* a folder ``by=value`` for each value."""

    def each(self, job: Callable[[int], object], numbers: Iterable[int]) -> Iterator[tuple[int, BaseException | None]]:
        """Run *job* for each number in other processes; yield what went wrong, or None, in any order.

        *job* may be run more often than once for a number.
        """
