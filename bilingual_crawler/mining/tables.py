"""Tables of pages under common column names: crawls, Common Crawl's index, and tables like it."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _ as row

from bilingual_crawler.mining.stored import MiningError
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.storage.records import DOCUMENTS, NO_RECORD, read_json_lines
from bilingual_crawler.storage.warc import NoRecord, check_place
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import ibis.expr.types as ir

    from bilingual_crawler.mining.duck import Engine, Fields

_ROWS = 10_000
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("url", "domain", "language", "digest", "warc_file")),
        *((name, pa.int64()) for name in ("warc_offset", "warc_length", "size")),
        ("announced", pa.list_(pa.string())),
    ]
)


def is_crawl(path: Path) -> bool:
    return (path / DOCUMENTS).exists()


def table_of_crawl(folder: Path, work: Path) -> Path:
    """Write the documents of the crawl in *folder*, without record lengths, as a Parquet file into *work*."""
    table = work / f"crawl-{hashlib.sha1(str(folder.resolve()).encode()).hexdigest()}.parquet"
    left_out = LeftOut()
    documents = read_json_lines(folder / DOCUMENTS, left_out)
    with pq.ParquetWriter(table, _SCHEMA) as writer:
        while some := list(islice(documents, _ROWS)):
            rows = []
            for document in some:
                try:
                    rows.append(_row(document, folder))
                except (NoRecord, KeyError, TypeError, ValueError, AttributeError):
                    left_out.add(NO_RECORD, f"{folder / DOCUMENTS}, {document['url']}")
            writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return table


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


REQUIRED = {
    "url": ("url",),
    "languages": ("content_languages", "languages", "language"),
    "file": ("warc_filename", "warc_file"),
    "offset": ("warc_record_offset", "warc_offset"),
    "length": ("warc_record_length", "warc_length"),
}
"""Common column names to names in tables, Common Crawl's first."""
OPTIONAL = {
    "domain": ("url_host_private_domain", "domain"),
    "digest": ("content_digest", "digest"),
    "size": ("size", "warc_record_length", "warc_length"),
    "announced": ("announced",),
}
_TYPES = {"offset": "int64", "length": "int64", "size": "int64", "announced": "array<string>"}
_HTML = ("text/html", "application/xhtml+xml")
_HOST = r"^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#:]+)"


def read_tables(engine: Engine, crawls: Sequence[Path], files: Sequence[str], work: Path) -> ir.Table:
    """Read the pages of crawls and of Parquet *files*, which have the columns of one index, such as Common Crawl's.

    Columns: url, domain (registered), language (main one, ISO 639-3), digest, file, offset, length, size (decides among
    duplicates) and, if a table has it, announced (URLs of translations). Only HTML with status 200. Raises MiningError.
    """
    read = [(engine.read([str(table_of_crawl(folder, work))]), str(folder)) for folder in crawls]
    if files:
        read.append((engine.read(files), files[0]))
    announced = any("announced" in table.columns for table, _ in read)
    tables = [_named(table, where, announced) for table, where in read]
    return ibis.union(*tables) if len(tables) > 1 else tables[0]


def with_columns(batch: pa.RecordBatch, fields: Fields, columns: Sequence[Sequence[object]]) -> pa.RecordBatch:
    added = [pa.array(column, kind) for (_, kind), column in zip(fields, columns, strict=True)]
    schema = pa.schema([*batch.schema, *(pa.field(*field) for field in fields)])
    return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)


DOMAINS = (("domain", pa.string()),)


def add_domains(hosts: pa.RecordBatch) -> pa.RecordBatch:
    return with_columns(hosts, DOMAINS, [[registered_domain(host) for host in hosts["host"].to_pylist()]])


def with_domains(engine: Engine, pages: ir.Table) -> ir.Table:
    """Fill missing domains of *pages* with the registered domain of the host."""
    host = ibis.ifelse(row.domain.isnull(), row.url.re_extract(_HOST, 1), ibis.null("string"))
    hosted = pages.mutate(host=host)
    hosts = hosted.filter(row.host.notnull()).select("host").distinct()
    found = engine.add(hosts, add_domains, DOMAINS, "hosts").rename(found="domain")
    return hosted.left_join(found, "host").mutate(domain=ibis.coalesce(row.domain, row.found)).select(*pages.columns)


def _named(table: ir.Table, where: str, announced: bool) -> ir.Table:
    columns = set(table.columns)
    found = {ours: next(filter(columns.__contains__, theirs), None) for ours, theirs in (REQUIRED | OPTIONAL).items()}
    if missing := next((theirs[0] for ours, theirs in REQUIRED.items() if found[ours] is None), None):
        raise MiningError(f"{where}: no column {missing}; give a table that has it, or call it so")
    pages = table
    if "fetch_status" in columns:
        pages = pages.filter(row.fetch_status == 200)
    if "content_mime_detected" in columns:
        pages = pages.filter(row.content_mime_detected.isin(_HTML))
    kept = {ours: ibis.null() if theirs is None else pages[theirs] for ours, theirs in found.items()}
    values = {ours: column.cast(_TYPES.get(ours, "string")) for ours, column in kept.items()}
    language = values.pop("languages").split(",")[0]
    if not announced:
        del values["announced"]
    known = row.url.notnull() & row.language.notnull() & (row.language != "")
    return pages.select(**values, language=language).filter(known)
