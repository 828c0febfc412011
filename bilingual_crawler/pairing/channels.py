"""Sets of things that documents share whatever their language, as sparse matrices of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.documents import Profile
    from bilingual_crawler.pairing.domain import Domain

SHINGLE = 6
"""Tags in a row that make one token of page structure."""
KEPT_SHINGLES = 8
"""One shingle in this many is kept, chosen by its hash, so that both sides keep the same ones."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of token of the documents of a domain: rows of length 1, columns that both sides have."""

    a: sparse.csr_array
    b: sparse.csr_array

    def cosine(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
        """Similarity of each pair of rows, 0 to 1; NaN where one of the documents has no token that counts."""
        result = _row_products(self.a, self.b, a, b)
        empty = (np.diff(self.a.indptr)[a] == 0) | (np.diff(self.b.indptr)[b] == 0)
        result[empty] = np.nan
        return result


def _words(profile: Profile) -> NDArray[np.uint32]:
    return profile.words


def _names(profile: Profile) -> NDArray[np.uint32]:
    return profile.names


def _numbers(profile: Profile) -> NDArray[np.uint32]:
    return np.unique(profile.numbers)


def _files(profile: Profile) -> NDArray[np.uint32]:
    return profile.files


def _title(profile: Profile) -> NDArray[np.uint32]:
    return profile.title


def _internal(profile: Profile) -> NDArray[np.uint32]:
    return profile.internal


def _external(profile: Profile) -> NDArray[np.uint32]:
    return profile.external


def _shingles(profile: Profile) -> NDArray[np.uint32]:
    codes = np.frombuffer(profile.tags.encode("utf-32-le"), dtype=np.uint32)
    if len(codes) < SHINGLE:
        return codes[:0]
    mixed = np.zeros(len(codes) - SHINGLE + 1, dtype=np.uint32)
    for shift in range(SHINGLE):
        mixed = mixed * np.uint32(0x9E3779B1) + codes[shift : shift + len(mixed)]
    mixed ^= mixed >> np.uint32(15)
    return np.unique(mixed[mixed % KEPT_SHINGLES == 0])


CHANNELS: dict[str, Callable[[Profile], NDArray[np.uint32]]] = {
    "words": _words,
    "names": _names,
    "numbers": _numbers,
    "title": _title,
    "files": _files,
    "external": _external,
    "internal": _internal,
    "shingles": _shingles,
}


def channels(domain: Domain) -> dict[str, Channel]:
    """All channels of *domain*."""
    return {
        name: channel_of([tokens(profile) for profile in domain.a], [tokens(profile) for profile in domain.b])
        for name, tokens in CHANNELS.items()
    }


def channel_of(a: Sequence[NDArray[np.uint32]], b: Sequence[NDArray[np.uint32]]) -> Channel:
    """The channel of the documents with these sets of tokens."""
    shared = np.intersect1d(_union(a), _union(b))
    left, right = incidence(a, shared), incidence(b, shared)
    weights = np.sqrt(rarity(left) * rarity(right))
    return Channel(normal_rows(left, weights), normal_rows(right, weights))


def _union(sets: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.unique(np.concatenate(sets)) if sets else np.zeros(0, dtype=np.uint32)


def incidence(sets: Sequence[NDArray[np.uint32]], vocabulary: NDArray[np.uint32]) -> sparse.csr_array:
    """Which of *sets* has which token of *vocabulary*, which is sorted."""
    tokens = np.concatenate([*sets, np.zeros(0, dtype=np.uint32)])
    known = np.isin(tokens, vocabulary)
    columns = np.searchsorted(vocabulary, tokens[known])
    ends = np.cumsum([len(one) for one in sets], dtype=np.int64)
    # how many of the tokens up to the end of each set are known
    indptr = np.concatenate(([0], np.cumsum(known)))[np.concatenate(([0], ends))]
    shape = (len(sets), len(vocabulary))
    return sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, indptr), shape=shape)


def rarity(matrix: sparse.csr_array) -> NDArray[np.float64]:
    """Inverse document frequency of each column; next to nothing for what all documents have."""
    frequency = np.maximum(matrix.sum(axis=0), 1)
    return np.asarray(np.log(max(matrix.shape[0], 1) / frequency) + 1e-3)


def normal_rows(matrix: sparse.csr_array, weights: NDArray[np.float64]) -> sparse.csr_array:
    """*matrix* with *weights* for its columns and rows of length 1."""
    weighted = sparse.csr_array(
        (weights[matrix.indices].astype(np.float32), matrix.indices, matrix.indptr), matrix.shape
    )
    lengths = np.sqrt(weighted.power(2).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-9)) @ weighted)


def _row_products(
    left: sparse.csr_array, right: sparse.csr_array, a: NDArray[np.intp], b: NDArray[np.intp]
) -> NDArray[np.float64]:
    parts = [
        np.asarray(left[a[at : at + 10_000]].multiply(right[b[at : at + 10_000]]).sum(axis=1)).ravel()
        for at in range(0, len(a), 10_000)
    ]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
