"""Read and write WARC files: a crawl is archived, and can be crawled again without the network."""

from __future__ import annotations

from .archive import Archive, Redirect, iter_responses, open_archive
from .errors import ArchiveError
from .records import ArchivedResponse
from .sites import alias_hosts, bases
from .writer import Exchange, WarcLocation, WarcWriter

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
