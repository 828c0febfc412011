"""Level-wise crawls that fetch the last level only for candidate pairs (Vieira & Moreira 2012, section 3.1)."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.policies.base import FetchedPage, Policy
from bilingual_crawler.urls.markers import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore

LEVELS = 3
"""Levels below the home page; pages of the last are fetched only if their URL is in a candidate pair."""
SIMILARITY = 0.85
_BREADTH, _LAST = 0.0, -1.0


class LevelWise(Policy):
    """Breadth first through all levels but the last, whose URLs wait until the rest is done.

    Then URLs are sorted by the language that they name into first, second and unknown; a list that is empty is
    replaced by the unknown ones; those of the last level that are in no candidate pair are never fetched. URLs that
    name a third language are not fetched at all.
    """

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self._urls: dict[str, None] = {}
        self._candidates: set[str] | None = None

    def expands(self, page: FetchedPage) -> bool:
        return page.depth < LEVELS

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [self._priority(link.url, page.depth + 1) for link in links]

    def reconsider(self, url: str, priority: float) -> float:
        if priority != _LAST:
            return priority
        if self._candidates is None:
            self._candidates = self._find_candidates()
        return priority if url in self._candidates else NEVER

    def redirected(self, url: str, target: str) -> None:
        if self._candidates is not None and url in self._candidates:
            self._candidates.add(target)

    @abstractmethod
    def matches(self, first: Sequence[str], second: Sequence[str]) -> set[str]:
        """The URLs of both lists that are in a candidate pair."""

    def _priority(self, url: str, depth: int) -> float:
        language = marked_language(url)
        if language is not None and self.pair.side(language) is None:
            return NEVER
        self._urls[url] = None
        return _BREADTH if depth < LEVELS else _LAST

    def _find_candidates(self) -> set[str]:
        by_side: defaultdict[str | None, list[str]] = defaultdict(list)
        for url in self._urls:
            language = marked_language(url)
            by_side[self.pair.side(language) if language else None].append(url)
        first, second, unknown = by_side[self.pair.a], by_side[self.pair.b], by_side[None]
        if not first and not second:
            return set()
        return self.matches(first or unknown, second or unknown)


class PPLocator(LevelWise):
    """The most similar URL in the other language, by Levenshtein similarity of at least .85."""

    name = "pplocator"

    def matches(self, first: Sequence[str], second: Sequence[str]) -> set[str]:
        found: set[str] = set()
        normal = [_normal(url) for url in second]
        for url in first:
            best = process.extractOne(
                _normal(url), normal, scorer=Levenshtein.normalized_similarity, score_cutoff=SIMILARITY
            )
            if best is not None:
                found |= {url, second[best[2]]}
        return found


class ParallelTextIdentification(LevelWise):
    """URLs that are equal but for the language they name (PTI, the baseline of the same paper)."""

    name = "pti"

    def matches(self, first: Sequence[str], second: Sequence[str]) -> set[str]:
        languages = self.pair.languages
        keys = {strip_language(url, languages) for url in first} & {strip_language(url, languages) for url in second}
        return {url for url in (*first, *second) if strip_language(url, languages) in keys}


def _normal(url: str) -> str:
    for noise in ("http", "www", "index"):
        url = url.replace(noise, "")
    return url
