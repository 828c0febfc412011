"""Detectors of bilingual sites by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.alignment.documents.resemblance import ResemblanceWeights
from bilingual_crawler.discovery.detector.barbosa import BarbosaDetector, LinkPredictor
from bilingual_crawler.discovery.detector.base import DetectorError
from bilingual_crawler.discovery.detector.evidence import EvidenceDetector
from bilingual_crawler.discovery.detector.pairs import EvidenceWeights

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bilingual_crawler.discovery.detector.base import Detector
    from bilingual_crawler.scoring.models import LanguageModel

DETECTORS = ("evidence", "barbosa")


def load_detector(name: str, models: Traversable, language_model: LanguageModel) -> Detector:
    """The detector called *name* with the weights in the folder *models*.

    Raises DetectorError for an unknown name, ModelError for missing or unreadable weights.
    """
    if name == "evidence":
        return EvidenceDetector(EvidenceWeights.load(models), ResemblanceWeights.load(models), language_model)
    if name == "barbosa":
        return BarbosaDetector(LinkPredictor.load(models))
    raise DetectorError(f"detector={name}: choose one of {', '.join(DETECTORS)}")
