"""HeLI-OTS in Rust. It needs the extra ``languages``, and .9 GB of memory a process."""

from heliport import Identifier

from bilingual_crawler.languages.codes import UNKNOWN, from_bcp47
from bilingual_crawler.pages.detectors.base import RANGE, Identification, by_ranges, legible

CONFIDENT = 0.5  # for an answer against a declaration; `benchmarks/languages.py` measures how often


class Heliport:
    """Knows some 220 languages. Low-confidence answers count as unknown."""

    def __init__(self) -> None:
        self._identifier = Identifier()
        self.languages = frozenset(filter(None, map(from_bcp47, self._identifier.get_confidence_all())))

    def identify(self, text: str) -> Identification:
        return by_ranges(text, self._language_of)

    def confirms(self, text: str, language: str) -> bool:
        """It is confident enough: texts in languages that it does not know look like several that it knows."""
        label, confidence = self._identifier.identify_with_score(legible(text[:RANGE]))
        return from_bcp47(label) == language and bool(confidence >= CONFIDENT)

    def _language_of(self, text: str) -> str:
        return from_bcp47(self._identifier.identify(legible(text))) or UNKNOWN
