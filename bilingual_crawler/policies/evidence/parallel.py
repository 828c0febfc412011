"""Evidence: translations are built from one template, so that their links correspond in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rapidfuzz.distance import Indel

from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.policies.evidence.base import PartnerEvidence
from bilingual_crawler.urls.canonical import registered_domain


@dataclass
class ParallelLinks(PartnerEvidence):
    """Links of a pair of documents that stand at corresponding places lead to a pair."""

    name: ClassVar[str] = "parallel_links"
    right: float = 4.0
    wrong: float = 1.0
    slope: float = 2.0
    base: float = 0.4

    def __post_init__(self):
        self._links = {}
        self._couples = defaultdict(Counter)
        self._by_site = {}
        self._partners = {}
        self.proposals = []

    def learn(self, page, links):
        if page.side is not None:
            self._links[page.url] = [
                (l.url, l.position) for l in links
                if not l.alternate and l.position not in (LinkPosition.SWITCHER, LinkPosition.HEAD)
            ]
        best = self._best(page.url)
        if best and self.known.side(best[0]) is not None:
            counts = self._by_site.setdefault(registered_domain(page.url), [self.right, self.wrong])
            counts[self._partners.get(page.url) != best[0]] += 1
        return ()

    def learn_pair(self, url, partner):
        self._partners[url], self._partners[partner] = partner, url
        one, two = self._links.get(url), self._links.get(partner)
        if not one or not two:
            return ()
        changed = set()
        for x, y in self._align(one, two, url, partner):
            self._couples[x][y] += 1
            self._couples[y][x] += 1
            changed |= {x, y}
            if self.known.side(x) and self.known.side(y):
                self.proposals.append((x, y))
        return [u for u in changed if u in self.known._queued]

    def _align(self, one, two, url, partner):
        first, second = {u for u, _ in one}, {u for u, _ in two}
        drop = (first & second) | {url, partner}
        one = [x for x in one if x[0] not in drop]
        two = [y for y in two if y[0] not in drop]
        places = {u: i for i, (u, _) in enumerate(two)}
        # cut at known pairs
        cuts, last = [], -1
        for i, (u, _) in enumerate(one):
            p = self._partners.get(u)
            j = places.get(p, -1) if p else -1
            if j > last:
                cuts.append((i, j)); last = j
        start = (0, 0)
        for i, j in [*cuts, (len(one), len(two))]:
            yield from self._segment(one[start[0]:i], two[start[1]:j])
            start = (i + 1, j + 1)

    def _segment(self, one, two):
        one = [x for x in one if x[0] not in self._partners]
        two = [x for x in two if x[0] not in self._partners]
        for (x, _), (y, _) in zip(one, two):
            yield x, y

    def _best(self, url):
        couples = self._couples.get(url)
        if not couples:
            return None
        other, votes = couples.most_common(1)[0]
        return other, votes / sum(couples.values())

    def candidates(self, page, links):
        couples = self._couples.get(page.url)
        return [u for u, _ in couples.most_common()] if couples else ()

    def chance(self, url, belief):
        couples = self._couples.get(url)
        if not couples:
            return 0.0
        total = sum(couples.values())
        right, wrong = self._by_site.get(registered_domain(url), (self.right, self.wrong))
        reliability = right / (right + wrong)
        best = 0.0
        for x, other in self.known.lacking(couples):
            best = max(best, couples[x] / total * reliability * min(1.0, self.slope * belief[other] + self.base))
        return best

    def redirected(self, url, target):
        if url in self._couples:
            for x, n in self._couples[url].items():
                self._couples[target][x] += n
                self._couples[x][target] += n
