"""Pairs of documents against what is known of a site: verdicts and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bilingual_crawler.items import Pair

CERTAIN_SCORE = 0.9
"""Score from which a false pair counts as one that claims to be certain."""
MIN_PAIRS_OF_TASK = 5
"""Gold pairs, or judged pairs, from which a task can be the worst one."""


class PairVerdict(StrEnum):
    """Whether a pair is right; unjudged if it touches neither gold nor an orphan, and nobody has read it."""

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
    false: frozenset[tuple[str, str]] = frozenset()
    """Pairs that a reader has called wrong."""
    undecided: frozenset[tuple[str, str]] = frozenset()
    """Pairs that a reader has called neither right nor wrong."""

    @cached_property
    def _known(self) -> frozenset[str]:
        return self.orphans.union(chain.from_iterable(self.gold))

    def verdict(self, urls: tuple[str, str]) -> PairVerdict:
        """Judge the pair of two URLs, that in the first language first."""
        if urls in self.gold:
            return PairVerdict.RIGHT
        if urls in self.false:
            return PairVerdict.FALSE
        if urls in self.undecided:
            return PairVerdict.UNJUDGED
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
    pair: Pair
    verdict: PairVerdict


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


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
