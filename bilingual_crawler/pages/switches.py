"""The language switchers of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bilingual_crawler.pages.labels import coded_language, named_language
from bilingual_crawler.pages.links import MAX_TEXT, Anchor
from bilingual_crawler.pages.model import LinkPosition, LinkSource

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SWITCH = 12
"""Links of the largest element that its class alone makes a language switcher."""

_URL_VALUE = re.compile(r"(?i)(?=\S++\Z)(?:\?|[^/]*+/|.+?\.(?:html?|php|aspx?)(?:\?|\Z))")


def find_switchers(anchors: Sequence[Anchor]) -> None:
    """Set the label of all anchors that name a language, and their position if they make a language switcher.

    A name is enough. A bare code (``IT``, ``no``) must stand in navigation, beside another language, or agree with the
    link's own ``hreflang`` or ``lang``.
    """
    run: list[tuple[Anchor, str]] = []
    for anchor in anchors:
        if anchor.position is LinkPosition.HEAD:
            continue
        name = anchor.name
        language = name or (coded_language(anchor.text) if len(anchor.text) <= 9 else None)
        if language is None:
            if run:
                _accept_codes(run)
                run = []
            continue
        run.append((anchor, language))
        if name is not None or anchor.position is LinkPosition.SWITCHER:
            anchor.label = language
            anchor.position = LinkPosition.SWITCHER
    _accept_codes(run)


def _accept_codes(run: list[tuple[Anchor, str]]) -> None:
    several = len({language for _, language in run}) > 1
    for anchor, language in run:
        if several or anchor.position is LinkPosition.NAVIGATION or language in (anchor.hreflang, anchor.lang):
            anchor.label = language
            anchor.position = LinkPosition.SWITCHER


class OptionList:
    """The options of one ``<select>`` whose values look like URLs."""

    def __init__(self) -> None:
        self._options: list[tuple[str, list[str]]] = []

    def add(self, value: str | None) -> None:
        """Begin an option. Its text is ignored unless *value* is a URL."""
        value = (value or "").strip()
        self._options.append((value if _URL_VALUE.match(value) else "", []))

    def text(self, text: str) -> None:
        """Add text to the current option."""
        if self._options:
            self._options[-1][1].append(text)

    def anchors(self) -> list[Anchor]:
        """The options as links if at least half of them name languages."""
        options = [(value, " ".join("".join(words).split())) for value, words in self._options if value]
        named = sum(bool(named_language(text) or coded_language(text)) for _, text in options)
        return [_option(value, text) for value, text in options] if 2 * named >= len(options) else []


def _option(value: str, text: str) -> Anchor:
    anchor = Anchor(value, LinkSource.OPTION, LinkPosition.SWITCHER)
    anchor.text = text[:MAX_TEXT]
    return anchor
