"""A kind of evidence for ``gain``: pages that no sitemap lists are worth less."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilingual_crawler.pages.model import LinkSource
from bilingual_crawler.policies.evidence.base import Prospect

if TYPE_CHECKING:
    from bilingual_crawler.items import FetchedPage
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.evidence.base import Target


@dataclass
class SitemapFirst(Prospect):
    """``sitemap_first.unlisted`` is its weight."""

    name = "sitemap_first"
    unlisted: float = 0.5
    _listed: set[str] = field(default_factory=set)

    def observe_link(self, page: FetchedPage, link: Link) -> bool:
        if link.source is not LinkSource.SITEMAP or link.url in self._listed:
            return False
        self._listed.add(link.url)
        self.known.mention(link.url)
        return True

    def factor(self, target: Target) -> float:
        return 1.0 if target.url in self._listed else self.unlisted

    def forget(self, url: str) -> None:
        self._listed.discard(url)
