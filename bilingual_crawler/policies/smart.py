"""The smart crawl of García-Romero 2026, section 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.policies.base import FetchedPage, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


class Smart(Policy):
    """p(link is in the other language) x p(page and link are translations); pages of the pair and seeds expanded."""

    name = "smart"
    needs_models = True

    def expands(self, page: FetchedPage) -> bool:
        return page.side is not None or page.seed

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        if scores is None:
            return [0.0] * len(links)
        return [score.language * score.parallel for score in scores]
