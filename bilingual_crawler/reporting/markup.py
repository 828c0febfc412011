"""Pieces of HTML for reports; everything passed in as text is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import quote

from bilingual_crawler.characters import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """*text* on one line as HTML, without invisible characters."""
    return html.escape(one_line(text))


def link(url: str, text: str = "") -> str:
    """A link to a web page; an address that is not http or https is shown as text only."""
    shown = escape(text) or escape(url)
    if not url.lower().startswith(("http://", "https://")):
        return shown
    return f'<a href="{escape(url)}" rel="noopener noreferrer" dir="auto">{shown}</a>'


def file_link(name: str) -> str:
    """A link to a file in the report's own folder."""
    return f'<a href="./{escape(quote(name))}">{escape(name)}</a>'


def section(title: str, body: str) -> str:
    """A titled box around ``body``, which is HTML."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def bars(rows: Iterable[tuple[str, int]], *, scale: int, style: str = "bar") -> str:
    """Labelled horizontal bars; ``scale`` is the count of a full-width bar."""
    cells = "".join(
        f'<span>{escape(label)}</span><span class="number">{count:,}</span>'
        f'<div class="{style}" style="width:{min(100, 100 * count / max(scale, 1)):.1f}%"></div>'
        for label, count in rows
    )
    return f'<div class="bars">{cells}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """A table whose first column is text and whose other columns are numbers."""
    first, *others = header
    head = f"<th>{escape(first)}</th>" + "".join(f'<th class="number">{escape(cell)}</th>' for cell in others)
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: str | int) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="number">{value:,}</td>'


def byte_size(size: int) -> str:
    """``size`` in bytes for people.

    >>> byte_size(1_500_000)
    '1.5 MB'
    """
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} bytes"
