"""What a source left out."""

from __future__ import annotations

import logging
from collections import Counter

logger = logging.getLogger(__name__)


class LeftOut(Counter[str]):
    """Counts by reason; the first of each reason is logged."""

    def add(self, reason: str, what: str) -> None:
        if not self[reason]:
            logger.warning(f"{what}: left out ({reason}); others like it are only counted")
        self[reason] += 1
