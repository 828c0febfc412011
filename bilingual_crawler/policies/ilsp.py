"""The additive link ranking of ILSP-FC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.policies.base import FetchedPage, Policy
from bilingual_crawler.urls.markers import marked_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore

MIN_ANCHOR_TOKENS = 4


class Ilsp(Policy):
    """Points for what a link says; only seeds and pages of the pair are expanded.

    2 for ``hreflang`` in the pair, 1 for that of its page, 2 for a language switch, 1 for an anchor text in the other
    language, 2 for a language named in the URL.
    """

    name = "ilsp"

    def expands(self, page: FetchedPage) -> bool:
        return page.side is not None or page.seed

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [self._points(page, link) for link in links]

    def _points(self, page: FetchedPage, link: Link) -> float:
        points = 0.0
        if link.hreflang and link.hreflang != "x-default":
            points += 1 if link.hreflang == page.language else 2 * self._in_pair(link.hreflang)
        if page.side and link.label:
            points += 2 * self._in_pair(link.label)
        if page.side and len(link.text.split()) >= MIN_ANCHOR_TOKENS:
            points += self.pair.side(BY_DEFAULT.identify(link.text).language) == self.pair.other(page.side)
        named = marked_language(link.url)
        if named:
            points += 2 * self._in_pair(named)
        return points

    def _in_pair(self, language: str) -> bool:
        return self.pair.side(language) is not None
