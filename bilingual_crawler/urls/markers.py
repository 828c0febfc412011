"""Language marks in URLs: find them, read the language from them, strip them for comparison."""

from __future__ import annotations

from bilingual_crawler.urls.find import Component, Marker, find_markers, marked_language
from bilingual_crawler.urls.strip import strip_language

__all__ = [
    "Component",
    "Marker",
    "find_markers",
    "marked_language",
    "strip_language",
]
