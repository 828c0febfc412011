"""An order given from outside: the greedy reference with full knowledge, for the harvest benchmark only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from bilingual_crawler.frontier.policies.base import FetchedPage, Policy
from bilingual_crawler.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import BaseSettings

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


class Oracle(Policy):
    """Follows the list of URLs in the file named by ``BILINGUAL_ORACLE_ORDER``, one a line; the rest comes after."""

    name = "oracle"

    def __init__(self, pair: LanguagePair, settings: BaseSettings) -> None:
        super().__init__(pair, settings)
        order = Options.of(settings).oracle_order
        if not order:
            raise UsageError(
                "policy=oracle: set BILINGUAL_ORACLE_ORDER, or run it through scrapy harvest", print_help=False
            )
        try:
            urls = order.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise UsageError(
                f"BILINGUAL_ORACLE_ORDER={order}: cannot read this file ({error})", print_help=False
            ) from error
        self._priority = {url: float(len(urls) - rank) for rank, url in enumerate(urls)}

    def seed_priority(self, url: str) -> float:
        return self._priority.get(url, 0.0)

    def expands(self, page: FetchedPage) -> bool:
        return True

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [self._priority.get(link.url, 0.0) for link in links]
