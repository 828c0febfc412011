"""A lexicon, learnt from the documents that are being aligned."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MIN_COUNT = 3
"""Sentence pairs in which two words must co-occur to count as translations."""
MIN_DICE = 0.3
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_NAME_LENGTH = 4
_SAME = 0.6
"""Probability that a number or name of a sentence is in its translation."""

Words = tuple[str, ...]


def words(text: str) -> Words:
    """Distinct words and numbers of *text* in lower case, sorted."""
    return tuple(sorted({token.lower() for token in _TOKEN.findall(text)}))


class Lexicon:
    """Log-odds by which a word predicts a word of the translation: log(P(b | a, translation) / P(b)).

    Equal numbers and longer equal words (names, cognates) count from the start; other pairs are learnt from sentence
    pairs by Dice's coefficient (Melamed 2000).
    """

    def __init__(self, shares_b: Mapping[str, float]) -> None:
        """*shares_b*: for each word, the share of the sentences of the second language that contain it."""
        self._shares_b = shares_b
        self._learnt: dict[str, dict[str, float]] = {}

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Words, Words]], shares_b: Mapping[str, float]) -> Lexicon:
        """The lexicon of these sentence pairs."""
        together: Counter[tuple[str, str]] = Counter()
        first: Counter[str] = Counter()
        second: Counter[str] = Counter()
        for a, b in pairs:
            first.update(a)
            second.update(b)
            together.update((x, y) for x in a for y in b)
        lexicon = cls(shares_b)
        for (x, y), count in together.items():
            if count >= MIN_COUNT and 2 * count >= MIN_DICE * (first[x] + second[y]):
                gain = math.log(count / (first[x] + 1) / shares_b.get(y, 1.0))
                if gain > 0:
                    lexicon._learnt.setdefault(x, {})[y] = gain
        return lexicon

    def translations(self, word: str) -> Mapping[str, float]:
        """Words of the second language that *word* predicts, with their log-odds."""
        found = self._learnt.get(word, {})
        share = self._shares_b.get(word)
        if share is not None and word not in found and (word.isdigit() or len(word) >= _NAME_LENGTH):
            return {**found, word: max(0.0, math.log(_SAME / share))}
        return found

    def __len__(self) -> int:
        return sum(map(len, self._learnt.values()))
