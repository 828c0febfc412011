"""What the address of a site says of its languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.discovery.hops import entry_page
from bilingual_crawler.language_pairs import LanguagePairs

if TYPE_CHECKING:
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.scoring.models import LanguageModel

KNOWN_SITES = 100_000
"""Sites for which the answer is kept."""


class AddressReader:
    """Reads addresses of sites for a pair of languages by the language model of URLs."""

    def __init__(self, pair: LanguagePair, model: LanguageModel) -> None:
        self._model = model
        self._columns = tuple(model.columns(LanguagePairs((pair,))).values())
        self._read: LRUCache[str, float] = LRUCache(KNOWN_SITES)

    def rarer(self, url: str) -> float:
        """Probability of the less likely language of the pair for the entry page of the site of *url*."""
        entry = entry_page(url)
        if entry not in self._read:
            (row,) = self._model.probabilities([entry])
            self._read[entry] = min(float(row[columns].sum()) for columns in self._columns)
        return self._read[entry]
