"""How often Python looks for cycles of objects in the process of a crawl."""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 100)
"""Objects more than were freed after which the youngest generation is examined, and rounds until the older ones are."""


def collect_rarely() -> None:
    """Examine the queue less often: its objects live long and are in no cycles, and each page adds hundreds."""
    gc.set_threshold(*THRESHOLDS)
