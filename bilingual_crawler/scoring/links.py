"""Link scores by the two URL models."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from bilingual_crawler.urls.hosts import CACHED_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.scoring.models import LanguageModel, ParallelnessModel


MAX_KNOWN = 200_000  # URLs whose probabilities of languages are kept, since many pages have the same links


class LinkScore(NamedTuple):
    """The scores of a link by the URL models, probabilities in 0..1."""

    language: float  # probability that the linked page is in a language that the page's has a pair with
    parallel: float  # probability that the linking page and the linked page are translations


class LinkScorer:
    """Scores the links of a page; languages of one equivalence class count together."""

    def __init__(self, languages: LanguageModel, parallelness: ParallelnessModel, pairs: LanguagePairs) -> None:
        self._read = languages.reader(pairs)
        self._parallelness = parallelness
        self._pairs = pairs
        self._known: LRUCache[str, list[float]] = LRUCache(MAX_KNOWN)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="link-scorer")

    def score(self, page: str, side: str, links: Sequence[str]) -> list[LinkScore]:
        """Scores of the *links* of a *page* in the language *side* of the pairs. Blocks; not thread-safe."""
        languages = {url: self._known[url] for url in links if url in self._known}
        if unknown := [url for url in dict.fromkeys(links) if url not in languages]:
            fresh = dict(zip(unknown, self._read(unknown).tolist(), strict=True))
            self._known.update((url, row) for url, row in fresh.items() if len(url) <= CACHED_LENGTH)
            languages |= fresh
        parallels = self._parallelness.link_probabilities([(page, link) for link in links]).tolist()
        others = [self._pairs.languages.index(other) for other in self._pairs.others(side)]
        return [
            LinkScore(sum(languages[link][place] for place in others), parallel)
            for link, parallel in zip(links, parallels, strict=True)
        ]

    async def score_in_thread(self, page: str, side: str, links: Sequence[str]) -> list[LinkScore]:
        """As :meth:`score`, in one thread for all pages, so that the event loop never waits for the models."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.score, page, side, links)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
