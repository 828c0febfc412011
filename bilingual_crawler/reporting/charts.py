"""Charts as inline SVG; colours come from the CSS of the page that holds them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bilingual_crawler.reporting.markup import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 26, 46
MAX_POINTS = 600


def ticks(maximum: int, *, count: int = 5) -> list[int]:
    """Whole numbers from 0 in steps of 1, 2 or 5 times a power of ten; the last is >= ``maximum``."""
    rough = max(maximum, 1) / count
    power = 10 ** max(0, math.floor(math.log10(rough)))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return list(range(0, max(maximum, 1) + step, step))


def step_chart(points: Sequence[tuple[int, int]], *, x_label: str, y_label: str, title: str) -> Markup:
    """A step line through ``points`` (ascending x, first (0, 0)), with a dashed even pace for comparison.

    >>> step_chart([(0, 0), (2, 1)], x_label="x", y_label="y", title="t").startswith("<svg")
    True
    """
    last_x, last_y = points[-1]
    x_ticks, y_ticks = ticks(last_x), ticks(last_y)
    x_max, y_max = max(last_x, 1), y_ticks[-1]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(value: float) -> float:
        return round(LEFT + (right - LEFT) * value / x_max, 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - TOP) * value / y_max, 1)

    return render(
        "chart.svg",
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=right,
        bottom=bottom,
        title=title,
        x_label=x_label,
        y_label=y_label,
        x_ticks=[(tick, x(tick)) for tick in x_ticks if tick <= x_max],
        y_ticks=[(tick, y(tick)) for tick in y_ticks],
        line=_step_path([(x(a), y(b)) for a, b in _thin(points)]),
        end=last_y,
        end_x=x(last_x),
        end_y=y(last_y),
    )


def _thin(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most ``MAX_POINTS`` of ``points`` and always the last."""
    step = math.ceil(len(points) / MAX_POINTS)
    return [*points[:-1:step], points[-1]]


def _step_path(points: Sequence[tuple[float, float]]) -> str:
    (first_x, first_y), *rest = points
    return f"M{first_x} {first_y}" + "".join(f"H{x}V{y}" for x, y in rest)
