"""Evidence: whether pages like this one find partners."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import Prospect
from bilingual_crawler.policies.evidence.places import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage


@dataclass
class PairRate(Prospect):
    """The share of the documents of its folder that have a partner; a folder with few is judged by the one above it."""

    name: ClassVar[str] = "pair_rate"
    rate: float = 0.5
    """Share before a site has shown any document."""
    unseen: float = 0.1
    weight: float = 2.0
    """Documents of a folder that count as much as the share in the one above."""

    def __post_init__(self) -> None:
        self._documents: Counter[str] = Counter()
        self._paired: Counter[str] = Counter()

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        if page.side is not None:
            self._note(page.url, 1.0 if place_of(page.url).mark or self.known.is_paired(page.url) else self.unseen)
        return ()

    def _note(self, url, weight):
        for folder in place_of(url).folders:
            self._documents[folder] += weight

    def learn_pair(self, url: str, partner: str) -> Iterable[str]:
        for one in (url, partner):
            self._paired.update(place_of(one).folders)
            # self counted
        if not place_of(partner).mark:
            self._note(partner, 1 - self.unseen)
        return ()

    def factor(self, url: str, completes: float) -> float:
        rate = self.rate
        for folder in place_of(url).folders:
            documents = self._documents.get(folder)
            if not documents:
                break
            rate = (self._paired.get(folder, 0) + self.weight * rate) / (documents + self.weight)
        return min(rate, 1.0)


@dataclass
class QueuedTwin(Prospect):
    """Another URL is queued that is equal but for language marks: the other half can be fetched."""

    name: ClassVar[str] = "queued_twin"
    more: float = 0.5
    """Part by which the worth rises."""

    def factor(self, url: str, completes: float) -> float:
        return 1 + self.more if len(self.known.queued_twins(url)) > 1 else 1.0


@dataclass
class Served(Prospect):
    """Documents are held that are equal but for language marks, and the URL completes none of them: they are a pair."""

    name: ClassVar[str] = "served"
    left: float = 0.3
    """Part of the worth that is left."""

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        return self.known.queued_twins(page.url) if page.side else ()

    def learn_pair(self, url: str, partner: str) -> Iterable[str]:
        return self.known.queued_twins(partner)

    def factor(self, url: str, completes: float) -> float:
        return self.left if not completes and any(self.known.twins(url)) else 1.0
