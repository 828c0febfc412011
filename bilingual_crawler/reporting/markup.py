"""HTML pages by Jinja2 templates; every inserted value is escaped and on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bilingual_crawler.characters import one_line
from bilingual_crawler.languages import language_name, to_bcp47
from bilingual_crawler.pairing.documents import REASONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def render(template: str, **values: object) -> Markup:
    """Render a template of this package. All inserted texts lose their invisible characters and are escaped."""
    return Markup(_templates.get_template(template).render(values))


def write_page(path: Path, template: str, **values: object) -> None:
    """Render a template of this package into a file. Raises OSError."""
    path.write_text(render(template, **values), encoding="utf-8", errors="replace")


def byte_size(size: int) -> str:
    """``size`` in bytes as readable text.

    >>> byte_size(1_500_000)
    '1.5 MB'
    """
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} bytes"


def _visible(value: object) -> object:
    """A text without invisible characters; HTML was cleaned when it was made."""
    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names as words with their counts, largest first."""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name.replace("_", " ").replace("-", " "), count) for name, count in rows]


_templates = Environment(
    # this loader also reads from eggs that are not unpacked
    loader=PackageLoader("bilingual_crawler.reporting"),
    autoescape=True,
    finalize=_visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "byte_size": byte_size,
    "language_name": language_name,
    "number": "{:,}".format,
    "one_line": one_line,
    "ranked": _ranked,
    "to_bcp47": to_bcp47,
    "why_unpaired": lambda reason: REASONS.get(reason, reason),
}
