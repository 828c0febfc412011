"""How near the meanings of two documents are: DDE and SAE (CCAligned 2020, section 5.2) with any sentence encoder.

DDE is one vector of the start of the text, SAE the mean of the vectors of its first sentences. Both are centred per
language inside the domain, which takes away what a language, and a site, have in common; CSLS then takes away what
makes some documents everybody's neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.matching import lead

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.domain import Domain
    from bilingual_crawler.pairing.editions import Editions
    from bilingual_crawler.pairing.embeddings import Encoder

DOCUMENT_TOKENS = 64
"""What DDE reads of title and main text."""
SENTENCES = 3
"""Lines of main text that SAE reads."""
SENTENCE_TOKENS = 32
SHORTEST_SENTENCE = 20
"""Characters from which a line counts as a sentence."""
NEIGHBOURS = 10
"""Nearest documents whose mean similarity CSLS takes off."""
BLOCK = 2_000

CONTENT_FEATURES = tuple(f"{name}{part}" for name in ("dde", "sae") for part in ("", "_csls", "_lead_a", "_lead_b"))


@dataclass(slots=True)
class Space:
    """Vectors of both sides of a domain, centred, of length 1; rows of NaN for documents that were not read."""

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    hubness_a: NDArray[np.float32]
    """Mean similarity of each document to its nearest ones of the other side."""
    hubness_b: NDArray[np.float32]

    @classmethod
    def of(cls, a: NDArray[np.float32], b: NDArray[np.float32]) -> Space:
        """Centre and measure."""
        a, b = _centred(a), _centred(b)
        return cls(a, b, _hubness(a, b), _hubness(b, a))

    def cosine(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[np.float32]:
        """Similarity of each pair, -1 to 1."""
        return np.asarray(np.einsum("ij,ij->i", self.a[i], self.b[j]), dtype=np.float32)

    def csls(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[np.float32]:
        """Similarity of each pair less that of their neighbourhoods."""
        return 2 * self.cosine(i, j) - self.hubness_a[i] - self.hubness_b[j]

    def nearest(self, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each document of both sides its *count* nearest ones of the other by CSLS; exact."""
        forward = _nearest(self.a, self.b, self.hubness_b, count)
        backward = _nearest(self.b, self.a, self.hubness_a, count)
        codes = {(i, j) for i, js in enumerate(forward) for j in js} | {
            (i, j) for j, found in enumerate(backward) for i in found
        }
        places = np.array(sorted(codes), dtype=np.intp).reshape(-1, 2)
        return places[:, 0], places[:, 1]


def document_space(domain: Domain, encoder: Encoder) -> Space:
    """DDE: a vector for the start of each document."""
    sides = []
    for profiles, main in ((domain.a, domain.main_a), (domain.b, domain.main_b)):
        texts = [
            " ".join((title, *lines))[: 8 * DOCUMENT_TOKENS]
            for title, lines in (_texts(domain, p.url, m) for p, m in zip(profiles, main, strict=True))
        ]
        sides.append(encoder.encode(texts, DOCUMENT_TOKENS))
    return Space.of(*sides)


def sentence_space(domain: Domain, encoder: Encoder) -> Space:
    """SAE: the mean of the vectors of the first sentences of each document."""
    sides = []
    for profiles, main in ((domain.a, domain.main_a), (domain.b, domain.main_b)):
        sentences: list[str] = []
        owners: list[int] = []
        for place, (profile, kept) in enumerate(zip(profiles, main, strict=True)):
            title, lines = _texts(domain, profile.url, kept)
            chosen = [line for line in lines if len(line) >= SHORTEST_SENTENCE][:SENTENCES] or [title]
            sentences += [line[: 8 * SENTENCE_TOKENS] for line in chosen]
            owners += [place] * len(chosen)
        vectors = encoder.encode(sentences, SENTENCE_TOKENS)
        means = np.zeros((len(profiles), vectors.shape[1]), dtype=np.float32)
        np.add.at(means, owners, vectors)
        counts = np.bincount(owners, minlength=len(profiles)).astype(np.float32)
        sides.append(means / counts[:, None])
    return Space.of(*sides)


def content_columns(
    spaces: Mapping[str, Space], i: NDArray[np.intp], j: NDArray[np.intp], editions: Editions
) -> dict[str, NDArray[np.float32]]:
    """The columns of :data:`CONTENT_FEATURES`."""
    columns: dict[str, NDArray[np.float32]] = {}
    for name, space in spaces.items():
        columns[name], columns[f"{name}_csls"] = space.cosine(i, j), space.csls(i, j)
        likeness = columns[f"{name}_csls"].astype(np.float64)
        for side, places, pages in (("a", i, editions.b[j]), ("b", j, editions.a[i])):
            columns[f"{name}_lead_{side}"] = lead(likeness, places, pages).astype(np.float32)
    return columns


def _texts(domain: Domain, url: str, main: NDArray[np.bool_]) -> tuple[str, list[str]]:
    """Title, and lines of main text; all lines where a page has none of its own."""
    document = domain.corpus.document(url)
    lines = [line for line, kept in zip(document.lines, main, strict=True) if kept]
    return document.title, lines or list(document.lines)


def _centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = vectors - vectors.mean(axis=0)
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _hubness(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    count = min(NEIGHBOURS, len(other))
    parts = [
        np.partition(one[at : at + BLOCK] @ other.T, -count, axis=1)[:, -count:].mean(axis=1)
        for at in range(0, len(one), BLOCK)
    ]
    return np.concatenate(parts)


def _nearest(
    one: NDArray[np.float32], other: NDArray[np.float32], hubness: NDArray[np.float32], count: int
) -> list[list[int]]:
    found: list[list[int]] = []
    for at in range(0, len(one), BLOCK):
        scores = 2 * (one[at : at + BLOCK] @ other.T) - hubness
        if scores.shape[1] > count:
            found += np.argpartition(-scores, count, axis=1)[:, :count].tolist()
        else:
            found += [list(range(scores.shape[1]))] * len(scores)
    return found
