"""Files of a crawl: WARC archives and logs, written safe against a kill, read within bounds.

- ``files``: replace a file whole, lock a folder, open files of others within bounds.
- ``records``: gzip members, JSON lines and TSV logs that grow while a crawl runs.
- ``warc``: a WARC record: its header, its response, the index of its place.
- ``archive``: open archives, list their responses, answer requests from them.
- ``sites``: the WARC files behind a path; the metadata of frozen sites.
- ``writer``: write the exchanges of a crawl as WARC.

The room may import ``urls``, ``pages`` and ``options``. ``records`` imports neither Scrapy nor Twisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.storage.archive import Archive, Redirect, iter_responses, open_archive
    from bilingual_crawler.storage.records import GzipJsonLines, TsvLog, read_json_lines, read_tsv
    from bilingual_crawler.storage.warc import ArchivedResponse, ArchiveError
    from bilingual_crawler.storage.writer import Exchange, WarcLocation, WarcWriter
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("Archive", "Redirect", "iter_responses", "open_archive"), "archive"),
            **dict.fromkeys(("GzipJsonLines", "TsvLog", "read_json_lines", "read_tsv"), "records"),
            **dict.fromkeys(("ArchiveError", "ArchivedResponse"), "warc"),
            **dict.fromkeys(("Exchange", "WarcLocation", "WarcWriter"), "writer"),
        },
    )

__all__ = [
    "Archive",
    "ArchiveError",
    "ArchivedResponse",
    "Exchange",
    "GzipJsonLines",
    "Redirect",
    "TsvLog",
    "WarcLocation",
    "WarcWriter",
    "iter_responses",
    "open_archive",
    "read_json_lines",
    "read_tsv",
]
