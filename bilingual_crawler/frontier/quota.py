"""How much of the queue one site may fill with the links of its pages."""

from __future__ import annotations

from collections import Counter

MAX_CHARACTERS = 100_000_000
"""Characters of queued URLs by site that links to them: over a million ordinary URLs, or 50,000 of 2,000 characters."""


class QueueQuota:
    """Counts the characters of queued URLs by the site whose pages link to them, not by the site that they lead to: no
    site can spend the share of another one.
    """

    def __init__(self) -> None:
        self._queued: Counter[str] = Counter()

    def add(self, site: str, url: str) -> None:
        self._queued[site] += len(url)

    def remove(self, site: str, url: str) -> None:
        """*url* is not queued any more; another page of another site may be its parent by now."""
        self._queued[site] -= len(url)
        if self._queued[site] <= 0:
            del self._queued[site]

    def is_full(self, site: str) -> bool:
        return self._queued[site] >= MAX_CHARACTERS
