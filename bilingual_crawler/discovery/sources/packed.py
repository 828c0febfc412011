"""Text files of the sources, packed with gzip or not."""

from __future__ import annotations

import gzip
import zlib
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pathlib import Path

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading such a file may raise."""


def open_packed(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
