"""Crawls in the order of discovery: the baselines of García-Romero 2026, section 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.policies.base import FetchedPage, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


class BreadthFirst(Policy):
    """Order of discovery, every page expanded (Heritrix)."""

    name = "bfs"

    def expands(self, page: FetchedPage) -> bool:
        return True

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [0.0] * len(links)


class LanguageBreadthFirst(BreadthFirst):
    """Order of discovery, only seeds and pages in one of the two languages expanded (Heritrix + CLD2)."""

    name = "cld2"

    def expands(self, page: FetchedPage) -> bool:
        return page.side is not None or page.seed
