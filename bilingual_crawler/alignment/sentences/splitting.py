"""Split the lines of a document into sentences with paragraph numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sentencex

from bilingual_crawler.languages.codes import to_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLANKS = re.compile(r"\s+")
# "5. maí", "XIX. mendean", "t.ex. så"
_ABBREVIATED = re.compile(r"\b(?:\d{1,4}|[IVXLC]{1,12}|[^\W\d_]{1,3}(?:\.[^\W\d_]{1,4}){1,4})\. ?$")
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]+)\. ?")
"""Of a section, or an item of a list."""
_CENTURY = ("Jahrhundert", "Jahrtausend", "Jh.")
"""German nouns that follow an ordinal and begin no sentence."""
_REACH = 40
"""Characters at the end of a sentence that show whether it goes on: more than an abbreviation has."""
_CUT_BEFORE = re.compile(r"(?:\bwww|[A-Z0-9_*])\.$", re.ASCII)
_CUT_AFTER = re.compile(r"[A-Z0-9]{2}|\*")
"""Both sides of a dot in a name: ``CONFIG.SYS``, ``*.*``."""
_INNER = tuple(",;:.)]}/%")
"""What begins no sentence."""
_OPENING = re.compile(r"\s[\"“„«]$")
"""A quotation mark that belongs to the sentence after it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the number of its line (paragraph), from 0."""

    text: str
    paragraph: int
    blank: bool = False
    """Whether a blank is between it and the next sentence of its line."""


def split(lines: Iterable[str], language: str) -> list[Sentence]:
    """Split *lines* into sentences, in order. *language*: ISO 639-3; without own rules as English.

    An ordinal or abbreviation does not end a sentence if a small letter follows, or a German century. A number alone,
    as of a heading ("5.17.1. Network"), is no sentence. A name with a dot inside (``CONFIG.SYS``) is not cut.
    """
    tag = to_bcp47(language)
    found: list[Sentence] = []
    for number, line in enumerate(lines):
        segments = sentencex.segment(tag, _BLANKS.sub(" ", line).strip())
        found += [Sentence(part.rstrip(), number, part.endswith(" ")) for part in _joined(segments)]
    return found


def _joined(segments: Iterable[str]) -> Iterator[str]:
    """Join *segments* of a line that are one sentence. Together the parts are the line; each has the blank after it."""
    last = ""
    for segment in segments:
        part = segment.lstrip(" ") if last else segment
        if part != segment:
            last += " "
        # a line of many segments may be one sentence, of which no more is looked at again
        end = last[-_REACH:]
        goes_on = part[:1].islower() or part.startswith(_CENTURY)
        is_short = (goes_on and _ABBREVIATED.search(end)) or _NUMBER.fullmatch(last)
        if last and (is_short or _is_inside(end, part)):
            last += part
        elif last and _OPENING.search(end):
            yield last[:-1]
            last = last[-1] + part
        elif part:
            if last:
                yield last
            last = part
    if last:
        yield last


def _is_inside(before: str, after: str) -> bool:
    """Whether the place between two parts of a line is inside a name, or before a sign that begins no sentence."""
    if before.endswith(" "):
        return False
    is_name = _CUT_BEFORE.search(before) and (_CUT_AFTER.match(after) or before.endswith("www."))
    return bool(is_name) or after.startswith(_INNER)
