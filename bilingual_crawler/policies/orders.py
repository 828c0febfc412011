"""Orders that look at nothing: depth first and random, to compare with."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from bilingual_crawler.policies.breadth import BreadthFirst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.scoring.links import LinkScore


class DepthFirst(BreadthFirst):
    """The links of the page fetched last come first."""

    name = "dfs"

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self._pages = 0
        self._last = ""

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        # the links of a large page come in parts
        self._pages += page.url != self._last
        self._last = page.url
        return [float(self._pages)] * len(links)


class Random(BreadthFirst):
    """Every URL has a random place, the same in every run."""

    name = "random"

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [int.from_bytes(blake2b(link.url.encode(), digest_size=6).digest()) / (1 << 48) for link in links]
