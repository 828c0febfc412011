"""Evidence: pages link to pages in their own language."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import normal
from bilingual_crawler.urls.canonical import registered_domain

KEPT = 4


@dataclass
class Linking(LanguageEvidence):
    name: ClassVar[str] = "linking"
    own: float = 3.0
    other: float = 1.0
    kept: int = 3

    def __post_init__(self):
        self._sources = {}
        self._by_site = {}

    def _counts(self, url):
        """Target side -> source -> pages."""
        site = registered_domain(url)
        rows = self._by_site.get(site)
        if rows is None:
            rows = self._by_site[site] = ({}, {}, {})
        return rows

    def _usual(self, target, source):
        return self.own if source[0] == target else self.other

    def learn(self, page, links):
        sources = self._sources.get(page.url, ())
        target = self.known.index(page.side)
        counts = self._counts(page.url)[target]
        for source in sources:
            counts[source] = counts.get(source, 0) + 1 / len(sources)
        return ()

    def note(self, page, link):
        source = (self.known.index(page.side), str(link.position))
        sources = self._sources.get(link.url, ())
        if source in sources or len(sources) >= self.kept:
            return False
        self._sources[link.url] = (*sources, source)
        return True

    def update(self, url, belief):
        sources = self._sources.get(url)
        if not sources:
            return None
        product = [1.0, 1.0, 1.0]
        for target, counts in enumerate(self._counts(url)):
            total = sum(counts.values()) + self.own + 2 * self.other
            for source in sources:
                product[target] *= (counts.get(source, 0) + self._usual(target, source)) / total
        power = 1 / len(sources)
        return normal(*(b * p ** power for b, p in zip(belief, product)))

    def redirected(self, url, target):
        if url in self._sources:
            self._sources.setdefault(target, self._sources[url])

    def forget(self, url):
        self._sources.pop(url, None)
