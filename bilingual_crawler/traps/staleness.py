"""Groups of URLs whose pages stopped saying anything new: calendars, facets, sort orders, session ids, loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.traps.shapes import shapes

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

STALE_PAGES = 20
"""Pages in a row that say nothing new, after which a group of URLs is left; a whole folder after three times as many.
The longest such row on the training sites is 3, in a folder 7."""
NEW_SHARE = 0.05
"""Share of a page's word sequences that are new to its group, from which it says something new."""
_BITS = 1 << 17
_GROUPS = 1000
_SAMPLE = 3


class _Group:
    """Remembers a quarter of the word sequences of its pages in 16 kB; when half full it forgets them all."""

    __slots__ = ("bits", "held", "row")

    def __init__(self) -> None:
        self.bits = bytearray(_BITS // 8)
        self.held = 0
        self.row = 0

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
        self.row = self.row + 1 if new <= NEW_SHARE * len(sample) else 0


class Staleness:
    """Learns from each page of a host, and refuses URLs of groups that are stale. Bounded: 1,000 groups."""

    def __init__(self) -> None:
        self._groups: LRUCache[str, _Group] = LRUCache(_GROUPS)
        self._stale: LRUCache[str, bool] = LRUCache(10 * _GROUPS)

    def learn(self, url: str, text: AbstractSet[int]) -> str | None:
        """Note the page *url* with its word sequences; returns the group that it makes stale, if any."""
        sample = [value for value in text if not value & _SAMPLE]
        found = None
        for shape in shapes(url):
            group = self._groups.get(shape)
            if group is None:
                group = self._groups[shape] = _Group()
            group.read(sample)
            if group.row >= STALE_PAGES * (3 if shape.endswith("/*") else 1) and shape not in self._stale:
                self._stale[shape] = True
                found = found or shape
        return found

    def refuses(self, url: str) -> bool:
        return bool(self._stale) and any(shape in self._stale for shape in shapes(url))
