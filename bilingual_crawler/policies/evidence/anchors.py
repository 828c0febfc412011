"""Which language of a pair the text of a link is in."""

from __future__ import annotations

from bisect import bisect
from copy import copy
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bilingual_crawler.languages import from_bcp47

if TYPE_CHECKING:
    from bilingual_crawler.languages import LanguagePair

STEPS = (0.1, 0.35, 0.65, 0.9)
"""Bounds between the five steps: probability of the second language, given that it is one of the two."""
LETTERS = 4
"""Shorter texts tell nothing."""


class AnchorReader:
    """Reads link texts of a few words, too short for CLD2, by langid restricted to the two languages.

    Silent about pairs of which langid does not know both languages.
    """

    def __init__(self, pair: LanguagePair) -> None:
        self._identifier = copy(_identifier())
        sides = {label: pair.side(from_bcp47(label) or "") for label in self._identifier.labels}
        self._second = {label for label, side in sides.items() if side == pair.b}
        self._knows_both = {pair.a, pair.b} <= set(sides.values())
        if self._knows_both:
            self._identifier.set_languages([label for label, side in sides.items() if side])
        self.read = lru_cache(maxsize=1 << 16)(self._read)

    def _read(self, text: str) -> int | None:
        """0 (surely the first language) to 4 (surely the second); None if there is nothing to read."""
        if not self._knows_both or "://" in text or sum(map(str.isalpha, text)) < LETTERS:
            return None
        label, probability = self._identifier.classify(text.lower())
        return bisect(STEPS, probability if label in self._second else 1 - probability)


@cache
def _identifier() -> LanguageIdentifier:
    """What langid knows of all languages, loaded once: it takes a second."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
