"""The quota of the queue for the links of one site's pages."""

from __future__ import annotations

from collections import Counter

MAX_BYTES = 500_000_000
"""Memory for the queued URLs of one linking site: half a million ordinary URLs, or 170,000 of 2,000 characters."""
STORED = 350
"""Bytes that a frontier in memory keeps of a queued URL beside its text."""
KNOWN = 600
"""Bytes that the policy ``gain`` knows of it for each pair of languages."""


class QueueQuota:
    """Counts the memory for queued URLs by the site whose pages link to them. So no site can use up the quota of the
    site that the URLs lead to.
    """

    def __init__(self, pairs: int = 1) -> None:
        """*pairs* of languages are crawled for."""
        self._beside = STORED + KNOWN * pairs
        self._queued: Counter[str] = Counter()
        self.urls: Counter[str] = Counter()
        """The number of these URLs."""

    def add(self, site: str, url: str) -> None:
        self._queued[site] += len(url) + self._beside
        self.urls[site] += 1

    def remove(self, site: str, url: str) -> None:
        """*url* is not queued any more. The site that is charged may differ from the site of its current parent."""
        self._queued[site] -= len(url) + self._beside
        self.urls[site] -= 1
        if self._queued[site] <= 0:
            del self._queued[site]
            del self.urls[site]

    def is_full(self, site: str) -> bool:
        return self._queued[site] >= MAX_BYTES
