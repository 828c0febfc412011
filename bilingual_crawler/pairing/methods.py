"""The methods of document alignment by name: each turns a domain into scored candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bilingual_crawler.pairing.classifier import PairClassifier
from bilingual_crawler.pairing.evidence import gather
from bilingual_crawler.pairing.url_method import url_evidence, url_score

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.domain import Domain


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scored candidate pairs of one domain, row by row."""

    a: NDArray[np.intp]
    """Places in ``domain.a``."""
    b: NDArray[np.intp]
    scores: NDArray[np.float64]
    """0 to 1."""
    names: list[str]
    """What speaks most for each pair: ``hreflang``, ``switcher``, ``url``, ``structure`` or ``content``."""
    threshold: float
    """Score from which a candidate may become a pair."""


class Method(Protocol):
    """Finds and scores the candidates of a domain."""

    def __call__(self, domain: Domain) -> Candidates:
        """Score the candidates of *domain*."""


class UrlMethod:
    """Language marks in URLs, ``hreflang`` and language switchers; reads no text."""

    def __call__(self, domain: Domain) -> Candidates:
        """Score the pairs that have any such evidence."""
        evidence = url_evidence(domain)
        scored = [(*places, *url_score(found)) for places, found in evidence.items()]
        a, b, scores, names = zip(*scored, strict=True) if scored else ((), (), (), ())
        return Candidates(
            np.array(a, dtype=np.intp), np.array(b, dtype=np.intp), np.array(scores, dtype=float), list(names), 0.5
        )


class LearntMethod:
    """A trained judge over structure, and over URLs and announced links too for ``auto``."""

    def __init__(self, models: Path, view: str) -> None:
        self._classifier = PairClassifier(models, view)
        self._urls = view.startswith("auto")

    def __call__(self, domain: Domain) -> Candidates:
        """Score what the index finds, and what URLs suggest."""
        evidence = gather(domain, urls=self._urls)
        scores = self._classifier.probabilities(evidence.columns)
        names = np.full(len(scores), "structure", dtype=object)
        if self._urls:
            for column, least, name in (("key", 1, "url"), ("switcher", 2, "switcher"), ("hreflang", 1, "hreflang")):
                names[evidence.columns[column] >= least] = name
        return Candidates(evidence.a, evidence.b, scores, names.tolist(), self._classifier.view.threshold)


def make_method(name: str, models: Path) -> Method:
    """The method called *name* (``auto``, ``url``, ``content``, ``structure``); ModelError if its models are missing."""
    return UrlMethod() if name == "url" else LearntMethod(models, name)
