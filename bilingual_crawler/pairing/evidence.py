"""All that speaks for or against the candidate pairs of a domain, one column for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.content import CONTENT_FEATURES, content_columns, document_space, sentence_space
from bilingual_crawler.pairing.editions import Editions
from bilingual_crawler.pairing.structure import FEATURES, StructureMethod
from bilingual_crawler.pairing.url_evidence import UrlEvidence
from bilingual_crawler.pairing.url_method import url_evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.pairing.content import Space
    from bilingual_crawler.pairing.domain import Domain
    from bilingual_crawler.pairing.embeddings import Encoder

URL_FEATURES = ("hreflang", "switcher", "key", "refused", "url_rivals_a", "url_rivals_b")
VIEWS = {
    "structure": FEATURES,
    "content": CONTENT_FEATURES,
    "structure-content": (*FEATURES, *CONTENT_FEATURES),
    "auto": (*URL_FEATURES, *FEATURES),
    "auto-content": (*URL_FEATURES, *FEATURES, *CONTENT_FEATURES),
}
"""Features that each judge sees."""
NEAREST = 8
"""Candidates that are looked for by content from each document."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates, row by row, and their features."""

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    columns: dict[str, NDArray[np.float32]]

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best score of each document that is in a candidate, of both sides."""
        parts = []
        for places in (self.a, self.b):
            best = np.full(places.max(initial=-1) + 1, -np.inf)
            np.maximum.at(best, places, scores)
            parts.append(best[np.isfinite(best)])
        return np.concatenate(parts)


def gather(domain: Domain, view: str, encoder: Encoder | None = None) -> Candidates:
    """Candidates found by all indexes that *view* may use, with its features."""
    urls, structure, content = view.startswith("auto"), view != "content", view.endswith("content")
    found: dict[tuple[int, int], UrlEvidence] = url_evidence(domain) if urls else {}
    editions = Editions.of(domain, found)
    method = StructureMethod(domain) if structure else None
    spaces: dict[str, Space] = {}
    if content and domain.a and domain.b:
        assert encoder is not None
        spaces = {"dde": document_space(domain, encoder), "sae": sentence_space(domain, encoder)}
    places = [np.array(list(found), dtype=np.intp).reshape(-1, 2).T, np.zeros((2, 0), dtype=np.intp)]
    if method is not None:
        places.append(np.array(method.candidates()))
    places += [np.array(space.nearest(NEAREST)) for space in spaces.values()]
    rows, columns = np.concatenate(places, axis=1)
    i, j = np.divmod(np.unique(rows * max(len(domain.b), 1) + columns), max(len(domain.b), 1))
    features = method.features(i, j, editions) if method is not None else {}
    if urls:
        features |= _url_columns(found, i, j, editions)
    if content:
        features |= (
            content_columns(spaces, i, j, editions)
            if spaces
            else dict.fromkeys(CONTENT_FEATURES, np.zeros(0, np.float32))
        )
    return Candidates(i, j, features)


def _url_columns(
    found: dict[tuple[int, int], UrlEvidence], i: NDArray[np.intp], j: NDArray[np.intp], editions: Editions
) -> dict[str, NDArray[np.float32]]:
    nothing = UrlEvidence()
    rows = [found.get(places, nothing) for places in zip(i.tolist(), j.tolist(), strict=True)]
    columns = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.float32)
        for name in ("hreflang", "switcher", "key", "refused")
    }
    strong = (columns["hreflang"] > 0) | (columns["switcher"] == 2) | (columns["key"] > 0)
    for name, places, pages in (("a", i, editions.b[j]), ("b", j, editions.a[i])):
        counts = np.bincount(places, weights=strong, minlength=1)
        _, same = np.unique(places * (pages.max(initial=0) + 1) + pages, return_inverse=True)
        own = np.bincount(same, weights=strong, minlength=1)
        columns[f"url_rivals_{name}"] = (counts[places] - own[same]).astype(np.float32)
    return columns
