"""Cleaning of bitext: which sentence pairs a reader would not train a translation model with, and why."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.alignment.sentences.duplicates import normal
from bilingual_crawler.pages.language import BY_DEFAULT, Detection

if TYPE_CHECKING:
    from bilingual_crawler.alignment.sentences.align import SentencePair
    from bilingual_crawler.languages.codes import LanguagePair

REASONS = {
    "quality": "it is more likely wrong than right",
    "letters": "a side has fewer than two letters",
    "equal": "both sides have the same words",
    "length": "a side is more than three times as long as the other",
    "language": "a side is in another language",
    "navigation": "it leads through the site: arrows, brackets or a list of links",
    "duplicate": "the bitext has the same pair",
    "near_duplicate": "the bitext has a pair that differs in case, digits, punctuation or a few words",
    "repeated": "the bitext has a better pair with one of its sides",
}
"""Reasons why a sentence pair is dropped, and what they mean to a reader."""

MIN_QUALITY = 0.5
MAX_RATIO = 3.0
"""Maximum ratio of the lengths in characters, beyond `SLACK` characters."""
SLACK = 15
MIN_LETTERS = 2
LEGIBLE = 40
"""Minimum characters of a sentence in the language of the other side for this to be noticed."""
CERTAIN = 120
"""Minimum characters of a sentence in a third language."""
COPIED = 0.9
"""Share of the words of both sides that are the same in a copy."""
MIN_COPIED = 5
"""Words of both sides from which a copy may differ in some."""

_BACK = re.compile(r"^\W*(?:<{1,2}\s+|[‹←⇐◀◄❮]\s*)\w|^[↑⇑▲]|[↑⇑▲]$")
_FORTH = re.compile(r"\s(?:>{1,2}|[›→⇒▶►❯])\W*$")
_BRACKETS = re.compile(r"^\[\s.*\]$|^\[\w.*\s\]$")
"""Brackets with a blank inside, as for links without a frame; ``[sic]`` has none."""
_SEPARATOR = re.compile(r"\s+[|·•]\s+")
MIN_LINKS = 3
"""Items of a list of links."""
MAX_WORDS = 4
"""Words of a link."""
_END = (".", "!", "?", ":", ";", "。", "؟", "।")


def is_navigation(a: str, b: str) -> bool:
    """Tell whether a sentence pair leads through the site, as ``[ < Rests ]``, ``Next →`` or ``Home | News | Contact``.

    A longer text before an arrow counts as a sentence, and an arrow that leads forth at the beginning as a bullet.
    """
    return (
        bool(_BACK.search(a) or _BACK.search(b))
        or all(map(_BRACKETS.search, (a, b)))
        or all(_FORTH.search(text) and len(text.split()) <= MAX_WORDS for text in (a, b))
        or all(map(_is_list_of_links, (a, b)))
    )


def _is_list_of_links(text: str) -> bool:
    items = _SEPARATOR.split(text)
    short = all(0 < len(item.split()) <= MAX_WORDS for item in items)
    return short and len(items) >= MIN_LINKS and not text.endswith(_END)


def is_copied(a: str, b: str) -> bool:
    """Tell whether nothing, or next to nothing, is translated: the words are the same, digits and punctuation aside."""
    if (one := normal(a).split()) == (other := normal(b).split()):
        return True
    shared = (Counter(one) & Counter(other)).total()
    return min(len(one), len(other)) >= MIN_COPIED and shared >= COPIED * max(len(one), len(other))


class Cleaner:
    """Judges sentence pairs of two languages, each by itself."""

    def __init__(self, pair: LanguagePair, detection: Detection = BY_DEFAULT) -> None:
        self._pair = pair
        self._detection = detection

    def objection(self, found: SentencePair) -> str:
        """Return why *found* does not belong in the bitext, as a key of :data:`REASONS`; empty if it does."""
        a, b = found.text_a, found.text_b
        if min(sum(map(str.isalpha, text)) for text in (a, b)) < MIN_LETTERS:
            return "letters"
        if is_copied(a, b):
            return "equal"
        if is_navigation(a, b):
            return "navigation"
        shorter, longer = sorted((len(a), len(b)))
        if longer > MAX_RATIO * shorter + SLACK:
            return "length"
        if self._is_other(a, self._pair.a, self._pair.b) or self._is_other(b, self._pair.b, self._pair.a):
            return "language"
        return "quality" if found.quality < MIN_QUALITY else ""

    def _is_other(self, text: str, own: str, other: str) -> bool:
        """Tell whether *text* is in *other*, the language of the other side, or long and in any but *own*."""
        if len(text) < LEGIBLE:
            return False
        identified = self._detection.identify(text, (own,))
        side = self._pair.side(identified.language)
        return identified.reliable and side != own and (side == other or len(text) >= CERTAIN)
