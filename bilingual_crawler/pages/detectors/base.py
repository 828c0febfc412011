"""What tells the language of a text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bilingual_crawler.languages import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CHARACTERS = 50_000
"""Characters of a text that are read."""
RANGE = 1000
"""Characters of a range of a text that votes on its language."""
MIN_LETTERS = 6
"""Letters under which the language of a text is unknown."""
SHOWN = 3
"""Languages of a text that are told."""

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]|[^\x00-\U0010fffd]")


@dataclass(frozen=True, slots=True)
class Identification:
    """The language of a text."""

    language: str
    """ISO 639-3, or ``un``."""
    shares: tuple[tuple[str, int], ...]
    """At most three languages with their percentage of the text, largest first."""
    reliable: bool


NOTHING = Identification(UNKNOWN, (), False)


class LanguageDetector(Protocol):
    """Tells the language of a text; its methods never raise."""

    languages: frozenset[str]
    """Those that it can tell, ISO 639-3."""

    def identify(self, text: str) -> Identification:
        """The languages of the first 50,000 characters of *text*."""

    def confirms(self, text: str, language: str) -> bool:
        """Whether *text*, which it has identified as *language*, cannot well be in a language that it does not know."""


def by_ranges(text: str, language_of: Callable[[str], str]) -> Identification:
    """The languages of the contiguous ranges of *text*, of 1,000 characters each, as shares (CCAligned 2020, 3.2.2).

    *language_of* gives the ISO 639-3 code of a range, or ``un``.
    """
    text = text[:MAX_CHARACTERS]
    ranges = [text[start : start + RANGE] for start in range(0, len(text), RANGE)]
    votes = Counter(language_of(one) if has_letters(one) else UNKNOWN for one in ranges)
    shares = tuple((lang, 100 * count // len(ranges)) for lang, count in votes.most_common() if lang != UNKNOWN)
    if not shares:
        return NOTHING
    return Identification(shares[0][0], shares[:SHOWN], shares[0][1] > 50)


def has_letters(text: str) -> bool:
    """Whether *text* has enough letters to be in a language."""
    return sum(map(str.isalpha, text[:RANGE])) >= MIN_LETTERS


def legible(text: str) -> str:
    """*text* with blanks for control characters and others that are no text."""
    return _NO_TEXT.sub(" ", text)
