"""The reliability of the score of document pairs: its bins, its calibration, its worst task, its picture."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from bilingual_crawler.harvest.plot import INK, SOFT, plain
from bilingual_crawler.harvest.sites import MIN_PAIRS_OF_TASK, PairVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.harvest.sites import Tally

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # limits of the bins of the score: narrow where most scores are
_COLUMNS = 4
_METHOD_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


class Bin(NamedTuple):
    """The judged pairs whose scores lie in one bin."""

    pairs: int
    score: float
    """Their mean."""
    right: float
    """Share of the pairs that are right, which is the score if that is calibrated."""


def by_method(tally: Tally) -> dict[str, Counter[PairVerdict]]:
    """Count the verdicts by the strongest evidence of the pairs, most pairs first."""
    methods = Counter(pair.method for pair, _ in tally.pairs)
    return {
        method: Counter(verdict for pair, verdict in tally.pairs if pair.method == method)
        for method, _ in methods.most_common()
    }


def reliability(tally: Tally) -> list[Bin | None]:
    """Compare score and truth of the judged pairs in each of :data:`BINS`; None for an empty bin."""
    judged = [
        (pair.score, verdict == PairVerdict.RIGHT) for pair, verdict in tally.pairs if verdict != PairVerdict.UNJUDGED
    ]
    scores, right = np.array(judged, dtype=float).reshape(-1, 2).T
    places = np.searchsorted(BINS[1:-1], scores, side="right")
    bins: list[Bin | None] = []
    for place in range(len(BINS) - 1):
        inside = places == place
        count = int(inside.sum())
        bins.append(Bin(count, float(scores[inside].mean()), float(right[inside].mean())) if count else None)
    return bins


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


def plot_reliability(panels: Mapping[str, Mapping[str, Sequence[Bin | None]]], path: Path) -> Path:
    """Draw the share that is right against the score to *path*, a panel for each set; returns *path*.

    A panel has a line for each method. Bars are 95 % intervals (Wilson), areas of the dots are numbers of pairs. All
    bins are equally wide and high, so that .95 and .99 lie apart.
    """
    columns = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.1 * columns, 3.3 * rows), dpi=160, facecolor="white")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    for number, (name, methods) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, number + 1)
        plain(axes)
        for set_scale in (axes.set_xscale, axes.set_yscale):
            set_scale("function", functions=(_place, _score))
        axes.plot(BINS, BINS, color=SOFT, linewidth=1, linestyle=(0, (2.2, 1.6)))
        for (method, bins), colour in zip(methods.items(), cycle(_METHOD_COLOURS), strict=False):
            pairs, scores, right = np.array([one for one in bins if one]).reshape(-1, 3).T
            axes.plot(scores, right, color=colour, linewidth=1.5, label=method)
            axes.scatter(scores, right, 4 + 60 * pairs / max(pairs.sum(), 1), color=colour, clip_on=False, zorder=3)
            low, high = _wilson(right, pairs)
            axes.vlines(scores, low, high, color=colour, linewidth=1)
        axes.set_title(name, loc="left", fontsize=9.5, color=INK, fontweight="bold")
        axes.set_xlabel("score", color=SOFT, fontsize=9)
        ticks = [f"{score:g}".removeprefix("0") or "0" for score in BINS]
        axes.set_xticks(BINS, ticks)
        axes.set_yticks(BINS, ticks)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        if number % columns == 0:
            axes.set_ylabel("share that is right", color=SOFT, fontsize=9)
        if len(methods) > 1:
            axes.legend(fontsize=7, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def _place(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where *scores* lie on an axis with equally long bins."""
    return np.interp(scores, BINS, range(len(BINS)))


def _score(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores at *places* of such an axis."""
    return np.interp(places, range(len(BINS)), BINS)


def _wilson(
    shares: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper ends of the 95 % intervals of *shares* of *counts*."""
    z = 1.96
    middle = (shares + z**2 / (2 * counts)) / (1 + z**2 / counts)
    half = z / (1 + z**2 / counts) * np.sqrt(shares * (1 - shares) / counts + z**2 / (4 * counts**2))
    return middle - half, middle + half
