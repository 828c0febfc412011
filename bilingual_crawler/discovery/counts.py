"""Counts by name in a column of a table: ``eng:40 mlt:12``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.languages import LanguageError, parse_language

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_counts(counts: Mapping[str, int]) -> str:
    """The greatest first."""
    return " ".join(f"{name}:{count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def read_pages(text: str) -> Counter[str]:
    """Pages by language (ISO 639-3), however the languages are named; raises ValueError."""
    pages: Counter[str] = Counter()
    for part in text.split():
        code, _, count = part.partition(":")
        try:
            pages[parse_language(code)] += int(count)
        except (LanguageError, ValueError):
            raise ValueError("pages not as in mlt:12 eng:40") from None
    return pages
