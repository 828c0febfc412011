"""An alignment method: documents whose URLs end in the same file name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.methods import Candidates

if TYPE_CHECKING:
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.methods import Tools


class SameFile:
    """``/en/fees.html`` and ``/es/fees.html``."""

    def __init__(self, tools: Tools) -> None:
        self._threshold = tools.threshold

    def __call__(self, domain: Domain) -> Candidates:
        places = {profile.url.rpartition("/")[2]: j for j, profile in enumerate(domain.b)}
        names = [profile.url.rpartition("/")[2] for profile in domain.a]
        found = [(i, places[name]) for i, name in enumerate(names) if name and name in places]
        a, b = np.array(found, dtype=np.intp).reshape(-1, 2).T
        return Candidates(a, b, np.ones(len(found)), ["url"] * len(found), self._threshold)
