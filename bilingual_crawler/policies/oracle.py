"""An order given from outside: the greedy reference with full knowledge, for the harvest benchmark only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.policies.base import FetchedPage, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


class Oracle(Policy):
    """Follows the list of URLs *order*; the rest comes after."""

    name = "oracle"

    def __init__(self, pair: LanguagePair, order: Sequence[str]) -> None:
        super().__init__(pair)
        self._priority = {url: float(len(order) - rank) for rank, url in enumerate(order)}

    def seed_priority(self, url: str) -> float:
        return self._priority.get(url, 0.0)

    def expands(self, page: FetchedPage) -> bool:
        return True

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [self._priority.get(link.url, 0.0) for link in links]
