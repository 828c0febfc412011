"""What the engines cannot tell of a URL: its comparison key, its language mark, its registered domain."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import pyarrow as pa

from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

KEYS = (("key", pa.string()), ("marked", pa.string()), ("of_domain", pa.int64()), ("of_directory", pa.int64()))
DOMAINS = (("domain", pa.string()),)


def add_keys(pages: pa.RecordBatch, languages: Collection[str] | None) -> pa.RecordBatch:
    """*pages* and, of each ``url``, what its pair is looked for by; only marks of *languages* count, if given.

    ``key``: the URL without language marks. ``marked``: the language that it names, ISO 639-3, or null. ``of_domain``,
    ``of_directory``: checksums of the domain, and of the domain with the directory of the key; a large domain is cut by
    the latter.
    """
    urls, domains = pages["url"].to_pylist(), pages["domain"].to_pylist()
    wanted = None if languages is None else frozenset(languages)
    # both of one URL at a time, because both need its marks, which are cached
    found = [(strip_language(url, wanted), marked_language(url, wanted)) for url in urls]
    keys, marked = zip(*found, strict=True) if found else ((), ())
    of_domain = [crc32(domain.encode()) for domain in domains]
    directories = (key.partition("?")[0].rpartition("/")[0] for key in keys)
    of_directory = [crc32(path.encode(), domain) for path, domain in zip(directories, of_domain, strict=True)]
    columns = (keys, marked, of_domain, of_directory)
    return _with(pages, KEYS, columns)


def add_domains(hosts: pa.RecordBatch) -> pa.RecordBatch:
    """*hosts* and the registered domain of each ``host``."""
    return _with(hosts, DOMAINS, ([registered_domain(host) for host in hosts["host"].to_pylist()],))


def _with(
    batch: pa.RecordBatch, fields: tuple[tuple[str, pa.DataType], ...], columns: tuple[Sequence[object], ...]
) -> pa.RecordBatch:
    added = [pa.array(column, kind) for (_, kind), column in zip(fields, columns, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *added], schema=pa.schema([*batch.schema, *(pa.field(*field) for field in fields)])
    )
