"""A store of the frontier: LMDB in the folder of the URL, such as one on a fast disk."""

from __future__ import annotations

from pathlib import Path

from bilingual_crawler.frontier.lmdb_store import LmdbStore


class FolderStore(LmdbStore):
    """``folder:///fast/disk``."""

    def __init__(self, url: str, worker: str) -> None:
        super().__init__(Path(url.partition("://")[2]))
