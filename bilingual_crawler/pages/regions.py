"""The part of the page that an element holds, by its class and id."""

from __future__ import annotations

import re
from functools import lru_cache

from bilingual_crawler.pages.tables import EDGE_OWNERS, NAVIGATION_WORDS, SWITCHER_WORDS

NAVIGATION = 1
SWITCHER = 2

_EDGES = frozenset(("header", "footer", "head", "foot"))
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])")
_MAX_WORDS = 4


@lru_cache(maxsize=16384)
def region_of(names: str) -> int:
    """:data:`NAVIGATION` and :data:`SWITCHER` as bits, from class and id names separated by blanks."""
    bits = 0
    for name in names.split():
        if "." in name or ":" in name or len(name) > 60:
            continue
        words = _WORD.findall(_CAMEL.sub(" ", name).lower())
        if len(words) > _MAX_WORDS:
            continue
        if not NAVIGATION_WORDS.isdisjoint(words) or _is_edge(words):
            bits |= NAVIGATION
        if not SWITCHER_WORDS.isdisjoint(words):
            bits |= SWITCHER
    return bits


def _is_edge(words: list[str]) -> bool:
    """Whether *words* name the header or footer of the page rather than of an entry in it."""
    return not _EDGES.isdisjoint(words) and (words[0] in _EDGES or not EDGE_OWNERS.isdisjoint(words))


_HIDING = re.compile(r"(?i)(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)")


def is_hidden(attributes: dict[str, str | None]) -> bool:
    """Whether an element with these attributes is invisible."""
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and _HIDING.search(style or "") is not None
