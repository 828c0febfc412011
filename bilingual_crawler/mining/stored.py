"""JSON files in the folder of a mining."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from bilingual_crawler.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    Stored = TypeVar("Stored")


def store(file: Path, value: object) -> None:
    """Write *value* as JSON."""
    with replacing(file) as part:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(value)))


def stored(file: Path, kind: type[Stored]) -> Stored | None:
    """What :func:`store` wrote; None if there is no file."""
    return msgspec.json.decode(file.read_bytes(), type=kind) if file.exists() else None
