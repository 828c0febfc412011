"""Which sentence pairs are good enough to train a translation model."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from bilingual_crawler.pages.language import BY_DEFAULT, Detection

if TYPE_CHECKING:
    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair

MIN_SCORE = 0.5
MAX_RATIO = 3.0
"""Largest ratio of the lengths in characters, after `SLACK` characters."""
SLACK = 15
MIN_LETTERS = 2
LEGIBLE = 40
"""Characters from which the language of a sentence is identified."""


class Seen:
    """The sentence pairs that there were, 8 bytes of each."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def is_new(self, a: str, b: str) -> bool:
        """Whether the pair of *a* and *b*, but for case and blanks, comes for the first time."""
        digest = blake2b(f"{_normal(a)}\t{_normal(b)}".encode(errors="replace"), digest_size=8).digest()
        new = digest not in self._digests
        self._digests.add(digest)
        return new


class Cleaner:
    """Keeps a sentence pair, or counts the reason why it is dropped. Each pair is kept once.

    `dropped` counts by reason: ``score``, ``letters``, ``equal``, ``length``, ``language``, ``duplicate``.
    """

    def __init__(self, pair: LanguagePair, detection: Detection = BY_DEFAULT) -> None:
        self._pair = pair
        self._detection = detection
        self._seen = Seen()
        self.dropped: Counter[str] = Counter()

    def keeps(self, found: SentencePair) -> bool:
        """Whether *found* goes into the bitext."""
        reason = self._objection(found.text_a, found.text_b, found.score)
        if reason:
            self.dropped[reason] += 1
        return reason is None

    def _objection(self, a: str, b: str, score: float) -> str | None:
        if score < MIN_SCORE:
            return "score"
        if min(sum(map(str.isalpha, text)) for text in (a, b)) < MIN_LETTERS:
            return "letters"
        if a.casefold() == b.casefold():
            return "equal"
        shorter, longer = sorted((len(a), len(b)))
        if longer > MAX_RATIO * shorter + SLACK:
            return "length"
        if not (self._may_be(a, self._pair.a) and self._may_be(b, self._pair.b)):
            return "language"
        return None if self._seen.is_new(a, b) else "duplicate"

    def _may_be(self, text: str, language: str) -> bool:
        if len(text) < LEGIBLE:
            return True
        identified = self._detection.identify(text, (language,))
        return not identified.reliable or self._pair.side(identified.language) == language


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())
