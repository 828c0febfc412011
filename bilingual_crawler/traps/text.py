"""Texts as sets of word sequences, to find new text."""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np

MAX_CHARACTERS = 100_000
"""Characters of a text that are read."""

_WORD = re.compile(r"[^\W\d_]+")
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)
"""Odd numbers, different for each place: the same words in another order are another sequence."""


def sequences(text: str, url: str = "") -> set[int]:
    """Hashes of all word triples, without numbers and without words of *url*, which error pages often repeat."""
    skipped = frozenset(_WORD.findall(url.lower()))
    words = [word for word in _WORD.findall(text[:MAX_CHARACTERS].lower()) if word not in skipped]
    codes = np.fromiter(map(crc32, " ".join(words).encode("utf-8", "replace").split()), dtype=np.uint32)
    return set((codes[:-2] * _FACTORS[0] + codes[1:-1] * _FACTORS[1] + codes[2:] * _FACTORS[2]).tolist())
