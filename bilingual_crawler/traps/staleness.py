"""Groups of URLs whose pages have no new text: calendars, facets, sort orders, session ids, loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.traps.shapes import shapes

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

FOLDER_FACTOR = 3
"""Factor of the limit for a whole folder."""
PAIRS_FACTOR = 10
"""Factor of the limit for pages in pairs: a template that is filled in for every town or product is translated as well,
and so are some calendars."""
NEW_SHARE = 0.05
"""Share of new word sequences, relative to its group, above which a page has new text."""
_BITS = 1 << 17
_GROUPS = 1000
_SAMPLE = 3


class _Group:
    """Keeps a quarter of the word sequences of its pages in 16 kB. When half full it deletes them all."""

    __slots__ = ("alone", "bits", "held", "row")

    def __init__(self) -> None:
        self.bits = bytearray(_BITS // 8)
        self.held = 0
        self.row = 0
        self.alone = 0

    def read(self, sample: list[int]) -> None:
        new = 0
        for value in sample:
            place = (value >> 2) % _BITS
            if not self.bits[place >> 3] >> (place & 7) & 1:
                self.bits[place >> 3] |= 1 << (place & 7)
                new += 1
        self.held += new
        if self.held > _BITS // 2:
            self.bits = bytearray(_BITS // 8)
            self.held = 0
        stale = new <= NEW_SHARE * len(sample)
        self.row = self.row + 1 if stale else 0
        self.alone = self.alone + 1 if stale else 0


class Staleness:
    """Learns from each page of a host, and refuses URLs of groups that are stale. Bounded: 1,000 groups.

    A group is stale after *limit* pages in a row without new text and in no pair; 0 is never.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._groups: LRUCache[str, _Group] = LRUCache(_GROUPS)
        self._stale: LRUCache[str, bool] = LRUCache(10 * _GROUPS)

    def learn(self, url: str, text: AbstractSet[int]) -> str | None:
        """Add the page *url* with its word sequences; returns the group that it makes stale, if any."""
        sample = [value for value in text if not value & _SAMPLE]
        found = None
        for shape in shapes(url):
            group = self._groups.get(shape)
            if group is None:
                group = self._groups[shape] = _Group()
            group.read(sample)
            limit = self._limit * (FOLDER_FACTOR if shape.endswith("/*") else 1)
            if 0 < limit <= max(group.alone, group.row // PAIRS_FACTOR) and shape not in self._stale:
                self._stale[shape] = True
                found = found or shape
        return found

    def note_pair(self, *urls: str) -> None:
        """The pages *urls* are in a pair, so they do not count as stale pages of their groups."""
        for url in urls:
            for shape in shapes(url):
                if shape in self._groups:
                    group = self._groups[shape]
                    group.alone = max(0, group.alone - 1)

    def refuses(self, url: str) -> bool:
        return bool(self._stale) and any(shape in self._stale for shape in shapes(url))
