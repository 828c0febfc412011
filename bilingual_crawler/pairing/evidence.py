"""All that speaks for or against the candidate pairs of a domain, one column for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.structure import FEATURES, StructureMethod
from bilingual_crawler.pairing.url_method import UrlEvidence, url_evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.pairing.domain import Domain

URL_FEATURES = ("hreflang", "switcher", "key", "refused", "url_rivals_a", "url_rivals_b")
VIEWS = {"structure": FEATURES, "auto": (*URL_FEATURES, *FEATURES)}
"""Features that each judge sees."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Candidates, row by row, and their features."""

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    columns: dict[str, NDArray[np.float32]]


def gather(domain: Domain, *, urls: bool) -> Evidence:
    """Candidates found by index, and by URL if *urls*, with structure features, and URL features if *urls*."""
    method = StructureMethod(domain)
    i, j = method.candidates()
    found: dict[tuple[int, int], UrlEvidence] = url_evidence(domain) if urls else {}
    if found:
        more_i, more_j = np.array(list(found), dtype=np.intp).T
        codes = np.unique(np.concatenate((i, more_i)) * len(domain.b) + np.concatenate((j, more_j)))
        i, j = np.divmod(codes, max(len(domain.b), 1))
    columns = method.features(i, j)
    if urls:
        columns |= _url_columns(found, i, j)
    return Evidence(i, j, columns)


def _url_columns(
    found: dict[tuple[int, int], UrlEvidence], i: NDArray[np.intp], j: NDArray[np.intp]
) -> dict[str, NDArray[np.float32]]:
    nothing = UrlEvidence()
    rows = [found.get(places, nothing) for places in zip(i.tolist(), j.tolist(), strict=True)]
    columns = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.float32)
        for name in ("hreflang", "switcher", "key", "refused")
    }
    strong = (columns["hreflang"] > 0) | (columns["switcher"] == 2) | (columns["key"] > 0)
    for name, places in (("a", i), ("b", j)):
        counts = np.bincount(places, weights=strong, minlength=1)
        columns[f"url_rivals_{name}"] = (counts[places] - strong).astype(np.float32)
    return columns
