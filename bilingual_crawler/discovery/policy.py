"""Discovery as the policy of a crawl."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.discovery.detector.base import DetectorPage
from bilingual_crawler.policies.base import FetchedPage, Policy, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bilingual_crawler.discovery.search import SiteSearch
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore

MAX_LINKS = 2000
"""Links of a page that are looked at."""
MAX_TEXT = 50_000
"""Characters of a page that are looked at."""


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(DetectorPage).decode


def fact_of(page: DetectorPage) -> bytes:
    """What the search learns of *page*; 2 to 20 kB."""
    return zlib.compress(_pack(replace(page, links=page.links[:MAX_LINKS], text=page.text[:MAX_TEXT])))


class DiscoveryPolicy(Policy):
    """Has a :class:`~bilingual_crawler.discovery.search.SiteSearch` decide which URLs are fetched.

    The search wants each of them itself: no link of a page is followed otherwise.
    """

    name = "discovery"

    def __init__(self, pair: LanguagePair, search: SiteSearch) -> None:
        super().__init__(pair)
        self.search = search
        self.name = search.order.name  # type: ignore[misc]

    def seed_priority(self, url: str) -> float:
        self.search.seed(url)
        return super().seed_priority(url)

    def recall(self, fact: bytes) -> None:
        self.search.read(_unpack(zlib.decompress(fact)))

    def wanted(self) -> Sequence[Wanted]:
        return self.search.wanted()

    def changed(self) -> Mapping[str, float]:
        return self.search.changed()

    def gone(self, url: str) -> None:
        self.search.gone(url)

    def redirected(self, url: str, target: str) -> None:
        self.search.redirected(url, target)

    def expands(self, page: FetchedPage) -> bool:
        return False

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [0.0] * len(links)
