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
UNTRANSLATED = 0.5
"""The same for a side in the language of the other side."""
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


def same_words(a: str, b: str) -> float:
    """Return the share of the words of both sides that are the same, digits aside, 0 to 1; 1 if there are none."""
    one, other = normal(a).split(), normal(b).split()
    return (Counter(one) & Counter(other)).total() / max(1, len(one), len(other)) if one != other else 1.0


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
        same, words = same_words(a, b), min(len(a.split()), len(b.split()))
        if same >= (COPIED if words >= MIN_COPIED else 1):
            return "equal"
        if is_navigation(a, b):
            return "navigation"
        shorter, longer = sorted((len(a), len(b)))
        if longer > MAX_RATIO * shorter + SLACK:
            return "length"
        if self._is_foreign(a, b, same):
            return "language"
        return "quality" if found.quality < MIN_QUALITY else ""

    def _is_foreign(self, a: str, b: str, same: float) -> bool:
        """Tell whether a side is in another language: copied, both exchanged, or long and in a third one.

        A name or title in the language of the other side makes a sentence look like that language.
        """
        seen = self._language(a, self._pair.a), self._language(b, self._pair.b)
        exchanged = [seen[0] == self._pair.b, seen[1] == self._pair.a]
        third = [
            language not in ("", self._pair.a, self._pair.b) and len(text) >= CERTAIN
            for text, language in zip((a, b), seen, strict=True)
        ]
        return all(exchanged) or (any(exchanged) and same >= UNTRANSLATED) or any(third)

    def _language(self, text: str, own: str) -> str:
        """The language of *text*, as that of the pair that it counts as; empty if it is not sure."""
        if len(text) < LEGIBLE:
            return ""
        identified = self._detection.identify(text, (own,))
        return (self._pair.side(identified.language) or identified.language) if identified.reliable else ""
