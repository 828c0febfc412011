"""A language detector: the language whose commonest words a text has most of."""

from __future__ import annotations

from bilingual_crawler.pages.detectors.base import Identification, by_ranges

WORDS = {
    "eng": "a and are as by for from in is it of on that the this to with",
    "spa": "a con de del el en es la las lo los para por que se un una y",
}


class WordList:
    """Add a list of words for a language that no other detector knows."""

    def __init__(self) -> None:
        self.languages = frozenset(WORDS)
        self._words = {language: frozenset(words.split()) for language, words in WORDS.items()}

    def identify(self, text: str) -> Identification:
        return by_ranges(text, self._language_of)

    def confirms(self, text: str, language: str) -> bool:
        return False

    def _language_of(self, text: str) -> str:
        words = text.casefold().split()
        counts = {language: sum(word in known for word in words) for language, known in self._words.items()}
        best = max(counts, key=counts.__getitem__)
        return best if counts[best] else "un"
