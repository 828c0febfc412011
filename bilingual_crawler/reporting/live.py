"""What a running crawl shows of itself, kept in memory and bounded."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.policies.partners import Partners
from bilingual_crawler.reporting.ledger import is_fetched
from bilingual_crawler.reporting.results import FoundPair, SiteCounts, read_course
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.crawl.signals import Fetch
    from bilingual_crawler.language_pairs import LanguagePairs
    from bilingual_crawler.pairing.documents import Pair

MAX_POINTS = 1200
"""Points of the curve; when it has more, every second one is dropped."""
MAX_TITLES = 10_000
"""Titles of documents that are remembered for the pairs to come."""
MAX_SITES = 10_000
"""Sites whose counts are shown; beyond that those that were not fetched from for longest are forgotten."""
MAX_NEWEST = 20
RATE_SECONDS = 60
"""Seconds over which the speed is measured."""


class Live:
    """The harvest curve, the counts of sites, the newest pairs and the speed of a crawl, over all its runs."""

    def __init__(self, pairs: LanguagePairs) -> None:
        self._pairs = pairs
        self.curve: list[tuple[int, int]] = [(0, 0)]
        """(pages fetched, pairs), in this order."""
        self.sites: LRUCache[str, SiteCounts] = LRUCache(MAX_SITES)
        self._partners: defaultdict[str, Partners] = defaultdict(Partners)
        self._newest: deque[Pair] = deque(maxlen=MAX_NEWEST)
        self._titles: LRUCache[str, str] = LRUCache(MAX_TITLES)
        self._moments: deque[tuple[float, int]] = deque()

    def read(self, folder: Path) -> None:
        """Count what the output folder holds: that of earlier runs, or at the end what the alignment has made of it."""
        course = read_course(folder, self._pairs)
        self.curve = list(course.curve)
        self.sites.update(course.sites)
        self._partners.clear()
        for row in course.rows:
            self._partners[row["pair"]].join(row["url_a"], row["url_b"])

    def fetched(self, fetch: Fetch) -> None:
        if is_fetched(str(fetch.status), fetch.outcome):
            self._site(registered_domain(fetch.url)).fetched += 1

    def titled(self, url: str, title: str) -> None:
        self._titles[url] = title

    def paired(self, pair: Pair) -> None:
        self._newest.append(pair)
        self._count((pair.url_a, pair.url_b), 1)
        for parted in self._partners[pair.pair].join(pair.url_a, pair.url_b):
            self._count(parted, -1)

    def _count(self, pair: tuple[str, str], number: int) -> None:
        for site in {*map(registered_domain, pair)}:
            self._site(site).pairs += number

    def _site(self, site: str) -> SiteCounts:
        counts = self.sites.get(site)
        if counts is None:
            counts = self.sites[site] = SiteCounts()
        return counts

    def advance(self, fetched: int, pairs: int) -> None:
        """The crawl has come to so many pages and pairs."""
        now = time.monotonic()
        self._moments.append((now, fetched))
        while now - self._moments[0][0] > RATE_SECONDS:
            self._moments.popleft()
        if (fetched, pairs) != self.curve[-1]:
            self.curve.append((fetched, pairs))
        if len(self.curve) > MAX_POINTS:
            self.curve = [*self.curve[:-1:2], self.curve[-1]]

    @property
    def rate(self) -> float:
        """Pages per second of the last minute."""
        if not self._moments:
            return 0.0
        (before, fetched), (now, fetched_now) = self._moments[0], self._moments[-1]
        return (fetched_now - fetched) / (now - before) if now > before else 0.0

    @property
    def newest(self) -> Sequence[FoundPair]:
        """The newest pairs, the last one first."""
        return [
            FoundPair(
                *(pair.url_a, pair.url_b, f"{pair.score:.3f}", pair.method, pair.pair),
                *(self._titles.get(url, "") for url in (pair.url_a, pair.url_b)),
            )
            for pair in reversed(self._newest)
        ]
