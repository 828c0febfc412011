"""Several detectors that vote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.languages import UNKNOWN, macrolanguage
from bilingual_crawler.pages.detectors.base import Identification, by_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.detectors.base import LanguageDetector


class Ensemble:
    """Each detector votes on each range of a text, and each range on the text (CCAligned 2020, section 3.2.2).

    Detectors that disagree are heard if they know all languages that were named, so that no detector outvotes another
    on a language that it does not know. The first of equals wins.
    """

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
