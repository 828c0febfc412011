"""Files in the folder of a mining: each is complete, or not there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Stored = TypeVar("Stored")


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield the path to write to; what is there at the end becomes *file*, and an old *file* stays until then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # a process that is mining the same bucket again has another one
    part = file.with_name(f".{file.name}.{os.getpid()}")
    yield part
    part.replace(file)


def store(file: Path, value: object) -> None:
    """Write *value* as JSON."""
    with replacing(file) as part:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(value)))


def stored(file: Path, kind: type[Stored]) -> Stored | None:
    """What :func:`store` wrote; None if there is no file."""
    return msgspec.json.decode(file.read_bytes(), type=kind) if file.exists() else None
