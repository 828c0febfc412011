"""The methods of document alignment by name; each scores the candidate pairs of a domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bilingual_crawler.alignment.documents.candidates import alike_urls, url_evidence
from bilingual_crawler.alignment.documents.evidence import FOLDER, VIEWS, CandidateEvidence, PairClassifier
from bilingual_crawler.alignment.documents.matching import greedy
from bilingual_crawler.alignment.documents.urls import SCORES, together
from bilingual_crawler.alignment.encoders import EncoderError
from bilingual_crawler.alignment.encoders.base import is_installed, load_encoder
from bilingual_crawler.alignment.encoders.e5 import E5Encoder
from bilingual_crawler.options import Options
from bilingual_crawler.scoring.models import ParallelnessModel, models_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from numpy.typing import NDArray
    from scrapy.settings import BaseSettings

    from bilingual_crawler.alignment.documents.corpus import Domain
    from bilingual_crawler.alignment.documents.evidence import Proposals
    from bilingual_crawler.alignment.encoders.base import Encoder

LIKELY = 0.95
"""Probability from which a partner is certain, and content confirms an announcement."""
MANY_DOUBTS = 0.05
"""Share of documents without a certain partner from which words and content are compared as well."""
SURE = 0.95
"""Probability from which the parallelness model makes a pair by itself.

