"""Editions: documents in one language that are the same page, such as its British and its American English version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.domain import Domain
    from bilingual_crawler.pairing.url_evidence import UrlEvidence


@dataclass(frozen=True, slots=True)
class Editions:
    """Which documents of a domain are the same page: those that the same translations announce, and that announce them.

    One-sided announcements do not count, as many sites announce their home page as the translation of every page.
    """

    a: NDArray[np.intp]
    """Number of the page of each document in ``domain.a``; editions, and their translations, share a number."""
    b: NDArray[np.intp]

    @classmethod
    def of(cls, domain: Domain, found: Mapping[tuple[int, int], UrlEvidence]) -> Editions:
        """The editions that the evidence *found* shows; without any, each document is a page of its own."""
        announced = [places for places, evidence in found.items() if evidence.hreflang == 2]
        i, j = np.array(announced, dtype=np.intp).reshape(-1, 2).T
        size = len(domain.a) + len(domain.b)
        links = sparse.coo_array((np.ones(len(i)), (i, len(domain.a) + j)), shape=(size, size))
        _, pages = connected_components(links, directed=False)
        return cls(*np.split(pages.astype(np.intp), [len(domain.a)]))
