"""The quota of the queue for the links of one site's pages."""

from __future__ import annotations

from collections import Counter

MAX_CHARACTERS = 100_000_000
"""Characters of queued URLs per linking site: over a million ordinary URLs, or 50,000 of 2,000 characters."""


class QueueQuota:
    """Counts the characters of queued URLs by the site whose pages link to them. So no site can use up the quota of the
    site that the URLs lead to.
    """

    def __init__(self) -> None:
        self._queued: Counter[str] = Counter()
        self.urls: Counter[str] = Counter()
        """The number of these URLs."""

    def add(self, site: str, url: str) -> None:
        self._queued[site] += len(url)
        self.urls[site] += 1

    def remove(self, site: str, url: str) -> None:
        """*url* is not queued any more. The site that is charged may differ from the site of its current parent."""
        self._queued[site] -= len(url)
        self.urls[site] -= 1
        if self._queued[site] <= 0:
            del self._queued[site]
            del self.urls[site]

    def is_full(self, site: str) -> bool:
        return self._queued[site] >= MAX_CHARACTERS