Under it, the model confuses pages whose URLs end in names, such as those of talks and articles.
"""
FEW_DOUBTS = 4
"""Uncertain documents with HTML up to which the encoder is not loaded, which takes 400 MB and a second."""
LEADS = 0.2
"""Sum of both leads by content from which content is the strongest evidence."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scored candidate pairs of one domain; arrays have shape ``(candidates,)``."""

    a: NDArray[np.intp]
    """Places in ``domain.a``."""
    b: NDArray[np.intp]
    """Places in ``domain.b``."""
    scores: NDArray[np.float64]
    """0 to 1."""
    names: list[str]
    """The strongest evidence: ``hreflang``, ``switcher``, ``url``, ``structure`` or ``content``."""
    threshold: float
    """Score from which a candidate may become a pair."""

    def pairs(self, least: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of one-to-one pairs with scores of *least* or more, best first."""
        chosen = greedy(self.a, self.b, self.scores, least)
        return self.a[chosen], self.b[chosen]


class Method(Protocol):
    """Finds and scores the candidates of a domain."""

    def __call__(self, domain: Domain) -> Candidates:
        """Score the candidates of *domain*."""


class UrlMethod:
    """Language marks in URLs, ``hreflang`` and language switchers; reads no text.

    The parallelness model compares similar URLs of documents without any of these.
    """

    def __init__(self, models: Traversable) -> None:
        self._model = ParallelnessModel(models / "url-parallelness")

    def __call__(self, domain: Domain) -> Candidates:
        """Score the pairs with evidence, and similar URLs of documents without."""
        evidence = url_evidence(domain)
        scored = [(*places, found.score, found.method) for places, found in evidence.items()]
        alike = alike_urls(domain, {(i, j) for i, j, score, _ in scored if score})
        urls = [(domain.a[i].url, domain.b[j].url) for i, j in alike]
        for (i, j), probability in zip(alike, self._model.probabilities(urls), strict=True):
            sure = probability >= SURE
            scored.append((i, j, SCORES["url"] * float(probability) if sure else 0.0, "url"))
        a, b, scores, names = zip(*scored, strict=True) if scored else ((), (), (), ())
        return Candidates(
            np.array(a, dtype=np.intp), np.array(b, dtype=np.intp), np.array(scores, dtype=float), list(names), 0.5
        )


class Judge:
    """A trained classifier of one view of the evidence (see :data:`.evidence.VIEWS`)."""

    def __init__(self, models: Traversable, view: str) -> None:
        self._view = view
        self._classifier = PairClassifier(models, view)
        self._structure = PairClassifier(models, "structure") if "hreflang" in VIEWS[view] else None

    def __call__(self, proposed: Proposals) -> Candidates:
        """Score the *proposed* candidates."""
        columns = proposed.columns
        scores = self._classifier.probabilities(columns)
        names = np.full(len(scores), "content" if self._view == "content" else "structure", dtype=object)
        if "dde" in columns:
            names[columns["dde_lead_a"] + columns["dde_lead_b"] > LEADS] = "content"
        if self._structure is not None:
            # the judge has met few announced pairs, and the rule is simple: what the pages hold must not contradict;
            # it must confirm what only one of two registered domains announces
            alike = self._structure.probabilities(columns)
            confirmed = (columns["one_sided"] > 0) & (alike >= LIKELY)
            announced = np.where(confirmed, 1, columns["hreflang"])
            for count, name in ((1, "hreflang"), (2, "hreflang+")):
                said = announced == count
                scores[said] = np.maximum(scores[said], together(np.full(said.sum(), SCORES[name]), alike[said]))
            for column, least, name in ((columns["key"], 1, "url"), (columns["switcher"], 2, "switcher")):
                names[column >= least] = name
            names[announced >= 1] = "hreflang"
        return Candidates(proposed.a, proposed.b, scores, names.tolist(), self._classifier.view.threshold)


class LearntMethod:
    """Candidates and scores by one view of the evidence."""

    def __init__(self, models: Traversable, view: str, encoder: Encoder | None = None) -> None:
        self._view, self._encoder = view, encoder
        self._judge = Judge(models, view)

    def __call__(self, domain: Domain) -> Candidates:
        """Score the candidates of the view."""
        return self._judge(CandidateEvidence(domain, self._view, self._encoder).candidates())


class AutoMethod:
    """URLs, announced links and structure; words and content as well if many documents stay uncertain.

    Without an encoder, words are compared only if no document has HTML.
    """

    def __init__(self, models: Traversable, encoder: Callable[[], Encoder] | None) -> None:
        self._plain = LearntMethod(models, "auto")
        self._thorough = Judge(models, "thorough")
        self._encoder = encoder

    def __call__(self, domain: Domain) -> Candidates:
        """Score by URLs and structure first, then with a glossary learnt from these pairs, and the encoder."""
        candidates = self._plain(domain)
        html = any(profile.tags for profile in (*domain.a, *domain.b))
        if html and self._encoder is None:
            return candidates  # words alone are no better than HTML
        documents = min(len(domain.a), len(domain.b))
        likely, _ = candidates.pairs(LIKELY)
        if documents - len(likely) <= max(FEW_DOUBTS if html else 0, MANY_DOUBTS * documents):
            return candidates
        evidence = CandidateEvidence(domain, "thorough", self._encoder() if self._encoder is not None else None)
        return self._thorough(evidence.candidates(candidates.pairs(candidates.threshold)))


def make_method(name: str, models: Traversable, encoder: str, cache: Path) -> Method:
    """Return the method *name*: ``auto``, ``url``, ``content``, ``structure`` or another of :data:`.evidence.VIEWS`.

    *encoder*: ``e5-small``, a model of sentence-transformers, or empty; its vectors are kept in the folder *cache*.
    Raises ModelError for a missing model, EncoderError for a missing encoder that the method needs.
    """
    if name == "url":
        return UrlMethod(models)
    if name == "auto":
        return AutoMethod(models, partial(load_encoder, encoder, cache) if is_installed(encoder) else None)
    return LearntMethod(models, name, load_encoder(encoder, cache) if name.endswith("content") else None)


def method_of(name: str, settings: BaseSettings) -> Method:
    """Return the method *name* with the models, encoder and cache of Scrapy's *settings*.

    A models folder without classifiers of document pairs is for crawling only: the project's own are used.
    """
    options = Options.of(settings)
    if options.encoder not in ("", E5Encoder.name) and not is_installed(options.encoder):
        raise EncoderError(
            f"BILINGUAL_ENCODER={options.encoder}: there is {E5Encoder.name}; "
            "others need sentence-transformers installed"
        )
    models = models_folder(options.models_dir)
    if name != "url" and not (models / FOLDER).is_dir():
        models = models_folder(None)
    return make_method(name, models, options.encoder, options.cache_dir)


def encoder_of(settings: BaseSettings) -> Encoder | None:
    """Return the sentence encoder of Scrapy's *settings*; None if it is not installed."""
    options = Options.of(settings)
    return load_encoder(options.encoder, options.cache_dir) if is_installed(options.encoder) else None
