"""Which words of two languages go together on a site, learnt from its surest pairs; no dictionary is needed.

Two words that the same pairs hold are translations if neither has a better one (Dice's coefficient; Melamed 2000).
Every document is translated by a glossary that was learnt from other pairs than its own, so no pair confirms itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from bilingual_crawler.pairing.channels import Channel, incidence, normal_rows, rarity
from bilingual_crawler.pairing.matching import lead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.documents import Profile
    from bilingual_crawler.pairing.domain import Domain
    from bilingual_crawler.pairing.editions import Editions

GLOSSARY_FEATURES = ("translated_a", "translated_b", "translated_lead_a", "translated_lead_b")
PARTS = 2
"""Parts of the pairs; a document is translated by what the other parts have taught."""
MIN_PAIRS = 3
"""Pairs that must hold two words for these to count as translations."""
MAX_PRODUCTS = 100_000_000
"""Pairs of words that are counted; of more pairs of documents the first are used."""


def glossary_channels(domain: Domain, i: NDArray[np.intp], j: NDArray[np.intp]) -> dict[str, Channel]:
    """Words in the other language's, for documents of either side, given that documents *i* and *j* are pairs.

    The surest pairs come first.
    """
    a, b = _words(domain.a), _words(domain.b)
    cost = np.cumsum(np.diff(a.indptr)[i].astype(np.int64) * np.diff(b.indptr)[j])
    kept = cost <= MAX_PRODUCTS
    i, j = i[kept], j[kept]
    part = np.arange(len(i)) % PARTS
    part_a, part_b = np.zeros(a.shape[0], dtype=np.intp), np.zeros(b.shape[0], dtype=np.intp)
    part_a[i], part_b[j] = part, part
    translated_a = sparse.csr_array((a.shape[0], b.shape[1]), dtype=np.float32)
    translated_b = sparse.csr_array((b.shape[0], a.shape[1]), dtype=np.float32)
    for own in range(PARTS):
        glossary = _learn(a[i[part != own]], b[j[part != own]])
        translated_a += _only(a, part_a == own) @ glossary
        translated_b += _only(b, part_b == own) @ glossary.T
    rarity_a, rarity_b = rarity(a), rarity(b)
    return {
        "translated_a": Channel(normal_rows(translated_a, rarity_b), normal_rows(b, rarity_b)),
        "translated_b": Channel(normal_rows(a, rarity_a), normal_rows(translated_b, rarity_a)),
    }


def glossary_columns(
    channels: Mapping[str, Channel], i: NDArray[np.intp], j: NDArray[np.intp], editions: Editions
) -> dict[str, NDArray[np.float32]]:
    """The columns of :data:`GLOSSARY_FEATURES`."""
    columns = {name: channel.cosine(i, j) for name, channel in channels.items()}
    likeness = np.nansum(list(columns.values()), axis=0)
    columns["translated_lead_a"] = lead(likeness, i, editions.b[j])
    columns["translated_lead_b"] = lead(likeness, j, editions.a[i])
    return {name: column.astype(np.float32) for name, column in columns.items()}


def _words(side: Sequence[Profile]) -> sparse.csr_array:
    """Which document has which word; words of one document only can have no translation that is learnt."""
    sets = [profile.words for profile in side]
    words, counts = np.unique(np.concatenate([*sets, np.zeros(0, dtype=np.uint32)]), return_counts=True)
    return incidence(sets, words[counts > 1])


def _learn(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """How surely each word of the first language is one of the second, 0 to 1; rows are pairs of documents."""
    together = (a.T @ b).tocoo()
    places = (together.row, together.col)
    # one pair may be chance
    dice = 2 * (together.data - 1) / (a.sum(axis=0)[together.row] + b.sum(axis=0)[together.col])
    dice[together.data < MIN_PAIRS] = 0
    good = dice > 0
    for size, place in zip(together.shape, places, strict=True):
        best = np.zeros(size)
        np.maximum.at(best, place, dice)
        good &= dice == best[place]
    found = (together.row[good], together.col[good])
    return sparse.csr_array((dice[good].astype(np.float32), found), shape=together.shape)


def _only(matrix: sparse.csr_array, rows: NDArray[np.bool_]) -> sparse.csr_array:
    """*matrix* with nothing in other *rows*."""
    return sparse.csr_array(sparse.diags_array(rows.astype(np.float32)) @ matrix)
