"""Pairs support each other: translations link to pages that are translations, and are linked from such."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.channels import Channel, normal_rows, rarity
from bilingual_crawler.pairing.reading import link_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.documents import Profile
    from bilingual_crawler.pairing.domain import Domain


@dataclass(slots=True)
class Links:
    """Links among the documents of each side of a domain; a row for each document that links."""

    a: sparse.csr_array
    b: sparse.csr_array

    @classmethod
    def of(cls, domain: Domain) -> Links:
        """Links of *domain*, redirects followed."""
        redirects = {hash_text(key): hash_text(target) for key, target in domain.corpus.redirects.items()}
        return cls(_links(domain.a, redirects), _links(domain.b, redirects))

    def channels(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> dict[str, Channel]:
        """Links out and in, given that documents *i* and *j* are pairs: those to the same pair are the same token."""
        pairs = np.arange(len(i))
        one = np.ones(len(i), dtype=np.float32)
        to_pair_a = sparse.csr_array((one, (i, pairs)), shape=(self.a.shape[0], len(i)))
        to_pair_b = sparse.csr_array((one, (j, pairs)), shape=(self.b.shape[0], len(i)))
        return {
            "outlinks": _channel(self.a @ to_pair_a, self.b @ to_pair_b),
            "inlinks": _channel(self.a.T @ to_pair_a, self.b.T @ to_pair_b),
        }


def _links(profiles: Sequence[Profile], redirects: dict[int, int]) -> sparse.csr_array:
    places = {hash_text(link_key(profile.url)): place for place, profile in enumerate(profiles)}
    rows, columns = [], []
    for row, profile in enumerate(profiles):
        for target in profile.internal.tolist():
            place = places.get(redirects.get(target, target))
            if place is not None and place != row:
                rows.append(row)
                columns.append(place)
    size = (len(profiles), len(profiles))
    links = sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=size)
    links.data[:] = 1
    return links


def _channel(a: sparse.csr_array, b: sparse.csr_array) -> Channel:
    left, right = sparse.csr_array(a), sparse.csr_array(b)
    weights = np.sqrt(rarity(left) * rarity(right))
    return Channel(normal_rows(left, weights), normal_rows(right, weights))
