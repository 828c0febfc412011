"""Which elements of a page are frame, around its own text: navigation, header, footer, switchers and the like."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, compress, groupby
from typing import NamedTuple

from bilingual_crawler.pages import tables

LAYOUT, EDGE, WIDGET, SWITCHER = 1, 2, 4, 8
"""Bits of :func:`names_of`: a part of the layout by its class; header or footer, which outside of content are those of
the page; a dialog, comments or the like; a language switcher."""

FRAME_TAGS = frozenset(("nav", "footer", "menu", "dialog", "search"))
EDGE_TAGS = frozenset(("header", "aside"))  # frame unless they stand in the content, where they belong to an entry
CONTENT_TAGS = frozenset(("main", "article", "section"))

MIN_OWN = 100  # letters of own text under which classes of layout may be misread
MIN_PROSE = 80  # characters of a line of prose
MISREAD = 4  # times the prose of the own text that a region of layout holds if its class is misread

_EDGES = frozenset(("header", "footer", "head", "foot"))  # the last two alone are also names of cells of a table
_TAXONOMY = re.compile(r"/(?:tags?|topics?|category|categories|authors?)/[^/]+/?$")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])")
_MAX_WORDS = 4
_MAX_NAME = 60


@lru_cache(maxsize=16384)
def names_of(names: str) -> int:
    """What class and id *names*, separated by blanks, say of an element: :data:`LAYOUT` and others as bits."""
    bits = 0
    for name in names.split():
        if name in tables.WHOLE_NAMES:
            bits |= WIDGET
        if "." in name or ":" in name or len(name) > _MAX_NAME:
            continue
        words = _WORD.findall(_CAMEL.sub(" ", name).lower())
        if len(words) > _MAX_WORDS:
            continue
        # "has-sidebar", "nav-content" and "grid-for-nav" stand around a menu, or beside one
        if tables.QUALIFIERS.isdisjoint(words):
            last = "".join(words[-2:])
            if last in tables.NAVIGATION_WORDS or not tables.NAVIGATION_WORDS.isdisjoint(words):
                bits |= LAYOUT
            elif not _EDGES.isdisjoint(words):
                # of the page, rather than of an entry in it
                bits |= EDGE if words[0] in ("header", "footer") or not tables.EDGE_OWNERS.isdisjoint(words) else 0
            if last in tables.WIDGET_WORDS or not tables.WIDGET_WORDS.isdisjoint(words):
                bits |= WIDGET
        if not tables.SWITCHER_WORDS.isdisjoint(words):
            bits |= SWITCHER
    return bits


def is_button(attributes: Mapping[str, str | None]) -> bool:
    """Whether a link with these *attributes* looks like a button: ``Learn more``, ``Add to cart``."""
    return attributes.get("role") == "button" or not BUTTON_NAMES.isdisjoint((attributes.get("class") or "").split())


def leads_to_frame(href: str) -> bool:
    """Whether a link that is all of a line is frame: to a place on the page, or to what has the same tag or author."""
    return href[:1] == "#" or _TAXONOMY.search(href) is not None


class Region(NamedTuple):
    """An element that is frame, by its tag, role or class: places in the lines and anchors of a page."""

    lines: slice
    anchors: slice
    by_layout: bool  # whether only a class name about the layout says so


LINKED, LABELLED, CONTROL, CONTENT, HEADING = 1, 2, 4, 8, 16
"""Bits of a line: all of it is links; all but a label of :data:`MAX_LABEL` is; all of it is buttons, labels of forms,
links that look like buttons or lead to neighbours and tags; it stands in an element of content; it is a heading."""
MAX_LABEL = 40  # characters before and between the links of a language switcher: "Also available in:"
CONTROL_RELATIONS = frozenset(("next", "prev", "tag"))  # values of `rel` of links that are no part of a text
BUTTON_NAMES = frozenset(("btn", "button", "elementor-button", "wp-block-button__link"))  # classes of such links
MIN_ASKED = 3  # labels and buttons of a form that asks for something, in all and for each line of prose
MENU = 3  # lines in a row that are links alone, outside of content, from which they are a menu


def asks(lines: Sequence[str], kinds: Sequence[int]) -> bool:
    """Whether *lines* of a form, with the bits *kinds*, ask for something rather than say something."""
    controls = sum(bool(kind & CONTROL) for kind in kinds)
    prose = sum(len(line) >= MIN_PROSE and not kind & CONTROL for line, kind in zip(lines, kinds, strict=True))
    return controls >= MIN_ASKED and controls >= MIN_ASKED * prose


def own_lines(lines: Sequence[str], kinds: Sequence[int], regions: Iterable[Region]) -> tuple[list[bool], list[Region]]:
    """Tell which *lines*, with the bits *kinds*, are own text, and which of *regions* count.

    Regions that only a class makes frame do not count if next to no text is left without them.
    """
    counted = list(regions)
    own = _outside(kinds, counted)
    sizes = zip(map(len, lines), kinds, strict=True)
    prose = [size if size >= MIN_PROSE and not kind & LINKED else 0 for size, kind in sizes]
    before = [0, *accumulate(prose)]
    held = [before[one.lines.stop] - before[one.lines.start] if one.by_layout else 0 for one in counted]
    if max(held, default=0) >= 2 * MIN_PROSE and (
        not _has_text(lines, own) or MISREAD * sum(compress(prose, own)) <= max(held)
    ):
        counted = [one for one, size in zip(counted, held, strict=True) if size < 2 * MIN_PROSE]
        own = _outside(kinds, counted)
    # menus are rows of links
    linked = [is_own and kind & (LINKED | CONTENT) == LINKED for is_own, kind in zip(own, kinds, strict=True)]
    runs = [list(run) for _, run in groupby(linked)]
    in_menu = [run[0] and len(run) >= MENU for run in runs for _ in run]
    without = [is_own and not is_in for is_own, is_in in zip(own, in_menu, strict=True)]
    return (without if _has_text(lines, without) else own), counted


def _has_text(lines: Sequence[str], own: Sequence[bool]) -> bool:
    letters = accumulate(sum(map(str.isalpha, line)) for line in compress(lines, own))
    return any(so_far >= MIN_OWN for so_far in letters)


def _outside(kinds: Sequence[int], regions: Iterable[Region]) -> list[bool]:
    covered = are_in((region.lines for region in regions), len(kinds))
    return [not (kind & CONTROL or is_in) for kind, is_in in zip(kinds, covered, strict=True)]


def are_in(slices: Iterable[slice], size: int) -> list[bool]:
    """Tell which of *size* places are in one of *slices*, which may be nested, in linear time."""
    changes = [0] * (size + 1)
    for one in slices:
        changes[one.start] += 1
        changes[one.stop] -= 1
    return [depth > 0 for depth in accumulate(changes[:size])]
