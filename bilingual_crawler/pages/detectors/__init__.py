"""Detectors of languages by name."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bilingual_crawler.pages.detectors.base import Ensemble
from bilingual_crawler.plugins import LANGUAGE_DETECTORS

if TYPE_CHECKING:
    from bilingual_crawler.pages.detectors.base import LanguageDetector


@lru_cache
def load_detector(names: tuple[str, ...]) -> LanguageDetector:
    """The detector called *names*, or the vote of several; raises ContentError if one cannot be loaded."""
    return Ensemble(list(map(_load, names))) if len(names) > 1 else _load(names[0])


def _load(text: str) -> LanguageDetector:
    name, arguments = LANGUAGE_DETECTORS.split(text)
    detector: LanguageDetector = LANGUAGE_DETECTORS.find(name)(*arguments)
    return detector
