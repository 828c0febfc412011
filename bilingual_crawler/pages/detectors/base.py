"""What a language detector is, its answer, and the vote of several."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from bilingual_crawler.languages.codes import UNKNOWN, macrolanguage
from bilingual_crawler.plugins import LANGUAGE_DETECTORS

MAX_CHARACTERS = 50_000  # characters of a text that are read
RANGE = 1000  # characters of a range of a text that votes on its language
MIN_LETTERS = 6  # letters under which the language of a text is unknown
UNMIXED = 90  # percentage of a text in one language from which the others do not count
SHOWN = 3  # maximum languages of a text in an answer
_CACHE = "BILINGUAL_CACHE_DIR"  # name of the environment variable with the cache folder, which helper processes inherit

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]|[^\x00-\U0010fffd]")


@dataclass(frozen=True, slots=True)
class Identification:
    """The language of a text."""

    language: str
    """ISO 639-3, or ``un``."""
    shares: tuple[tuple[str, int], ...]
    """At most three languages with their percentage of the text, largest first."""
    reliable: bool
    declared: str | None = None
    """The language that most declarations of the page name, ISO 639-3; None without any."""

    @property
    def is_unmixed(self) -> bool:
        """Whether next to all of the text is in one language."""
        return len(self.shares) < 2 or self.shares[0][1] >= UNMIXED


def keep_in(cache: Path) -> None:
    """Detectors of this process, and of those that it starts from now on, may keep files in the folder *cache*."""
    os.environ[_CACHE] = str(cache)


def cache_folder() -> Path | None:
    """The folder of :func:`keep_in`, which may be missing; None without one."""
    cache = os.environ.get(_CACHE)
    return Path(cache) if cache else None


NOTHING = Identification(UNKNOWN, (), False)


class LanguageDetector(Protocol):
    """Identifies the language of a text; its methods never raise.

    Each process makes one, without arguments: the helper processes that read pages, and the one that aligns.
    """

    languages: frozenset[str]
    """Languages that the detector knows, ISO 639-3."""

    def identify(self, text: str) -> Identification:
        """The languages of the first 50,000 characters of *text*."""

    def confirms(self, text: str, language: str) -> bool:
        """Whether *text*, which it has identified as *language*, cannot well be in a language that it does not know."""


def by_ranges(text: str, language_of: Callable[[str], str]) -> Identification:
    """The languages of the ranges of *text* (CCAligned 2020, 3.2.2), each by *language_of*: ISO 639-3 or ``un``."""
    text = text[:MAX_CHARACTERS]
    ranges = [text[start : start + RANGE] for start in range(0, len(text), RANGE)]
    votes = Counter(language_of(one) if has_letters(one) else UNKNOWN for one in ranges)
    shares = tuple((lang, 100 * count // len(ranges)) for lang, count in votes.most_common() if lang != UNKNOWN)
    return Identification(shares[0][0], shares[:SHOWN], shares[0][1] > 50) if shares else NOTHING


def has_letters(text: str) -> bool:
    """Whether *text* has enough letters to be in a language."""
    return sum(map(str.isalpha, text[:RANGE])) >= MIN_LETTERS


def legible(text: str) -> str:
    """*text* with blanks for control characters and others that are no text."""
    return _NO_TEXT.sub(" ", text)


class Ensemble:
    """Detectors that vote on ranges (CCAligned 2020, 3.2.2), none against a language unknown to it."""

    def __init__(self, detectors: Sequence[LanguageDetector]) -> None:
        self._detectors = detectors
        self.languages = frozenset[str]().union(*(detector.languages for detector in detectors))

    def identify(self, text: str) -> Identification:
        return by_ranges(text, self._elect)

    def confirms(self, text: str, language: str) -> bool:
        agreeing = (detector for detector in self._detectors if detector.identify(text).language == language)
        return any(detector.confirms(text, language) for detector in agreeing)

    def _elect(self, text: str) -> str:
        named = [(detector, detector.identify(text).language) for detector in self._detectors]
        # Sorani and Kurdish are one answer, of which one is more precise
        wide = {UNKNOWN, *(macrolanguage(lang) for _, lang in named)}
        votes = [(detector, lang) for detector, lang in named if lang not in wide]
        ballot = {lang for _, lang in votes}
        informed = [lang for detector, lang in votes if ballot <= detector.languages]
        counted = Counter(informed or (lang for _, lang in votes))
        return counted.most_common(1)[0][0] if counted else UNKNOWN


@lru_cache
def load_detector(names: tuple[str, ...]) -> LanguageDetector:
    """The detector called *names*, or the vote of several; raises ContentError if one cannot be loaded."""
    chosen = map(LANGUAGE_DETECTORS.split, names)
    detectors: list[LanguageDetector] = [LANGUAGE_DETECTORS.find(name)(*arguments) for name, arguments in chosen]
    return Ensemble(detectors) if len(detectors) > 1 else detectors[0]
