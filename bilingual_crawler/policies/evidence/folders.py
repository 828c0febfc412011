"""Evidence: the languages of the pages that were found in the same folder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import counted
from bilingual_crawler.policies.evidence.places import rare_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


@dataclass
class Folders(LanguageEvidence):
    """Counts by host and folder: a hierarchical Dirichlet, a folder with few pages is judged by the one above it."""

    name: ClassVar[str] = "folders"
    weight: float = 2.0
    """Pages of a folder that count as much as the belief in the one above."""

    def __post_init__(self) -> None:
        self._counts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        index = self.known.index(page.side)
        for folder in self.known.place(page.url).folders:
            self._counts[folder][index] += 1
        for folder in rare_folders(self._counts, lambda folder: sum(self._counts[folder])):
            del self._counts[folder]
        return ()

    def update(self, target: Target, belief: Belief) -> Belief | None:
        for folder in target.place.folders:
            counts = self._counts.get(folder)
            if counts is None:
                break
            belief = counted(belief, counts, self.weight)
        return belief
