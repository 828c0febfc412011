"""DuckDB as the sources use it: bounded memory, local files, and remote ones where its extensions are there."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bilingual_crawler import to_install
from bilingual_crawler.discovery.sources.base import SourceError

try:
    import duckdb as duckdb
    from duckdb import DuckDBPyConnection as DuckDBPyConnection
except ImportError as error:
    raise SourceError(f"Common Crawl's tables need DuckDB: {to_install('discovery')}") from error


MEMORY = "1GB"
"""Memory limit of DuckDB; the rest is on disk."""
THREADS = 4  # each of them needs a part of the memory


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[DuckDBPyConnection]:
    """An empty database in a temporary folder inside *folder* (the system's, if None)."""
    with TemporaryDirectory(prefix=".sources-", dir=folder) as place:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "threads": min(THREADS, os.cpu_count() or 1),
            "temp_directory": f"{place}/spilled",
            "preserve_insertion_order": "false",
        }
        with duckdb.connect(f"{place}/scratch.duckdb", config=config) as db:
            db.execute("SET enable_progress_bar = false")
            yield db


def damaged(place: object, error: duckdb.Error) -> SourceError:
    return SourceError(f"{place}: {first_line(error)}; download it again if it is damaged")


def first_line(error: duckdb.Error) -> str:
    """The cause; the lines after it are advice for users of DuckDB."""
    return str(error).partition("\n")[0]


def read_remote(db: DuckDBPyConnection, addresses: Sequence[str]) -> None:
    """Load what DuckDB needs for these addresses; for ``s3://`` the credentials are those that AWS tools use."""
    schemes = {address.partition("://")[0] for address in addresses if "://" in address}
    if unknown := schemes - {"s3", "http", "https"}:
        raise SourceError(f"{', '.join(sorted(unknown))}:// cannot be read: use s3://, https:// or a local path")
    extensions = (["httpfs"] if schemes else []) + (["aws"] if "s3" in schemes else [])
    try:
        for extension in extensions:
            db.execute(f"INSTALL {extension}; LOAD {extension}")
        if "s3" in schemes:
            db.execute("CREATE SECRET (TYPE s3, PROVIDER credential_chain, REGION 'us-east-1')")
    except duckdb.Error as error:
        remote = next(address for address in addresses if "://" in address)
        problem = f"DuckDB cannot read remote files here, download them first ({first_line(error)})"
        raise SourceError(f"{remote}: {problem}") from error
