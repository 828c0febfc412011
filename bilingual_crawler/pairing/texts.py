"""Texts that are documents by themselves: JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilingual_crawler.archive.errors import ArchiveError
from bilingual_crawler.archive.records import MAX_RECORD
from bilingual_crawler.files import DAMAGE, LeftOut, lines_within, open_packed
from bilingual_crawler.records import LINE_TOO_LONG, as_object

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENDINGS = (".jsonl", ".jsonl.gz")


def has_texts(path: Path) -> bool:
    """Whether *path* is a file of texts, by its name."""
    return path.name.endswith(_ENDINGS) and path.is_file()


def read_texts(path: Path, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    """The objects in the file *path*, with the keys ``url`` and ``text`` and perhaps those of a crawl's documents.

    Raises ArchiveError that names the first line that is none. *left_out* counts lines that are longer than a record of
    an archive can be.
    """
    number = 0
    try:
        with open_packed(path) as file:
            for line in lines_within(file, MAX_RECORD):
                number += 1
                if line is None:
                    left_out.add(LINE_TOO_LONG, f"{path}, line {number}")
                    continue
                record = as_object(line)
                if record is None or not all(isinstance(record.get(key), str) for key in ("url", "text")):
                    raise ArchiveError(path, f"line {number} is no JSON object with the texts url and text")
                yield record
    except DAMAGE as error:
        raise ArchiveError(path, f"cannot be read after line {number} ({error})") from error
