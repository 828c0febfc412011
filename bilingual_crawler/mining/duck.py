"""The protocol of engines, and that of one machine: DuckDB within bounded memory, and a pool of processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Protocol, TypeAlias

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from bilingual_crawler.discovery.sources.database import duckdb, first_line, read_remote
from bilingual_crawler.mining.stored import MiningError
from bilingual_crawler.pages.sandbox import pool as sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import ibis.expr.types as ir

    Fields: TypeAlias = tuple[tuple[str, pa.DataType], ...]
    BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


class Engine(Protocol):
    """Runs ibis expressions, functions of Arrow batches, and jobs, *processes* at a time."""

    processes: int

    def read(self, files: Sequence[str]) -> ir.Table:
        """Read Parquet files; raises MiningError. Broken UTF-8 in a string is replaced."""

    def add(self, table: ir.Table, function: BatchFunction, fields: Fields, name: str) -> ir.Table:
        """Add the columns *fields* that *function* computes, and keep the result under *name*."""

    def keep(self, table: ir.Table, name: str) -> ir.Table:
        """Compute *table* once and keep it under *name*."""

    def write(self, table: ir.Table, folder: Path, by: str | None = None) -> None:
        """Write *table* into the new *folder* as Parquet, partitioned into folders ``by=value`` if *by* is given."""

    def each(self, job: Callable[[int], object], numbers: Iterable[int]) -> Iterator[tuple[int, BaseException | None]]:
        """Run *job*, maybe again, for each number in other processes; yield (number, error or None), in any order."""


MEMORY = "2GB"
"""Memory of DuckDB; the rest spills to disk."""
ROWS = 50_000  # rows of a batch of a process
_AHEAD = 2  # jobs per process that are submitted ahead


class DuckEngine:
    """Keeps its tables in the folder *work*."""

    def __init__(self, work: Path, memory: str = MEMORY) -> None:
        self._work = work
        work.mkdir(parents=True, exist_ok=True)
        self.processes = os.cpu_count() or 1
        bounds = {"memory_limit": memory, "threads": self.processes, "temp_directory": str(work / "spilled")}
        self._ibis = ibis.duckdb.connect(**bounds, preserve_insertion_order=False)
        self._ibis.con.execute("SET enable_progress_bar = false")

    def read(self, files: Sequence[str]) -> ir.Table:
        read_remote(self._ibis.con, files)
        try:
            how = {"hive_partitioning": False, "union_by_name": False, "utf8_validation": "replace"}
            return self._ibis.read_parquet(list(files), **how)
        except duckdb.Error as error:
            raise MiningError(f"{files[0]}: {first_line(error)}; download it again if it is damaged") from error

    def keep(self, table: ir.Table, name: str) -> ir.Table:
        file = self._work / f"{name}.parquet"
        try:
            self._ibis.to_parquet(table, file, row_group_size=ROWS)
        except duckdb.Error as error:
            raise MiningError(f"{name}: {first_line(error)}") from error
        return self.read([str(file)])

    def add(self, table: ir.Table, function: BatchFunction, fields: Fields, name: str) -> ir.Table:
        self.keep(table, name)
        source = self._work / f"{name}.parquet"
        groups = pq.ParquetFile(source).num_row_groups
        if not groups:
            return table.mutate(**{field: ibis.null(str(kind)) for field, kind in fields})
        targets = [str(self._work / f"{name}-{group}.parquet") for group in range(groups)]
        if groups == 1:
            _add_to_group(function, source, 0, targets[0])
        else:
            with self._pool() as pool:
                for done in [pool.submit(_add_to_group, function, source, *each) for each in enumerate(targets)]:
                    done.result()
        source.unlink()
        return self.read(targets)

    def write(self, table: ir.Table, folder: Path, by: str | None = None) -> None:
        folder.mkdir(parents=True)  # DuckDB makes none for no rows
        if by is None:
            self._ibis.to_parquet(table, folder / "part-0.parquet")
        else:
            self._ibis.to_parquet(table, folder, partition_by=(by,))

    def each(self, job: Callable[[int], object], numbers: Iterable[int]) -> Iterator[tuple[int, BaseException | None]]:
        left = list(numbers)[::-1]
        while left:
            running: dict[Future[object], int] = {}
            with self._pool() as pool:
                whole = True
                while running or (left and whole):
                    while left and whole and len(running) < _AHEAD * self.processes:
                        number = left.pop()
                        running[pool.submit(job, number)] = number
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        error = future.exception()
                        # a process that dies takes the pool along, and all jobs that it had
                        whole = whole and not isinstance(error, BrokenProcessPool)
                        yield running.pop(future), error

    def _pool(self) -> ProcessPoolExecutor:
        # DuckDB has threads, which a fork would lose
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.processes, context, initializer=_begin)


def _begin() -> None:
    """End with the parent, which cannot end its processes if it is killed; end the helper process at the end."""
    Finalize(None, sandbox.close, exitpriority=0)
    parent = multiprocessing.parent_process()
    assert parent

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _add_to_group(function: BatchFunction, source: Path, group: int, target: str) -> None:
    table = pq.ParquetFile(source).read_row_group(group).combine_chunks()
    pq.write_table(pa.Table.from_batches(map(function, table.to_batches())), target)
