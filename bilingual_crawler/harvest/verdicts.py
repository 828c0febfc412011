"""Pairs of documents against what is known of a site: verdicts, counts, and the reliability of the score."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.items import Pair

CERTAIN_SCORE = 0.9
"""Score from which a false pair counts as one that claims to be certain."""
MIN_PAIRS_OF_TASK = 5
"""Gold pairs, or judged pairs, from which a task can be the worst one."""
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Limits of the bins of the score: narrow where most scores are."""


class PairVerdict(StrEnum):
    """Whether a pair is right. A pair that touches neither gold nor an orphan is unjudged."""

    RIGHT = "right"
    FALSE = "false"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Truth:
    """What is known of the documents in the two languages of a task."""

    gold: frozenset[tuple[str, str]]
    """URLs of translations, that in the first language first."""
    orphans: frozenset[str] = frozenset()
    """URLs of documents without a translation: each pair with one of them is false."""
    reachable: frozenset[str] | None = None
    """URLs that can be found, so that recall and the share of orphans count no others; None: all."""

    @cached_property
    def _known(self) -> frozenset[str]:
        return self.orphans.union(chain.from_iterable(self.gold))

    def verdict(self, urls: tuple[str, str]) -> PairVerdict:
        """Judge the pair of two URLs, that in the first language first."""
        if urls in self.gold:
            return PairVerdict.RIGHT
        return PairVerdict.UNJUDGED if self._known.isdisjoint(urls) else PairVerdict.FALSE

    def judge(self, pairs: Iterable[Pair]) -> Tally:
        """Judge all pairs that were found of a task; no pair comes twice."""
        judged = [JudgedPair(pair, self.verdict((pair.url_a, pair.url_b))) for pair in pairs]
        found = {(pair.url_a, pair.url_b) for pair, _ in judged}
        gold, orphans = self.gold, self.orphans
        if self.reachable is not None:
            gold, orphans = frozenset(filter(self.reachable.issuperset, gold)), orphans & self.reachable
        paired = orphans.intersection(chain.from_iterable(found))
        return Tally(len(gold), len(gold & found), len(orphans), len(paired), judged)


class JudgedPair(NamedTuple):
    """A pair and its verdict."""

    pair: Pair
    verdict: PairVerdict


class Bin(NamedTuple):
    """The judged pairs whose scores lie in one bin."""

    pairs: int
    score: float
    """Their mean."""
    right: float
    """Share of the pairs that are right, which is the score if that is calibrated."""


@dataclass(slots=True)
class Tally:
    """The pairs that were found of one task or several, judged."""

    gold: int = 0
    """Gold pairs that can be found."""
    found: int = 0
    """Gold pairs of these that were found."""
    orphans: int = 0
    orphans_paired: int = 0
    """Orphans that got a partner."""
    pairs: list[JudgedPair] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.gold + other.gold,
            self.found + other.found,
            self.orphans + other.orphans,
            self.orphans_paired + other.orphans_paired,
            self.pairs + other.pairs,
        )

    @property
    def judged(self) -> int:
        """Pairs that are right or false."""
        return sum(verdict != PairVerdict.UNJUDGED for _, verdict in self.pairs)

    @property
    def right(self) -> int:
        """Pairs that are in gold."""
        return sum(verdict == PairVerdict.RIGHT for _, verdict in self.pairs)

    @property
    def sure_and_false(self) -> int:
        """False pairs with a score of :data:`CERTAIN_SCORE` or more."""
        return sum(verdict == PairVerdict.FALSE and pair.score >= CERTAIN_SCORE for pair, verdict in self.pairs)

    @property
    def recall(self) -> float | None:
        """Share of the gold pairs that were found; None without gold."""
        return share(self.found, self.gold)

    @property
    def precision(self) -> float | None:
        """Share of the judged pairs that are right; None if no pair is judged."""
        return share(self.right, self.judged)

    def by_method(self) -> dict[str, Counter[PairVerdict]]:
        """Count the verdicts by the strongest evidence of the pairs, most pairs first."""
        methods = Counter(pair.method for pair, _ in self.pairs)
        return {
            method: Counter(verdict for pair, verdict in self.pairs if pair.method == method)
            for method, _ in methods.most_common()
        }

    def reliability(self) -> list[Bin | None]:
        """Compare score and truth of the judged pairs in each of :data:`BINS`; None for an empty bin."""
        judged = [
            (pair.score, verdict == PairVerdict.RIGHT)
            for pair, verdict in self.pairs
            if verdict != PairVerdict.UNJUDGED
        ]
        scores, right = np.array(judged, dtype=float).reshape(-1, 2).T
        places = np.searchsorted(BINS[1:-1], scores, side="right")
        bins: list[Bin | None] = []
        for place in range(len(BINS) - 1):
            inside = places == place
            count = int(inside.sum())
            bins.append(Bin(count, float(scores[inside].mean()), float(right[inside].mean())) if count else None)
        return bins


def share(part: int, whole: int) -> float | None:
    """Return *part* of *whole*; None of nothing."""
    return part / whole if whole else None


def calibration_error(bins: Sequence[Bin | None]) -> float | None:
    """Expected calibration error, 0 to 1: mean gap of score and share that is right, over pairs; None without pairs."""
    filled = [one for one in bins if one]
    gaps = sum(one.pairs * abs(one.score - one.right) for one in filled)
    return gaps / sum(one.pairs for one in filled) if filled else None


def worst_recall(tallies: Iterable[Tally]) -> float | None:
    """Return the lowest recall of the tasks with :data:`MIN_PAIRS_OF_TASK` gold pairs; None without one."""
    return min((one.found / one.gold for one in tallies if one.gold >= MIN_PAIRS_OF_TASK), default=None)


def worst_precision(tallies: Iterable[Tally]) -> float | None:
    """Return the lowest precision of the tasks with :data:`MIN_PAIRS_OF_TASK` judged pairs; None without one."""
    return min((one.right / one.judged for one in tallies if one.judged >= MIN_PAIRS_OF_TASK), default=None)
