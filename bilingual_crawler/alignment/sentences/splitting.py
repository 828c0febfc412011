"""Split the lines of a document into sentences with paragraph numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sentencex

from bilingual_crawler.languages.codes import to_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANKS = re.compile(r"\s+")
_ORDINAL = re.compile(r"\b\d{1,4}\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the number of its line (paragraph), from 0."""

    text: str
    paragraph: int


def split(lines: Iterable[str], language: str) -> list[Sentence]:
    """Split *lines* into sentences, in order. *language*: ISO 639-3; without own rules as English.

    An ordinal ("5. maí") does not end a sentence if a small letter follows.
    """
    tag = to_bcp47(language)
    found: list[Sentence] = []
    for number, line in enumerate(lines):
        parts: list[str] = []
        for part in sentencex.segment(tag, _BLANKS.sub(" ", line).strip()):
            text = part.strip()
            if parts and _ORDINAL.search(parts[-1]) and text[:1].islower():
                parts[-1] += f" {text}"
            elif text:
                parts.append(text)
        found += [Sentence(text, number) for text in parts]
    return found
