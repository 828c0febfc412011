"""The methods of document alignment by name: each turns a domain into scored candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bilingual_crawler.pairing.url_method import url_evidence, url_score

if TYPE_CHECKING:
    from collections.abc import Callable

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


Method: TypeAlias = "Callable[[Domain], Candidates]"


def url_method(domain: Domain) -> Candidates:
    """Language marks in URLs, ``hreflang`` and language switchers; reads no text."""
    evidence = url_evidence(domain)
    scored = [(*places, *url_score(found)) for places, found in evidence.items()]
    a, b, scores, names = zip(*scored, strict=True) if scored else ((), (), (), ())
    return Candidates(
        np.array(a, dtype=np.intp), np.array(b, dtype=np.intp), np.array(scores, dtype=float), list(names), 0.5
    )


METHODS: dict[str, Method] = {"url": url_method}
"""Choices of ``--method``."""
