"""Compressed inputs as streams with progress, outputs that appear only when they are complete."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, cast

from bilingual_crawler.storage.files import replacing
from training.common.data import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.progress import Progress

    from training.common.data import BadRow

PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
SHOWN = 5


@dataclass(slots=True)
class Account:
    """Counts of the rows of one input; `unit` is their name."""

    name: str
    unit: str = "line"
    read: int = 0
    """Readable rows."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Readable rows that are left out, by reason."""
    bad: int = 0
    first_bad: list[BadRow] = field(default_factory=list)

    def reject(self, row: BadRow) -> None:
        """Count a row that could not be read."""
        self.bad += 1
        if len(self.first_bad) < SHOWN:
            self.first_bad.append(row)

    def report(self) -> str:
        """One line: how many rows were read, left out and bad."""
        parts = [f"{self.name}: {self.read:,} {self.unit}s"]
        parts += [f"{count:,} left out ({reason})" for reason, count in self.left_out.most_common() if count]
        if self.bad:
            first = ", ".join(f"{self.unit} {row.line} ({row.reason})" for row in self.first_bad)
            parts.append(f"{self.bad:,} bad: {first}{', …' if self.bad > SHOWN else ''}")
        return "; ".join(parts)


def shown_name(path: Path) -> str:
    """A file's name after that of its folder."""
    return "/".join(path.parts[-2:])


def unpacked_name(path: Path) -> str:
    """File name without the ending of the compression: ``a.tmx`` for ``a.tmx.gz``."""
    return path.stem if path.suffix in PACKED else path.name


@contextmanager
def open_input(path: Path, progress: Progress) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file, whose reading is shown; DataError if they cannot be read to the end."""
    task = progress.add_task(path.name)
    try:
        with progress.open(path, "rb", task_id=task) as file:
            raw = cast("IO[bytes]", file)
            yield PACKED[path.suffix](raw) if path.suffix in PACKED else raw
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path}: {error}") from error
    finally:
        progress.remove_task(task)


@contextmanager
def write_tsv(path: Path, columns: Sequence[str]) -> Iterator[Callable[[Sequence[str]], object]]:
    """What writes rows to a .tsv or .tsv.gz file, which appears when the block ends well. Equal rows, equal bytes."""
    with (
        replacing(path) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw as bytes_,
        io.TextIOWrapper(bytes_, encoding="utf-8", newline="\n") as text,
    ):
        text.write("\t".join(columns) + "\n")
        yield lambda row: text.write("\t".join(row) + "\n")
