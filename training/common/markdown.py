"""Tables for reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], digits: int = 3) -> str:
    """A Markdown table; numbers with a fraction get so many digits, whole ones commas, and None a dash."""
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *([_cell(cell, digits) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
