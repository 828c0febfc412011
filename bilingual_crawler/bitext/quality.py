"""P(a reader would call a sentence pair right), by a logistic regression on the evidence for its bead.

``python -m training.sentences`` fits the weights. A pair is right if both sides say the same, and all of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.bitext.evidence import LENGTH_OFFSET, USUAL_NEARNESS, Lexicon, Nearness, Words, words
from bilingual_crawler.scoring.linear import LinearModel, logit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilingual_crawler.bitext.beads import Bead
    from bilingual_crawler.bitext.splitting import Sentence

WITHOUT_ENCODER = LinearModel(0.726, {
    "around": 0.315, "alone": -1.986, "found_a": 1.037, "found_b": 0.849, "shared_numbers": 1.192,
    "other_numbers": -1.073, "length": -0.317, "characters": 0.037, "merged": -1.967,
})  # fmt: skip
"""Mean of the fits on 22 and on 19 sites, the latter with small sites and more documents that are no translations.

The score of the bead in the alignment is the sum of the other evidence, and no feature.
"""
WITH_ENCODER = LinearModel(0.413, {
    "around": 0.252, "alone": -1.881, "found_a": 0.511, "found_b": 0.743, "shared_numbers": 0.529,
    "other_numbers": -0.843, "length": -0.286, "characters": 0.148, "merged": -1.559, "meaning": 0.496,
})  # fmt: skip
"""Mean of the fits with and without the encoder, which knows some languages less well than those of the fit."""

MAX_ODDS = 8.0
AROUND = 2  # beads before and after a bead that count as evidence
SPREAD, MAX_LENGTH = 0.2, 9.0
"""Unit, and maximum of the square, of the deviation of the length ratio."""
MAX_NUMBERS = 2
BLOCK = 8  # beads whose words support each other
KNOWN = 2  # minimum beads outside a block that teach a word
MIN_SUPPORT = 0.5
"""Log-odds of words for each bead of a block, from which more than place and length speaks for its beads."""
MIN_FIT = 1.5
"""How much better lengths fit, in squared deviations for each bead of a block, from which they speak for its beads."""
_LABEL = re.compile(r"^\W*(?:[^\W\d_]+ )?\d{1,3}(?:\.\d{1,3})*(?:[.):]|(?= )|$)")
"""The number of an item or a heading, which all lists have."""


class Quality:
    """Judges the beads of two documents by the evidence that aligned them.

    *ratio*: expected length ratio of a sentence, second side to first. *nearness*: the comparison by the encoder; None
    without one.
    """

    def __init__(
        self, a: Sequence[Sentence], b: Sequence[Sentence], lexicon: Lexicon, ratio: float, nearness: Nearness | None
    ) -> None:
        self._a, self._b = a, b
        self._lexicon, self._ratio, self._nearness = lexicon, ratio, nearness

    def scores(self, beads: Sequence[Bead]) -> list[float]:
        """P(right) of each of *beads*, all of both documents in order; under .5 where only place speaks for a block."""
        if self._nearness:
            return [round(WITH_ENCODER.probability(row), 4) for row in self.rows(beads)]
        return [
            round(WITHOUT_ENCODER.probability(row) * share, 4)
            for row, share in zip(self.rows(beads), self._shares(beads), strict=True)
        ]

    def _shares(self, beads: Sequence[Bead]) -> Iterator[float]:
        """1 for each of *beads* that words or lengths speak for in its block, else 1/2."""
        found = [self._words(bead) for bead in beads]
        lengths = [(len(a), len(b)) for a, b in map(self._texts, beads)]
        for start in range(0, len(beads), BLOCK):
            # the last block is whole
            first = max(0, min(start, len(beads) - BLOCK))
            by_words = self._support(found[first : first + BLOCK]) / min(BLOCK, len(beads))
            is_supported = by_words >= MIN_SUPPORT or self._fit(lengths[first : first + BLOCK]) >= MIN_FIT
            yield from repeat(1.0 if is_supported else 0.5, min(BLOCK, len(beads) - start))

    def rows(self, beads: Sequence[Bead]) -> list[dict[str, float]]:
        """The features of each of *beads* by their names in :data:`WITHOUT_ENCODER`."""
        odds = np.clip(logit(np.array([bead.score for bead in beads])), -MAX_ODDS, MAX_ODDS).tolist()
        return [self._row(beads, odds, place) for place in range(len(beads))]

    def _words(self, bead: Bead) -> tuple[Words, Words]:
        """The words of both sides, without the number of an item or heading."""
        text_a, text_b = self._texts(bead)
        return words(_LABEL.sub("", text_a)), words(_LABEL.sub("", text_b))

    def _support(self, block: Sequence[tuple[Words, Words]]) -> float:
        """Sum of the log-odds of the words in *block* that translate each other, more than in other beads of it.

        Words are known by beads elsewhere, or as names and numbers. The beads compared are one and two places away.
        """
        own, *others = (
            [self._lexicon.translated(a, block[place - shift][1]) for place, (a, _) in enumerate(block)]
            for shift in range(min(3, len(block)))
        )
        here = Counter(pair for found in own for pair in found)

        def total(found: Sequence[Mapping[tuple[str, str], float]]) -> float:
            known = (item for each in found for item in each.items())
            return sum(gain for pair, gain in known if self._lexicon.count(pair) - here[pair] >= KNOWN)

        return total(own) - max(map(total, others), default=0.0)

    def _fit(self, block: Sequence[tuple[int, int]]) -> float:
        """How much better the lengths of both sides fit in *block* than those of beads one and two places away."""
        own, *others = (
            sum(self._misfit(a, block[place - shift][1]) for place, (a, _) in enumerate(block)) / len(block)
            for shift in range(min(3, len(block)))
        )
        return min(others, default=own) - own

    def _misfit(self, length_a: int, length_b: int) -> float:
        """Squared deviation of the length ratio of two texts."""
        expected = length_a * self._ratio + LENGTH_OFFSET
        return min(MAX_LENGTH, (math.log((length_b + LENGTH_OFFSET) / expected) / SPREAD) ** 2)

    def _texts(self, bead: Bead) -> tuple[str, str]:
        text_a, text_b = (
            " ".join(s.text for s in side[slice(*places)]) for side, places in ((self._a, bead.a), (self._b, bead.b))
        )
        return text_a, text_b

    def _row(self, beads: Sequence[Bead], odds: Sequence[float], place: int) -> dict[str, float]:
        bead = beads[place]
        near = [*odds[max(0, place - AROUND) : place], *odds[place + 1 : place + 1 + AROUND]]
        neighbours = pairwise(beads[max(0, place - 1) : place + 2])
        gaps = sum(one.a[1] < other.a[0] or one.b[1] < other.b[0] for one, other in neighbours)
        text_a, text_b = self._texts(bead)
        words_a, words_b = self._words(bead)
        numbers_a, numbers_b = ({word for word in side if word.isdigit()} for side in (words_a, words_b))
        found_a, found_b = self._lexicon.coverage(words_a, words_b)
        row = {
            "around": sum(near) / len(near) if near else 0.0,
            "alone": float(gaps),
            "found_a": found_a,
            "found_b": found_b,
            "shared_numbers": float(min(MAX_NUMBERS, len(numbers_a & numbers_b))),
            "other_numbers": float(min(MAX_NUMBERS, max(len(numbers_a - numbers_b), len(numbers_b - numbers_a)))),
            "length": self._misfit(len(text_a), len(text_b)),
            "characters": math.log(min(len(text_a), len(text_b)) + 1),
            "merged": float(bead.a[1] - bead.a[0] + bead.b[1] - bead.b[0] - 2),
        }
        if self._nearness:
            row["meaning"] = self._nearness.of(bead.a, bead.b) - USUAL_NEARNESS
        return row
