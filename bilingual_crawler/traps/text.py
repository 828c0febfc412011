"""Texts as sets of word sequences, to find new text."""

from __future__ import annotations

import re
from zlib import crc32

MAX_CHARACTERS = 100_000
"""Characters of a text that are read."""

_WORD = re.compile(r"[^\W\d_]+")


def sequences(text: str, url: str = "") -> set[int]:
    """Hashes of all word triples, without numbers and without words of *url*, which error pages often repeat."""
    skipped = frozenset(_WORD.findall(url.lower()))
    words = [word for word in _WORD.findall(text[:MAX_CHARACTERS].lower()) if word not in skipped]
    return {
        crc32(" ".join(three).encode("utf-8", "replace")) for three in zip(words, words[1:], words[2:], strict=False)
    }
