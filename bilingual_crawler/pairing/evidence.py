"""The features of all candidate pairs of a domain, by view, and the classifiers that judge them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import getitem
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from bilingual_crawler.pages.sandbox.pool import processes
from bilingual_crawler.pairing import content
from bilingual_crawler.pairing.candidates import Editions, nearest, url_evidence
from bilingual_crawler.pairing.content import CONTENT_FEATURES, GLOSSARY_FEATURES
from bilingual_crawler.pairing.convention import url_columns
from bilingual_crawler.pairing.structure import STRUCTURE_FEATURES, StructureEvidence
from bilingual_crawler.scoring.linear import LinearModel, expit, read_weights
from bilingual_crawler.scoring.models import ModelError, read_model_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

    from onnxruntime import InferenceSession

    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.pairing.arrays import Floats, Floats32, Places
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.urls import UrlEvidence

FOLDER = "document-pairs"
"""Folder of the judges in the models folder: ``config.json`` and an ONNX graph for each view."""
CONFIG = "config.json"
Judge = TypeVar("Judge")
VIEWS = {
    "structure": STRUCTURE_FEATURES,
    "content": CONTENT_FEATURES,
    "structure-content": (*STRUCTURE_FEATURES, *CONTENT_FEATURES),
    "thorough": (*STRUCTURE_FEATURES, *GLOSSARY_FEATURES, *CONTENT_FEATURES),
}
"""Features of each view; a classifier is trained for each."""
NEAREST = 8  # candidates per document by content, and by translated words
NO_PAIRS = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
"""Places of both sides of no pairs: nothing to learn from yet."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidate pairs and their features; arrays have shape ``(candidates,)``."""

    a: Places
    b: Places
    columns: dict[str, Floats32]


class CandidateEvidence:
    """Candidates of a domain and features of a *view*; NaN for content without *encoder*; also by *urls*."""

    def __init__(self, domain: Domain, view: str, encoder: Encoder | None = None, urls: bool = False) -> None:
        self._domain = domain
        self._features = VIEWS[view]
        self._urls = urls
        self._found: dict[tuple[int, int], UrlEvidence] = url_evidence(domain) if urls else {}
        self._pages = Editions.from_evidence(domain, self._found, with_copies=True)
        self._structure = StructureEvidence(domain, self._found) if STRUCTURE_FEATURES[0] in self._features else None
        self._spaces: dict[str, content.Space] = {}
        if encoder is not None and CONTENT_FEATURES[0] in self._features and domain.a and domain.b:
            spaces = content.document_space(domain, encoder), content.sentence_space(domain, encoder)
            self._spaces = dict(zip(("dde", "sae"), spaces, strict=True))

    def candidates(self, pairs: tuple[Places, Places] = NO_PAIRS) -> Proposals:
        """Return all candidates with the features of the view; *pairs*, most certain first, teach a glossary."""
        domain, pages = self._domain, self._pages
        glossary = content.glossary_channels(domain, *pairs) if GLOSSARY_FEATURES[0] in self._features else {}
        places = [np.array(list(self._found), dtype=np.intp).reshape(-1, 2).T, np.array(NO_PAIRS)]
        if self._structure is not None:
            places.append(self._structure.candidates)
        if glossary:
            places.append(np.array(nearest(list(glossary.values()), NEAREST).nonzero()))
        places += [space.nearest(NEAREST) for space in self._spaces.values()]
        rows, columns = np.concatenate(places, axis=1)
        i, j = np.divmod(np.unique(rows * max(len(domain.b), 1) + columns), max(len(domain.b), 1))
        features = dict.fromkeys(self._features, np.full(len(i), np.nan, dtype=np.float32))
        if self._structure is not None:
            features |= self._structure.features(i, j, pages)
        if self._urls:
            features |= url_columns(domain, self._found, i, j, pages)
        if glossary:
            features |= content.glossary_columns(glossary, i, j, pages)
        if self._spaces:
            features |= content.content_columns(self._spaces, i, j, pages)
        return Proposals(i, j, features)


def _read(models: Traversable, kind: type[Judge], name: str, *keys: str) -> Judge:
    """Read what is at *keys* of the configuration; ModelError names the file, and *name* if that is missing."""
    path = models / FOLDER / CONFIG
    try:
        return msgspec.convert(reduce(getitem, keys, read_weights(path, dict[str, Any])), kind)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ModelError(f"{path}: no {name} of this version: train it again") from error


def load_judge(models: Traversable, name: str, features: Sequence[str]) -> LinearModel:
    """Read the judge *name* of *features*, calibrated on matched pairs; ModelError names a missing or wrong file."""
    judge = _read(models, LinearModel, f"judge {name}", name)
    judge.check(features, models / FOLDER / CONFIG)
    return judge


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The features and the calibration of one classifier."""

    features: tuple[str, ...]
    slope: float
    """Platt scaling: probability = 1 / (1 + exp(-(slope * score + shift)))."""
    shift: float


class PairClassifier:
    """Scores candidates by one view of the evidence, such as ``structure``."""

    def __init__(self, models: Traversable, view: str) -> None:
        """Load a view; ModelError names the file that is missing or unreadable."""
        self.view = _read(models, View, f"view {view}", "views", view)
        self._model = read_model_file(models / FOLDER / f"{view}.onnx")

    @cached_property
    def _session(self) -> InferenceSession:
        # it is slow to import, and a crawl makes the classifiers at its start only to check them
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = processes()
        return ort.InferenceSession(self._model, options)

    def log_odds(self, columns: dict[str, Floats32]) -> Floats:
        """Return the log-odds of a translation of each row of *columns*, ``(candidates,)``, within -50 and 50."""
        rows = np.column_stack([columns[name] for name in self.view.features]).astype(np.float32)
        if not len(rows):
            return np.zeros(0)
        (scores,) = self._session.run(None, {self._session.get_inputs()[0].name: rows})
        found: Floats = self.view.slope * scores[:, 0].astype(np.float64) + self.view.shift
        return found.clip(-50, 50)

    def probabilities(self, columns: dict[str, Floats32]) -> Floats:
        """Return P(translation) of each row of *columns*, ``(candidates,)``."""
        return np.asarray(expit(self.log_odds(columns)))
