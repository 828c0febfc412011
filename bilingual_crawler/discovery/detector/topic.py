"""A topic, by its words, and a detector that accepts sites of the topic only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.detector.base import Reason, Verdict
from bilingual_crawler.discovery.policies import words

if TYPE_CHECKING:
    from typing import Self

    from bilingual_crawler.discovery.detector.base import Detector, Inspection
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord

MIN_SHARE = 0.02
"""Minimum share of the words of a page, without stop words, that are words of its topic."""


class Topic:
    """What pages with certain words are about."""

    def __init__(self, text: str, pair: LanguagePair) -> None:
        """*text* holds words of the topic in both languages of *pair*; ValueError without a word."""
        stems = ([words(word, language) for language in (pair.a, pair.b)] for word in words(text))
        # a stop word of one language is no word of the other
        self._words = {word for both in stems if all(both) for found in both for word in found}
        if not self._words:
            raise ValueError("no word in it: give words of the topic in both languages")

    @classmethod
    def parse(cls, given: str, pair: LanguagePair) -> Self:
        """The topic of words separated by commas, or in a file; raises ValueError."""
        if os.path.isfile(given):
            return cls(Path(given).read_text(encoding="utf-8"), pair)
        if os.sep in given or "." in given:
            raise ValueError("there is no such file")
        return cls(given, pair)

    def has(self, page: PageRecord) -> bool:
        """Whether *page* is about the topic."""
        found = words(page.text, page.language)
        return sum(word in self._words for word in found) >= max(1, MIN_SHARE * len(found))


class TopicDetector:
    """A detector that refuses sites whose entry page is not about the topic, without a download."""

    def __init__(self, detector: Detector, topic: Topic) -> None:
        self._detector, self._topic = detector, topic

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspection:
        return self._detector.inspect(pair, entry) if self._topic.has(entry) else _OffTopic(entry.language)


@dataclass(frozen=True, slots=True)
class _OffTopic:
    """The inspection of a site that is not about the topic."""

    language: str

    def next(self) -> None:
        return None

    def observe_page(self, url: str, page: PageRecord | None) -> None:
        """Ignore the page: there is a verdict."""

    @property
    def verdict(self) -> Verdict:
        return Verdict(False, 0.0, Reason.OFF_TOPIC, {self.language: 1})
