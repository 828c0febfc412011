"""The features of all candidate pairs of a domain, by view, and the classifiers that judge them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from bilingual_crawler.alignment.documents.candidates import Editions, nearest, url_evidence
from bilingual_crawler.alignment.documents.content import (
    CONTENT_FEATURES,
    GLOSSARY_FEATURES,
    content_columns,
    document_space,
    glossary_channels,
    glossary_columns,
    sentence_space,
)
from bilingual_crawler.alignment.documents.structure import FEATURES, StructureMethod
from bilingual_crawler.alignment.documents.urls import UrlEvidence
from bilingual_crawler.pages.sandbox.pool import processes
from bilingual_crawler.scoring.models import ModelError, read_model_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    from bilingual_crawler.alignment.documents.content import Space
    from bilingual_crawler.alignment.documents.corpus import Domain
    from bilingual_crawler.alignment.encoders.base import Encoder

URL_FEATURES = ("hreflang", "switcher", "key", "refused", "url_rivals_a", "url_rivals_b")
VIEWS = {
    "structure": FEATURES,
    "content": CONTENT_FEATURES,
    "structure-content": (*FEATURES, *CONTENT_FEATURES),
    "auto": (*URL_FEATURES, *FEATURES),
    "thorough": (*URL_FEATURES, *FEATURES, *GLOSSARY_FEATURES, *CONTENT_FEATURES),
}
"""Features of each view; a classifier is trained for each."""
NEAREST = 8
"""Candidates per document by content, and by translated words."""
NO_PAIRS = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
"""Places of both sides of no pairs: nothing to learn from yet."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidate pairs and their features; arrays have shape ``(candidates,)``.

    With the features of URLs there is also the column ``one_sided``, which is not a feature.
    """

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    columns: dict[str, NDArray[np.float32]]


class CandidateEvidence:
    """The candidates of a domain and their features, by one view.

    Without an *encoder* the columns of content are NaN.
    """

    def __init__(self, domain: Domain, view: str, encoder: Encoder | None = None) -> None:
        self._domain = domain
        self._features = VIEWS[view]
        self._found: dict[tuple[int, int], UrlEvidence] = url_evidence(domain) if self._sees(URL_FEATURES) else {}
        self._editions = Editions.from_evidence(domain, self._found, with_copies=True)
        self._structure = StructureMethod(domain) if self._sees(FEATURES) else None
        self._spaces: dict[str, Space] = {}
        if encoder is not None and self._sees(CONTENT_FEATURES) and domain.a and domain.b:
            self._spaces = {"dde": document_space(domain, encoder), "sae": sentence_space(domain, encoder)}

    def _sees(self, group: Sequence[str]) -> bool:
        return group[0] in self._features

    def candidates(self, pairs: tuple[NDArray[np.intp], NDArray[np.intp]] = NO_PAIRS) -> Proposals:
        """Return all candidates with the features of the view; *pairs*, most certain first, teach a glossary."""
        domain, editions = self._domain, self._editions
        glossary = glossary_channels(domain, *pairs) if self._sees(GLOSSARY_FEATURES) else {}
        places = [np.array(list(self._found), dtype=np.intp).reshape(-1, 2).T, np.array(NO_PAIRS)]
        if self._structure is not None:
            places.append(np.array(self._structure.candidates()))
        if glossary:
            places.append(np.array(nearest(list(glossary.values()), NEAREST).nonzero()))
        places += [np.array(space.nearest(NEAREST)) for space in self._spaces.values()]
        rows, columns = np.concatenate(places, axis=1)
        i, j = np.divmod(np.unique(rows * max(len(domain.b), 1) + columns), max(len(domain.b), 1))
        features = dict.fromkeys(self._features, np.full(len(i), np.nan, dtype=np.float32))
        if self._structure is not None:
            features |= self._structure.features(i, j, editions)
        if self._sees(URL_FEATURES):
            features |= _url_columns(self._found, i, j, editions)
        if glossary:
            features |= glossary_columns(glossary, i, j, editions)
        if self._spaces:
            features |= content_columns(self._spaces, i, j, editions)
        return Proposals(i, j, features)


def _url_columns(
    found: dict[tuple[int, int], UrlEvidence], i: NDArray[np.intp], j: NDArray[np.intp], editions: Editions
) -> dict[str, NDArray[np.float32]]:
    nothing = UrlEvidence()
    rows = [found.get(places, nothing) for places in zip(i.tolist(), j.tolist(), strict=True)]
    columns = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.float32)
        for name in ("hreflang", "switcher", "key", "refused", "one_sided")
    }
    strong = (columns["hreflang"] > 0) | (columns["switcher"] == 2) | (columns["key"] > 0)
    for name, places, pages in (("a", i, editions.b[j]), ("b", j, editions.a[i])):
        counts = np.bincount(places, weights=strong, minlength=1)
        _, same = np.unique(places * (pages.max(initial=0) + 1) + pages, return_inverse=True)
        own = np.bincount(same, weights=strong, minlength=1)
        columns[f"url_rivals_{name}"] = (counts[places] - own[same]).astype(np.float32)
    return columns


FOLDER = "document-pairs"
"""Folder of the classifiers in the models folder: ``config.json`` and an ONNX graph for each view."""


@dataclass(frozen=True, slots=True)
class View:
    """The features and the calibration of one classifier."""

    features: tuple[str, ...]
    slope: float
    """Platt scaling: probability = 1 / (1 + exp(-(slope * score + shift)))."""
    shift: float
    threshold: float
    """Probability from which a candidate may become a pair."""


class PairClassifier:
    """Scores candidates by one view of the evidence, such as ``structure`` or ``auto``."""

    def __init__(self, models: Traversable, view: str) -> None:
        """Load a view; ModelError names the file that is missing or unreadable."""
        path = models / FOLDER / "config.json"
        content = read_model_file(path)
        try:
            config = json.loads(content)["views"][view]
            self.view = View(**config | {"features": tuple(config["features"])})
        except (ValueError, TypeError, KeyError) as error:
            raise ModelError(f"{path}: not a configuration with the view {view}: {error}") from error
        options = ort.SessionOptions()
        options.intra_op_num_threads = processes()
        self._session = ort.InferenceSession(read_model_file(models / FOLDER / f"{view}.onnx"), options)

    def probabilities(self, columns: dict[str, NDArray[np.float32]]) -> NDArray[np.float64]:
        """Return P(translation) of each row of *columns*, ``(candidates,)``."""
        rows = np.column_stack([columns[name] for name in self.view.features]).astype(np.float32)
        if not len(rows):
            return np.zeros(0)
        (scores,) = self._session.run(None, {self._session.get_inputs()[0].name: rows})
        logits = self.view.slope * scores[:, 0].astype(np.float64) + self.view.shift
        result: NDArray[np.float64] = 1 / (1 + np.exp(-logits.clip(-50, 50)))
        return result
