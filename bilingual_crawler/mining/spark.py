"""The engine of a cluster: PySpark. The folder of the mining must be one that all workers see."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import ibis

from bilingual_crawler import to_install
from bilingual_crawler.mining.stored import MiningError

try:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.functions import make_valid_utf8
except ImportError as error:
    raise MiningError(f"--engine spark needs PySpark: {to_install('spark')}") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa

    from bilingual_crawler.mining.duck import BatchFunction, Fields

_SPARK_TYPES = {"string": "string", "int64": "bigint"}
_ON_THIS_MACHINE = {
    "spark.master": "local[*]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}
"""Unless the configuration of Spark names a master."""


class SparkEngine:
    """Keeps its tables in the folder *work*. MiningError if Spark does not start."""

    def __init__(self, work: Path) -> None:
        self._work = work
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        configuration = SparkConf()
        if not configuration.contains("spark.master"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            configuration.setAll(list(_ON_THIS_MACHINE.items()))
        try:
            self._session = SparkSession.builder.config(conf=configuration).appName("scrapy mine").getOrCreate()
        except (PySparkException, OSError) as error:
            raise MiningError(f"Spark does not start: {error}; it needs Java 17 or newer") from error
        self._session.sparkContext.setLogLevel("ERROR")
        self.processes = self._session.sparkContext.defaultParallelism
        self._ibis = ibis.pyspark.connect(self._session)

    def read(self, files: Sequence[str]) -> ir.Table:
        name = f"mining_{abs(hash(tuple(files))):x}"
        try:
            frame = self._session.read.parquet(*files)
            texts = {column: make_valid_utf8(column) for column, kind in frame.dtypes if kind == "string"}
            frame.withColumns(texts).createOrReplaceTempView(name)
        except PySparkException as error:
            raise MiningError(f"{files[0]}: {error.getMessage()}") from error
        return self._ibis.table(name)

    def keep(self, table: ir.Table, name: str) -> ir.Table:
        return self._kept(self._frame(table), name)

    def add(self, table: ir.Table, function: BatchFunction, fields: Fields, name: str) -> ir.Table:
        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return map(function, batches)

        frame = self._frame(table)
        columns = [f"`{column}` {kind}" for column, kind in frame.dtypes]
        added = [f"`{column}` {_SPARK_TYPES[str(kind)]}" for column, kind in fields]
        return self._kept(frame.mapInArrow(run, ", ".join((*columns, *added))), name)

    def write(self, table: ir.Table, folder: Path, by: str | None = None) -> None:
        self._frame(table).write.partitionBy(*filter(None, (by,))).parquet(str(folder))

    def each(self, job: Callable[[int], object], numbers: Iterable[int]) -> Iterator[tuple[int, BaseException | None]]:
        def run(number: int) -> tuple[int, BaseException | None]:
            try:
                job(number)
            except Exception as error:
                return number, error
            return number, None

        listed = list(numbers)
        if not listed:
            return
        try:
            yield from self._session.sparkContext.parallelize(listed, len(listed)).map(run).collect()
        except Py4JError as error:  # a process died too often, and Spark tells of no other job either
            yield from ((number, error) for number in listed)

    def _frame(self, table: ir.Table) -> DataFrame:
        return self._session.sql(self._ibis.compile(table))

    def _kept(self, frame: DataFrame, name: str) -> ir.Table:
        folder = str(self._work / name)
        frame.write.mode("overwrite").parquet(folder)
        return self.read([folder])
