"""A crawl policy: pages below ``/news/`` come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.policies.base import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.scoring.links import LinkScore


class NewsFirst(Policy):
    """Follows every link; of the others the first discovered comes first."""

    name = "news-first"

    def expands(self, page: PageRecord) -> bool:
        return True

    def priorities(
        self, page: PageRecord, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [1.0 if "/news/" in link.url else 0.0 for link in links]
