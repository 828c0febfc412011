"""The protocol of engines; the expressions in ``tables``, ``candidates`` and ``urls`` are the same for all."""

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
    """Jobs that run at a time."""

    def read(self, files: Sequence[str]) -> ir.Table:
        """Read Parquet files; raises MiningError. Broken UTF-8 in a string is replaced."""

    def add(self, table: ir.Table, function: BatchFunction, fields: Fields, name: str) -> ir.Table:
        """Add the columns *fields* that *function* computes, and keep the result under *name*."""

    def keep(self, table: ir.Table, name: str) -> ir.Table:
        """Compute *table* once and keep it under *name*."""

    def write(self, table: ir.Table, folder: Path, by: str | None = None) -> None:
        """Write *table* into the new *folder* as Parquet, partitioned into folders ``by=value`` if *by* is given."""

    def each(self, job: Callable[[int], object], numbers: Iterable[int]) -> Iterator[tuple[int, BaseException | None]]:
        """Run *job* for each number in other processes; yield (number, error or None), in any order.

        *job* may run more than once for a number.
        """
