"""The documents of our own crawls as a table."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bilingual_crawler.archive.ranges import NoRecord, check_place
from bilingual_crawler.files import LeftOut
from bilingual_crawler.records import DOCUMENTS, NO_RECORD, read_json_lines
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

_ROWS = 10_000
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("url", "domain", "language", "digest", "warc_file")),
        *((name, pa.int64()) for name in ("warc_offset", "warc_length", "size")),
        ("announced", pa.list_(pa.string())),
    ]
)


def is_crawl(path: Path) -> bool:
    """Whether *path* is the output folder of a crawl."""
    return (path / DOCUMENTS).exists()


def table_of_crawl(folder: Path, work: Path) -> Path:
    """Write the documents of the crawl in *folder* as Parquet into *work*; returns the file.

    They have no record length: the archive of a crawl is beside them.
    """
    table = work / f"crawl-{hashlib.sha1(str(folder.resolve()).encode()).hexdigest()}.parquet"
    with pq.ParquetWriter(table, _SCHEMA) as writer:
        for rows in _in_lots(folder):
            writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return table


def _in_lots(folder: Path) -> Iterator[list[dict[str, object]]]:
    rows: list[dict[str, object]] = []
    left_out = LeftOut()
    for document in read_json_lines(folder / DOCUMENTS, left_out):
        try:
            rows.append(_row(document, folder))
        except (NoRecord, KeyError, TypeError, ValueError, AttributeError):
            left_out.add(NO_RECORD, f"{folder / DOCUMENTS}, {document['url']}")
            continue
        if len(rows) == _ROWS:
            yield rows
            rows = []
    yield rows


def _row(document: Mapping[str, Any], folder: Path) -> dict[str, object]:
    file, offset, language = document["warc_file"], document["warc_offset"], document["language"]
    if not (isinstance(language, str) and (file is None or (isinstance(file, str) and isinstance(offset, int)))):
        raise TypeError
    if file is not None:
        check_place(file, offset, 1)
    text = document["text"]
    return {
        "url": document["url"],
        "domain": registered_domain(document["url"]),
        "language": language,
        "digest": hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "warc_file": str(folder.resolve() / file) if file else None,
        "warc_offset": offset,
        "warc_length": None,
        "size": len(text),
        "announced": [str(url) for _, url in document.get("alternates") or ()],
    }
