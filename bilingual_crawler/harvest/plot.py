"""The picture ``harvest.png``: pairs and their text found against pages, after Figure 7."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from bilingual_crawler.harvest.results import Result, by_policy

PAPER_PAIRS = (("eng", "isl"), ("eng", "mlt"), ("eng", "fin"), ("eus", "spa"))
"""Language pairs of Figure 7 in García-Romero 2026, shown first."""
MAX_PANELS = 8
_COLUMNS = 4
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
PAIRS = "Pairs found", "curve", "relative_auc"
TEXT = "Text of the pairs found", "text_curve", "relative_text_auc"
"""Quantities of a panel: title, and attributes of a result with the curve and the AUC."""


def plot_results(results: Sequence[Result], path: Path) -> Path:
    """Draw mean curves of pairs and text over all tasks, and of pairs by language pair, to *path*; returns *path*."""
    pairs: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        first, second = sorted((result.lang_a, result.lang_b))
        pairs[first, second].append(result)
    others = sorted(pairs, key=lambda pair: (-len({result.task for result in pairs[pair]}), pair))
    shown = sorted(others, key=lambda pair: (*PAPER_PAIRS, pair).index(pair))[:MAX_PANELS]
    rows = -(-len(shown) // _COLUMNS)
    figure = Figure(figsize=(11, 4.6 + 2.3 * rows), dpi=160, facecolor="white")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    grid = figure.add_gridspec(1 + rows, _COLUMNS, height_ratios=[2.0, *[1.0] * rows])
    half = _COLUMNS // 2
    for columns, quantity in ((slice(half), PAIRS), (slice(half, None), TEXT)):
        axes = figure.add_subplot(grid[0, columns])
        _draw(axes, results, quantity, f"{quantity[0]}, {_in_words(results)}", width=2.2)
        axes.set_xlabel("reachable pages downloaded", color=SOFT, fontsize=10)
        _key(axes, results, quantity)
    for number, pair in enumerate(shown):
        axes = figure.add_subplot(grid[1 + number // _COLUMNS, number % _COLUMNS])
        _draw(axes, pairs[pair], PAIRS, f"{pair[0]}–{pair[1]}, {_in_words(pairs[pair])}", width=1.5)
        axes.tick_params(labelleft=number % _COLUMNS == 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def plain(axes: Axes) -> None:
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=SOFT)
    axes.spines[:].set_visible(False)


def _draw(axes: Axes, results: Sequence[Result], quantity: tuple[str, str, str], title: str, width: float) -> None:
    for name, group in by_policy(results).items():
        curve = np.mean([getattr(r, quantity[1]) for r in group], axis=0)
        axes.plot(_PERCENT, curve * 100, linewidth=width, clip_on=False, **_style(name))
    axes.set_title(title, loc="left", fontsize=11 if width > 2 else 9.5, color=INK, fontweight="bold")
    axes.set(xlim=(0, 100), ylim=(0, 102), xticks=(50, 100), yticks=(0, 50, 100))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0f} %")
    plain(axes)


def _key(axes: Axes, results: Sequence[Result], quantity: tuple[str, str, str]) -> None:
    """Write the policies and their mean relative AUC, best on top, into the corner below the curves."""
    for row, (name, group) in enumerate(by_policy(results).items()):
        y, style = 4 + 5.2 * row, _style(name)
        axes.plot((67, 72), (y, y), linewidth=2.2, **style)
        for x, text in ((74, name), (92.5, f"{np.mean([getattr(r, quantity[2]) for r in group]):.2f}")):
            axes.text(x, y, text, color=style["color"], fontsize=10, fontweight="bold", va="center_baseline")


def _style(policy: str) -> dict[str, Any]:
    return {"color": COLOURS.get(policy, _OTHER), "linestyle": (0, (2.2, 1.6)) if policy == "oracle" else "-"}


def _in_words(results: Sequence[Result]) -> str:
    count = len({result.task for result in results})
    return f"{count} task{'s' * (count != 1)}"
