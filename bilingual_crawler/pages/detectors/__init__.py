"""Detectors of languages by name."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bilingual_crawler.pages.detectors.base import Ensemble

if TYPE_CHECKING:
    from bilingual_crawler.pages.detectors.base import LanguageDetector

CLD2, HELIPORT, FASTTEXT = "cld2", "heliport", "fasttext:"
"""The names of detectors; the path of a model follows the last."""


@lru_cache
def load_detector(names: tuple[str, ...]) -> LanguageDetector:
    """The detector called *names*, or the vote of several; raises ContentError if one cannot be loaded."""
    return Ensemble(list(map(_load, names))) if len(names) > 1 else _load(names[0])


def _load(name: str) -> LanguageDetector:
    # each takes time or memory, and all but the first need an extra
    if name == CLD2:
        from bilingual_crawler.pages.detectors.cld2 import Cld2

        return Cld2()
    if name == HELIPORT:
        from bilingual_crawler.pages.detectors.heliport import Heliport

        return Heliport()
    from bilingual_crawler.pages.detectors.fasttext import FastText

    return FastText(name.removeprefix(FASTTEXT))
