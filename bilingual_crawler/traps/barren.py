"""Hosts and folders with many pages and no pair: mazes of generated text, and sites in one language."""

from __future__ import annotations

from cachetools import LRUCache

from bilingual_crawler.traps.shapes import folders

_FOLDERS = 100_000


class Barren:
    """Refuses URLs of a host or folder after *limit* of its pages without a single pair; 0 is never."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pages: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._fertile: LRUCache[str, bool] = LRUCache(_FOLDERS)
        self._barren: LRUCache[str, bool] = LRUCache(_FOLDERS)

    def learn(self, url: str) -> str | None:
        """Add the fetched page *url*; returns the folder that it makes barren, if any."""
        found = None
        for folder in folders(url) if self._limit else ():
            pages = self._pages[folder] = self._pages.get(folder, 0) + 1
            if pages >= self._limit and folder not in self._fertile and folder not in self._barren:
                self._barren[folder] = True
                found = found or folder
        return found

    def note_pair(self, *urls: str) -> None:
        """The pages *urls* are in a pair, so their folders are not barren."""
        for url in urls:
            for folder in folders(url):
                self._fertile[folder] = True
                self._barren.pop(folder, None)

    def refuses(self, url: str) -> bool:
        return bool(self._barren) and any(folder in self._barren for folder in folders(url))
