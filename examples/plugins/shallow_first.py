"""A kind of evidence for ``gain``: pages in deep folders are worth less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.policies.evidence.base import Prospect

if TYPE_CHECKING:
    from bilingual_crawler.policies.evidence.base import Target


@dataclass
class ShallowFirst(Prospect):
    """``shallow_first.folder`` is its weight."""

    name = "shallow_first"
    folder: float = 0.9
    """Factor for each folder of the path."""

    def factor(self, target: Target) -> float:
        return self.folder ** (urlsplit(target.url).path.count("/") - 1)
