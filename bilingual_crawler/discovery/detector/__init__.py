"""Detectors of bilingual sites by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.discovery.detector.barbosa import BarbosaDetector, LinkPredictor
from bilingual_crawler.discovery.detector.base import DetectorError
from bilingual_crawler.discovery.detector.evidence import EvidenceDetector
from bilingual_crawler.discovery.detector.weights import EvidenceWeights
from bilingual_crawler.pairing.resemblance import Weights
from bilingual_crawler.scoring.models import LanguageModel, models_folder

if TYPE_CHECKING:
    from pathlib import Path

    from bilingual_crawler.discovery.detector.base import Detector

DETECTORS = ("evidence", "barbosa")


def load_detector(name: str, models_dir: Path | None = None) -> Detector:
    """The detector called *name* with the models in *models_dir*, or those that come with the package.

    Raises DetectorError for a name that there is not, ModelError for a model that is missing or unreadable.
    """
    models = models_folder(models_dir)
    if name == "evidence":
        weights = EvidenceWeights.load(models)
        return EvidenceDetector(weights, Weights.load(models), LanguageModel(models / "url-language"))
    if name == "barbosa":
        return BarbosaDetector(LinkPredictor.load(models))
    raise DetectorError(f"detector={name}: choose one of {', '.join(DETECTORS)}")
