"""Charts as inline SVG; colours come from the CSS of the page that holds them."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 26, 46
MAX_POINTS = 600


def ticks(maximum: int, *, count: int = 5) -> list[int]:
    """Whole numbers from 0 in steps of 1, 2 or 5 times a power of ten; the last is >= ``maximum``."""
    rough = max(maximum, 1) / count
    power = 10 ** max(0, math.floor(math.log10(rough)))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return list(range(0, max(maximum, 1) + step, step))


def step_chart(points: Sequence[tuple[int, int]], *, x_label: str, y_label: str, title: str) -> str:
    """A step line through ``points`` (ascending x, first (0, 0)), with a dashed even pace for comparison.

    >>> step_chart([(0, 0), (2, 1)], x_label="x", y_label="y", title="t").startswith("<svg")
    True
    """
    last_x, last_y = points[-1]
    x_ticks, y_ticks = ticks(last_x), ticks(last_y)
    x_max, y_max = max(last_x, 1), y_ticks[-1]

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / x_max, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / y_max, 1)

    line = _step_path([(x(a), y(b)) for a, b in _thin(points)])
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick)}" y2="{y(tick)}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:,}</text>'
        for tick in y_ticks
    )
    grid += "".join(
        f'<text class="tick" x="{x(tick)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:,}</text>'
        for tick in x_ticks
        if tick <= x_max
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{grid}"
        f'<text class="axis" x="{LEFT - 8}" y="14" text-anchor="start">{escape(y_label)}</text>'
        f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(x_label)}</text>'
        f'<path class="area" d="{line}V{y(0)}H{x(0)}Z"/>'
        f'<line class="pace" x1="{x(0)}" y1="{y(0)}" x2="{x(last_x)}" y2="{y(last_y)}"/>'
        f'<path class="series" d="{line}"/>'
        f'<circle class="dot" cx="{x(last_x)}" cy="{y(last_y)}" r="4"/>'
        f'<text class="value" x="{x(last_x) - 8}" y="{y(last_y) - 9}" text-anchor="end">{last_y:,}</text>'
        "</svg>"
    )


def _thin(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most ``MAX_POINTS`` of ``points`` and always the last."""
    step = math.ceil(len(points) / MAX_POINTS)
    return [*points[:-1:step], points[-1]]


def _step_path(points: Sequence[tuple[float, float]]) -> str:
    (first_x, first_y), *rest = points
    return f"M{first_x} {first_y}" + "".join(f"H{x}V{y}" for x, y in rest)
