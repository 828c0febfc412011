"""Beliefs about the language of a page, and how counts and likelihoods change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Belief: TypeAlias = tuple[float, float, float]
"""Probabilities that a page is in the first language of the pair, in the second, in neither."""

NOTHING: Sequence[float] = (0.0, 0.0, 0.0)
"""Counts of a place where no page was seen."""


def normal(first: float, second: float, neither: float) -> Belief:
    """The three weights in proportion, as probabilities."""
    total = first + second + neither
    return (first / total, second / total, neither / total)


def part_left(probability: float, slope: float, base: float) -> float:
    """What is left of a chance if a page is in the right language with *probability*: all of it from (1-base)/slope."""
    return min(1.0, slope * probability + base)


def counted(belief: Belief, counts: Sequence[float], weight: float) -> Belief:
    """*belief* after *counts* of pages, where it counts as much as *weight* pages (the mean of a Dirichlet)."""
    total = counts[0] + counts[1] + counts[2] + weight
    return (
        (counts[0] + weight * belief[0]) / total,
        (counts[1] + weight * belief[1]) / total,
        (counts[2] + weight * belief[2]) / total,
    )
