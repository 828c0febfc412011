"""Hand-made features of a pair of URLs, for the gradient-boosted baseline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Indel, Postfix, Prefix

from bilingual_crawler.urls.model_input import tokenise
from training.parallelness.baselines import plain, split_url, token_lists
from training.parallelness.negatives import split_resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NUMBER = re.compile(r"\d+")


def hand_features(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """One row per pair, the same for (u, v) and (v, u)."""
    languages = frozenset(token for tokens in token_lists().values() for token in tokens)
    return np.array([_row(u, v, languages) for u, v in pairs], dtype=np.float32)


def _row(u: str, v: str, languages: frozenset[str]) -> list[float]:
    a, b = split_url(u), split_url(v)
    x, y = split_resource(u)[1], split_resource(v)[1]
    tokens_x, tokens_y = (set(tokenise(text.lower())) for text in (x, y))
    named_x, named_y = tokens_x & languages, tokens_y & languages
    only_x, only_y = len(tokens_x - tokens_y), len(tokens_y - tokens_x)
    longest = max(1, len(x), len(y))
    return [
        a.netloc == b.netloc,
        plain(u) == plain(v),
        Indel.normalized_similarity(x, y),
        Indel.normalized_similarity(a.netloc, b.netloc),
        Prefix.similarity(x, y) / longest,
        Postfix.similarity(x, y) / longest,
        min(len(x), len(y)) / longest,
        len(tokens_x & tokens_y) / max(1, len(tokens_x | tokens_y)),
        len(tokens_x & tokens_y),
        min(only_x, only_y),
        max(only_x, only_y),
        abs(a.path.count("/") - b.path.count("/")),
        a.query == b.query,
        a.path.rpartition(".")[2] == b.path.rpartition(".")[2],
        NUMBER.findall(x) == NUMBER.findall(y),
        min(len(named_x), len(named_y)),
        max(len(named_x), len(named_y)),
        len(named_x ^ named_y),
        len((tokens_x ^ tokens_y) - languages),
    ]
