"""Read and write WARC files: a crawl is archived, and can be crawled again without the network."""

from __future__ import annotations

from bilingual_crawler.storage.archive import Archive, Redirect, iter_responses, open_archive
from bilingual_crawler.storage.sites import alias_hosts, bases
from bilingual_crawler.storage.warc import ArchivedResponse, ArchiveError
from bilingual_crawler.storage.writer import Exchange, WarcLocation, WarcWriter

__all__ = [
    "Archive",
    "ArchiveError",
    "ArchivedResponse",
    "Exchange",
    "Redirect",
    "WarcLocation",
    "WarcWriter",
    "alias_hosts",
    "bases",
    "iter_responses",
    "open_archive",
]
