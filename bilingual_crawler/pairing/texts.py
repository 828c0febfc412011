"""Texts that are documents by themselves: JSON Lines."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from bilingual_crawler.archive.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENDINGS = (".jsonl", ".jsonl.gz")


def has_texts(path: Path) -> bool:
    """Whether *path* is a file of texts, by its name."""
    return path.name.endswith(_ENDINGS) and path.is_file()


def read_texts(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in the file *path*, with the keys ``url`` and ``text`` and perhaps those of a crawl's documents.

    Raises ArchiveError that names the first line that is none.
    """
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                record = json.loads(line)
                if not (isinstance(record["url"], str) and isinstance(record["text"], str)):
                    raise TypeError
                yield record
    except (OSError, EOFError) as error:
        raise ArchiveError(path, f"cannot be read after line {number} ({error})") from error
    except (ValueError, TypeError, KeyError):
        raise ArchiveError(path, f"line {number} is no JSON object with the texts url and text") from None
