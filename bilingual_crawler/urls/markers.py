"""Language marks in URLs: find them, guess by them, strip them for comparison, swap them for the other language."""

from __future__ import annotations

from bilingual_crawler.urls.find import Component, Marker, find_markers, guess_language, marked_language
from bilingual_crawler.urls.strip import strip_language
from bilingual_crawler.urls.swap import swap_language

__all__ = [
    "Component",
    "Marker",
    "find_markers",
    "guess_language",
    "marked_language",
    "strip_language",
    "swap_language",
]
