"""Word sequences of a text, by which a page says something new or what another page has said."""

# apart from `words`, for it needs numpy, which takes long to import

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from bilingual_crawler.pages.words import LETTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_CHARACTERS = 100_000  # characters of a text that are read
SAMPLE = 4  # one in so many sequences is in the sample of a page

_WORD = re.compile(LETTERS)
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)  # odd, and different: order counts


def sequences(text: str, url: str = "") -> NDArray[np.uint32]:
    """Return the different hashes of word triples, sorted, without words of *url*, which error pages repeat."""
    return np.unique(_hashes(text, url))


def sample_of(text: str) -> bytes:
    """Return the sample of the sequences of *text*: an array of 32-bit numbers, 4 bytes for every fourth word."""
    found = _hashes(text)
    return bytes(np.unique(found[found % SAMPLE == 0]))


def _hashes(text: str, url: str = "") -> NDArray[np.uint32]:
    skipped = frozenset(_WORD.findall(url.lower()))
    words = _WORD.findall(text[:MAX_CHARACTERS].lower())
    if skipped:
        words = [word for word in words if word not in skipped]
    codes = np.fromiter(map(crc32, " ".join(words).encode("utf-8", "replace").split()), dtype=np.uint32)
    hashes: NDArray[np.uint32] = codes[:-2] * _FACTORS[0] + codes[1:-1] * _FACTORS[1] + codes[2:] * _FACTORS[2]
    return hashes
