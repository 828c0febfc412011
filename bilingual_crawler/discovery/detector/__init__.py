"""Detectors of bilingual sites by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.plugins import SITE_DETECTORS

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bilingual_crawler.discovery.detector.base import Detector, LoadedDetector
    from bilingual_crawler.scoring.models import LanguageModel


def load_detector(name: str, models: Traversable, language_model: LanguageModel) -> Detector:
    """The detector called *name* with the weights in the folder *models*.

    Raises PluginError for an unknown name, ModelError for missing or unreadable weights.
    """
    kind: type[LoadedDetector] = SITE_DETECTORS.find(name)
    return kind.load(models, language_model)
