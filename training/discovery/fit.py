"""Logistic regressions over named features, in which every site weighs as the square root of its examples."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bilingual_crawler.discovery.detector.features import LINK_FEATURES, PAGE_PAIR_FEATURES, EvidenceWeights
from bilingual_crawler.scoring.linear import LinearModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from training.discovery.examples import Examples

LANGUAGE_REGULARISATION = 0.005
TRANSLATION_REGULARISATION = 0.02
PAIR_REGULARISATION = 0.05
TOKEN_REGULARISATION = 1.0
LEAST_SITES = 3  # sites that a token of the link predictor is on


def without_each(
    examples: Sequence[Examples], group_of: Callable[[str], str]
) -> Iterator[tuple[str, EvidenceWeights, LinearModel]]:
    """Each group of sites, by their names, and the weights of both detectors learnt from the other groups."""
    for group in sorted({group_of(one.site) for one in examples}):
        others = [one for one in examples if group_of(one.site) != group]
        yield group, fit_evidence(others), fit_barbosa(others)


def fit_evidence(examples: Sequence[Examples]) -> EvidenceWeights:
    """The weights of the evidence detector."""
    rows = np.array([_row(link.features, LINK_FEATURES) for one in examples for link in one.links])
    worth = _worth([len(one.links) for one in examples])
    in_language = np.array([link.in_language for one in examples for link in one.links])
    translation = np.array([link.translation for one in examples for link in one.links])
    parallel = np.array([pair.parallel for one in examples for pair in one.pairs])
    return EvidenceWeights(
        _fit(LINK_FEATURES, rows, in_language, worth, LANGUAGE_REGULARISATION),
        _fit(LINK_FEATURES, rows, translation, worth, TRANSLATION_REGULARISATION),
        _fit(
            PAGE_PAIR_FEATURES,
            np.array([_row(pair.features, PAGE_PAIR_FEATURES) for one in examples for pair in one.pairs]),
            parallel,
            # a detector compares pages of which something says that they are translations
            _even(parallel, _worth([len(one.pairs) for one in examples])),
            PAIR_REGULARISATION,
        ),
    )


def fit_barbosa(examples: Sequence[Examples]) -> LinearModel:
    """The link predictor of Barbosa et al.; a token counts if several sites have it."""
    sites: Counter[str] = Counter()
    for one in examples:
        sites.update(set().union(*(link.tokens for link in one.tokens)))
    vocabulary = sorted(token for token, count in sites.items() if count >= LEAST_SITES)
    vectoriser = CountVectorizer(analyzer=list, vocabulary=vocabulary, binary=True)
    rows = vectoriser.transform([link.tokens for one in examples for link in one.tokens])
    labels = [link.in_language for one in examples for link in one.tokens]
    worth = _worth([len(one.tokens) for one in examples])
    model = LogisticRegression(C=TOKEN_REGULARISATION, max_iter=1000).fit(rows, labels, worth)
    weights = {token: round(float(weight), 4) for token, weight in zip(vocabulary, model.coef_[0], strict=True)}
    return LinearModel(round(float(model.intercept_[0]), 4), weights)


def _row(features: Mapping[str, float], names: Sequence[str]) -> list[float]:
    return [features.get(name, 0.0) for name in names]


def _worth(counts: Sequence[int]) -> NDArray[np.float64]:
    worth = np.concatenate([np.full(count, count**-0.5) for count in counts if count])
    return np.asarray(worth / worth.mean(), dtype=np.float64)


def _even(labels: NDArray[np.bool_], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """*worth* so that both labels weigh the same."""
    shares = np.where(labels, worth[labels].sum(), worth[~labels].sum())
    return np.asarray(worth * len(worth) / 2 / shares, dtype=np.float64)


def _fit(
    names: Sequence[str],
    rows: NDArray[np.float64],
    labels: NDArray[np.bool_],
    worth: NDArray[np.float64],
    regularisation: float,
) -> LinearModel:
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=regularisation, max_iter=1000).fit(scaler.transform(rows), labels, worth)
    weights = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - weights @ scaler.mean_)
    named = {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}
    return LinearModel(round(intercept, 4), named)
