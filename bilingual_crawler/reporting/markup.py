"""HTML pages by Jinja2 templates, with charts as SVG; every inserted value is escaped and on one line."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

from bilingual_crawler import noun
from bilingual_crawler.languages.codes import language_name, to_bcp47
from bilingual_crawler.pages.characters import one_line
from bilingual_crawler.pairing.model import REASONS

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 26, 46
MAX_POINTS = 600


def render(template: str, **values: object) -> Markup:
    """Render a template of this package; all inserted texts are escaped, and lose their invisible characters."""
    return Markup(_templates.get_template(template).render(values))


def write_page(path: Path, template: str, **values: object) -> None:
    path.write_text(render(template, **values), encoding="utf-8", errors="replace")


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names as words with their counts, largest first."""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name.replace("_", " ").replace("-", " "), count) for name, count in rows]


_templates = Environment(
    # this loader also reads from eggs that are not unpacked
    loader=PackageLoader("bilingual_crawler.reporting"),
    autoescape=True,
    # HTML was cleaned when it was made
    finalize=lambda value: one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "byte_size": decimal,
    "language_name": language_name,
    "number": "{:,}".format,
    "one_line": one_line,
    "ranked": _ranked,
    "to_bcp47": to_bcp47,
    "why_unpaired": lambda reason: REASONS.get(reason, reason),
}


def ticks(maximum: int) -> list[int]:
    """Whole numbers from 0 in steps of 1, 2 or 5 times a power of ten; the last is >= ``maximum``."""
    rough = max(maximum, 1) / 5
    power = 10 ** max(0, math.floor(math.log10(rough)))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return list(range(0, max(maximum, 1) + step, step))


def harvest_chart(curve: Sequence[tuple[int, int]]) -> Markup:
    """Pairs by pages fetched (ascending, first (0, 0)) as a step line, with a dashed even pace for comparison.

    >>> harvest_chart([(0, 0), (2, 1)]).startswith("<svg")
    True
    """
    fetched, pairs = curve[-1]
    x_ticks, y_ticks = ticks(fetched), ticks(pairs)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(value: float) -> float:
        return round(LEFT + (right - LEFT) * value / max(fetched, 1), 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - TOP) * value / y_ticks[-1], 1)

    drawn = [*curve[: -1 : math.ceil(len(curve) / MAX_POINTS)], curve[-1]]
    return render(
        "chart.svg",
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=right,
        bottom=bottom,
        title=f"{pairs:,} {noun(pairs, 'pair')} after {fetched:,} {noun(fetched, 'page')}",
        x_ticks=[(tick, x(tick)) for tick in x_ticks if tick <= max(fetched, 1)],
        y_ticks=[(tick, y(tick)) for tick in y_ticks],
        line=f"M{x(0)} {y(0)}" + "".join(f"H{x(a)}V{y(b)}" for a, b in drawn[1:]),
        end=pairs,
        end_x=x(fetched),
        end_y=y(pairs),
    )
