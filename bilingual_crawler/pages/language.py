"""The language of a text: CLD2 identifies it, and langid if the text is short or CLD2 is unsure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pycld2

from bilingual_crawler.language_tables import CLD2_ONLY, URL_LABELS
from bilingual_crawler.languages import UNKNOWN, from_bcp47, from_cld2

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MAX_CHARACTERS = 50_000
"""Characters of a text that are read."""
SHORT = 200
"""Characters under which langid is preferred (it is more accurate on lines of 30–200 characters)."""
VERY_SHORT = 60
"""Characters under which CLD2 counts only if langid agrees (its accuracy alone is 80–91 % there)."""
MIN_LETTERS = 6
"""Letters under which the language of a text is unknown."""
CONFIDENT = 0.5
"""Probability from which langid counts: then 96 % are right on lines under 30 characters, over 98 % on longer ones."""

CONFIDENT_ALONE = 0.95
"""The same for longer texts in which CLD2 found no language: they tend to be in languages that neither knows."""

_SECOND_READS = 1000
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]|[^\x00-\U0010fffd]")
_KNOWN = frozenset((*URL_LABELS, *CLD2_ONLY))


@dataclass(frozen=True, slots=True)
class Identification:
    """The language of a text."""

    language: str
    """ISO 639-3, or ``un``."""
    shares: tuple[tuple[str, int], ...]
    """At most three languages with their percentage of the text, largest first."""
    reliable: bool


NOTHING = Identification(UNKNOWN, (), False)


def load_detectors() -> None:
    """Load the detectors now instead of at the first call of :func:`identify`."""
    _langid_languages()


def identify(text: str) -> Identification:
    """The language of the first 50,000 characters of *text*; never raises.

    Control characters are removed first. Mixed texts get the language with the largest share.
    """
    text = text[:MAX_CHARACTERS]
    first = _cld2(text)
    if len(text) >= SHORT and (first.reliable or first.language != UNKNOWN):
        return first
    if sum(map(str.isalpha, text[:_SECOND_READS])) < MIN_LETTERS:
        return NOTHING
    return _second_opinion(text[:_SECOND_READS], first)


def _cld2(text: str) -> Identification:
    try:
        reliable, _, details = pycld2.detect(text, isPlainText=True)
    except (pycld2.error, UnicodeEncodeError):
        try:
            reliable, _, details = pycld2.detect(_CONTROLS.sub(" ", text), isPlainText=True)
        except (pycld2.error, UnicodeEncodeError):
            return NOTHING
    shares: dict[str, int] = {}
    for _, code, percent, _ in details:
        lang = from_cld2(code)
        if lang != UNKNOWN and percent:
            shares[lang] = shares.get(lang, 0) + percent
    if not shares:
        return NOTHING
    ranked = tuple(sorted(shares.items(), key=lambda share: -share[1]))
    return Identification(ranked[0][0], ranked, bool(reliable))


def _second_opinion(text: str, first: Identification) -> Identification:
    identifier = _langid()
    label, probability = identifier.classify(_CONTROLS.sub(" ", text))
    lang = from_bcp47(label) or UNKNOWN
    knows_first = first.language in _langid_languages()
    confident = CONFIDENT if len(text) < SHORT else CONFIDENT_ALONE
    if probability >= confident and (knows_first or not first.reliable):
        shares = ((lang, 100),) if lang != UNKNOWN else ()
        return Identification(lang, shares, lang != UNKNOWN)
    trusted = first.reliable and len(text) >= VERY_SHORT
    return first if trusted or first.language == lang else NOTHING


@lru_cache(maxsize=1)
def _langid() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # zxx, "no language", stays for texts that are in none of them.
    identifier.set_languages([label for label in identifier.labels if label == "zxx" or from_bcp47(label) in _KNOWN])
    return identifier


@lru_cache(maxsize=1)
def _langid_languages() -> frozenset[str | None]:
    return frozenset(map(from_bcp47, _langid().labels))
