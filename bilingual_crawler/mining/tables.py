"""Tables of pages under the names that mining has for their columns, whatever they are called where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
from ibis import _ as row

from bilingual_crawler.mining.crawls import table_of_crawl
from bilingual_crawler.mining.errors import MiningError
from bilingual_crawler.mining.keys import DOMAINS, add_domains

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import ibis.expr.types as ir

    from bilingual_crawler.mining.engine import Engine

REQUIRED = {
    "url": ("url",),
    "languages": ("content_languages", "languages", "language"),
    "file": ("warc_filename", "warc_file"),
    "offset": ("warc_record_offset", "warc_offset"),
    "length": ("warc_record_length", "warc_length"),
}
"""Our names of columns, and what they are called in tables: Common Crawl's name first."""
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
    """The pages of crawls, and of Parquet *files* that have the same columns: an index of Common Crawl, or another one.

    Columns: url, domain (registered), language (main one, ISO 639-3), digest, file, offset, length, size (what the
    longest of duplicates is told by) and, if one of the tables has it, announced (URLs of translations). Only HTML
    pages with status 200, where the table knows that. MiningError names a column that is missing.
    """
    read = [(engine.read([str(table_of_crawl(folder, work))]), str(folder)) for folder in crawls]
    if files:
        read.append((engine.read(files), files[0]))
    announced = any("announced" in table.columns for table, where in read)
    tables = [_named(table, where, announced) for table, where in read]
    return ibis.union(*tables) if len(tables) > 1 else tables[0]


def with_domains(engine: Engine, pages: ir.Table) -> ir.Table:
    """*pages* with the registered domain, where they have none, of their host."""
    host = ibis.ifelse(row.domain.isnull(), row.url.re_extract(_HOST, 1), ibis.null("string"))
    hosted = pages.mutate(host=host)
    hosts = hosted.filter(row.host.notnull()).select("host").distinct()
    found = engine.add(hosts, add_domains, DOMAINS, "hosts").rename(found="domain")
    return hosted.left_join(found, "host").mutate(domain=ibis.coalesce(row.domain, row.found)).select(*pages.columns)


def _named(table: ir.Table, where: str, announced: bool) -> ir.Table:
    columns = set(table.columns)
    found = {ours: next(filter(columns.__contains__, theirs), None) for ours, theirs in (REQUIRED | OPTIONAL).items()}
    for ours, theirs in REQUIRED.items():
        if found[ours] is None:
            raise MiningError(f"{where}: no column {theirs[0]}; give a table that has it, or call it so")
    pages = table
    if "fetch_status" in columns:
        pages = pages.filter(row.fetch_status == 200)
    if "content_mime_detected" in columns:
        pages = pages.filter(row.content_mime_detected.isin(_HTML))
    values = {
        ours: (ibis.null() if theirs is None else pages[theirs]).cast(_TYPES.get(ours, "string"))
        for ours, theirs in found.items()
    }
    language = values.pop("languages").split(",")[0]
    if not announced:
        del values["announced"]
    known = row.url.notnull() & row.language.notnull() & (row.language != "")
    return pages.select(**values, language=language).filter(known)
