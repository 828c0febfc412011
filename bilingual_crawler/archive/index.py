"""A compact map from 64-bit keys to places, for indexes of millions of records (16 bytes per entry)."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def url_key(text: str) -> int:
    """Hash a text to 64 bits."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Index:
    """Keys, each with the first of its best places."""

    def __init__(self, keys: NDArray[np.uint64], places: NDArray[np.uint64]) -> None:
        self._keys = keys
        self._places = places

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, key: int) -> int | None:
        """Return the place of a key."""
        at = int(self._keys.searchsorted(np.uint64(key)))
        if at < len(self._keys) and int(self._keys[at]) == key:
            return int(self._places[at])
        return None


class IndexBuilder:
    """Collects entries for an ``Index``."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("Q")
        self._ranks = array("B")

    def add(self, key: int, place: int, rank: int) -> None:
        """Add a place for a key; the lowest rank (0 to 255) wins, then the first that was added."""
        self._keys.append(key)
        self._places.append(place)
        self._ranks.append(rank)

    def build(self) -> Index:
        """Make the index of all entries."""
        keys = np.frombuffer(self._keys, np.uint64)
        order = np.lexsort((np.frombuffer(self._ranks, np.uint8), keys))
        keys = keys[order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = keys[1:] != keys[:-1]
        return Index(keys[first], np.frombuffer(self._places, np.uint64)[order][first])
