"""How far a kind of evidence is believed: how often it was right, learnt by site."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


class Reliability:
    """The share of cases in which evidence was right, by place, such as a site (the mean of a Beta distribution)."""

    def __init__(self, right: float, wrong: float) -> None:
        """*right* and *wrong* are cases as if counted before a place has shown any."""
        self._prior = right, wrong
        self._counts: dict[Hashable, list[float]] = {}

    def count(self, place: Hashable, right: bool) -> None:
        """The evidence was right, or wrong, once more at *place*."""
        self._counts.setdefault(place, [*self._prior])[not right] += 1

    def of(self, place: Hashable) -> float:
        """Probability that the evidence is right at *place*."""
        right, wrong = self._counts.get(place, self._prior)
        return right / (right + wrong)
