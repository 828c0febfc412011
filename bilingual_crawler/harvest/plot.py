"""``harvest.png``: share of the gold pairs found against share of the pages downloaded, after Figure 7."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from bilingual_crawler.harvest.table import by_policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from bilingual_crawler.harvest.curve import Result

    Curves: TypeAlias = Mapping[str, NDArray[np.float64]]

PAPER_PAIRS = (("eng", "isl"), ("eng", "mlt"), ("eng", "fin"), ("eus", "spa"))
"""Language pairs of Figure 7 in García-Romero 2026, shown first."""
MAX_PANELS = 8
INK, SOFT, GRID = "#1f2933", "#5f6c7a", "#e4e8ec"
COLOURS = {
    "oracle": "#1f2933",
    "gain": "#0072b2",
    "smart": "#d55e00",
    "cld2": "#e69f00",
    "bfs": "#8a949e",
    "ilsp": "#009e73",
    "pplocator": "#cc79a7",
    "pti": "#7b4f9d",
    "dfs": "#56b4e9",
    "random": "#a6761d",
}
"""Colours after Okabe and Ito, told apart by colour-blind readers too."""
_OTHER = "#666666"
_PERCENT = np.arange(101)


def plot(results: Sequence[Result], path: Path) -> Path:
    """Draw a panel with the mean over all tasks and small ones per language pair; return ``path``."""
    pairs: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        pairs[_pair(result)].append(result)
    shown = sorted(pairs, key=lambda pair: (_paper_rank(pair), -_tasks(pairs[pair]), pair))[:MAX_PANELS]
    columns = -(-len(shown) // 2)
    figure = Figure(figsize=(6 + 2.35 * columns, 5.6), dpi=160, facecolor="white")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    grid = figure.add_gridspec(2, 2 + columns, width_ratios=[1.15, 1.15, *[1.0] * columns])
    everything = figure.add_subplot(grid[:, :2])
    _draw(everything, results, f"All {_tasks(results)} tasks", width=2.2)
    everything.set_ylabel("gold pairs found", color=SOFT, fontsize=10)
    everything.set_xlabel("reachable pages downloaded", color=SOFT, fontsize=10)
    _key(everything, results)
    for number, pair in enumerate(shown):
        axes = figure.add_subplot(grid[number // columns, 2 + number % columns])
        count = _tasks(pairs[pair])
        _draw(axes, pairs[pair], f"{pair[0]}–{pair[1]}, {count} task{'s' * (count > 1)}", width=1.5)
        axes.tick_params(labelleft=number % columns == 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def mean_curves(results: Sequence[Result]) -> Curves:
    """Return for each policy the mean share of pairs found after 0, 1, … 100 % of the pages."""
    return {name: np.mean([r.curve for r in group], axis=0) for name, group in by_policy(results).items()}


def _draw(axes: Axes, results: Sequence[Result], title: str, width: float) -> None:
    for name, curve in mean_curves(results).items():
        axes.plot(_PERCENT, curve * 100, color=_colour(name), linewidth=width, linestyle=_style(name), clip_on=False)
    axes.set_title(title, loc="left", fontsize=11 if width > 2 else 9.5, color=INK, fontweight="bold")
    axes.set(xlim=(0, 100), ylim=(0, 102), xticks=(50, 100), yticks=(0, 50, 100))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0f} %")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=SOFT)
    axes.spines[:].set_visible(False)


def _key(axes: Axes, results: Sequence[Result]) -> None:
    """Write the policies and their mean relative AUC, best on top, into the corner below the curves."""
    for row, (name, group) in enumerate(by_policy(results).items()):
        y, colour = 4 + 5.2 * row, _colour(name)
        axes.plot((67, 72), (y, y), color=colour, linewidth=2.2, linestyle=_style(name))
        for x, text in ((74, name), (92.5, f"{np.mean([r.relative_auc for r in group]):.2f}")):
            axes.text(x, y, text, color=colour, fontsize=10, fontweight="bold", va="center_baseline")


def _style(policy: str) -> str | tuple[float, tuple[float, float]]:
    return (0, (2.2, 1.6)) if policy == "oracle" else "-"


def _colour(policy: str) -> str:
    return COLOURS.get(policy, _OTHER)


def _pair(result: Result) -> tuple[str, str]:
    first, second = sorted((result.lang_a, result.lang_b))
    return first, second


def _paper_rank(pair: tuple[str, str]) -> int:
    return PAPER_PAIRS.index(pair) if pair in PAPER_PAIRS else len(PAPER_PAIRS)


def _tasks(results: Sequence[Result]) -> int:
    return len({result.task for result in results})
