"""Link scores by the two URL models, cached, and batched over pages in a thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.urls.hosts import CACHED_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.scoring.models import LanguageModel, ParallelnessModel


@dataclass(frozen=True, slots=True)
class LinkScore:
    """The scores of a link by the URL models, probabilities in 0..1."""

    language: float
    """Probability that the linked page is in a language that the page's has a pair with."""
    parallel: float
    """Probability that the linking page and the linked page are translations."""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links of one page to be scored: *side* is the language of the pairs that the page is in."""

    url: str
    side: str
    links: Sequence[str]


class LinkScorer:
    """Scores links with p(language) for the other languages of the pairs and p(parallel) of page and link.

    Languages of one equivalence class count together. Scores are cached per URL and per pair of URLs that are not long.
    """

    def __init__(
        self,
        language_model: LanguageModel,
        parallelness_model: ParallelnessModel,
        pairs: LanguagePairs,
        *,
        cache_size: int = 200_000,
    ) -> None:
        self._read = language_model.reader(pairs)
        self._parallelness_model = parallelness_model
        self._pairs = pairs
        self._languages: LRUCache[str, tuple[float, ...]] = LRUCache(cache_size)
        self._parallels: LRUCache[tuple[str, str], float] = LRUCache(cache_size)

    def score(self, pages: Sequence[PageLinks]) -> list[list[LinkScore]]:
        """Scores of the links of each page, one batch per model. Blocks; not thread-safe."""
        languages = self._score_languages({link for page in pages for link in page.links})
        parallels = self._score_parallels({(page.url, link) for page in pages for link in page.links})
        places = {language: place for place, language in enumerate(self._pairs.languages)}
        others = {side: [places[other] for other in self._pairs.others(side)] for side in places}
        return [
            [
                LinkScore(sum(languages[link][place] for place in others[page.side]), parallels[page.url, link])
                for link in page.links
            ]
            for page in pages
        ]

    def _score_languages(self, urls: Iterable[str]) -> dict[str, tuple[float, ...]]:
        """The probability of each language of the pairs."""
        known = {url: self._languages[url] for url in urls if url in self._languages}
        unknown = [url for url in urls if url not in known]
        if unknown:
            fresh = {url: tuple(map(float, row)) for url, row in zip(unknown, self._read(unknown), strict=True)}
            self._languages.update((url, score) for url, score in fresh.items() if len(url) <= CACHED_LENGTH)
            known |= fresh
        return known

    def _score_parallels(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
        known = {pair: self._parallels[pair] for pair in pairs if pair in self._parallels}
        unknown = [pair for pair in pairs if pair not in known]
        if unknown:
            probabilities = self._parallelness_model.link_probabilities(unknown)
            fresh = dict(zip(unknown, map(float, probabilities), strict=True))
            self._parallels.update(
                (pair, score) for pair, score in fresh.items() if len("".join(pair)) <= 2 * CACHED_LENGTH
            )
            known |= fresh
        return known


class BatchingScorer:
    """Awaitable scoring: pages that arrive while a batch runs, or within *window* seconds, form the next one.

    The models run in one thread of their own, so that the event loop never waits for them.
    """

    def __init__(self, scorer: LinkScorer, *, window: float = 0.002) -> None:
        self._scorer = scorer
        self._window = window
        self._waiting: list[tuple[PageLinks, asyncio.Future[list[LinkScore]]]] = []
        self._runner: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="link-scorer")

    async def score(self, page: PageLinks) -> list[LinkScore]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[LinkScore]] = loop.create_future()
        self._waiting.append((page, future))
        if self._runner is None:
            self._runner = loop.create_task(self._run())
        return await future

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                await asyncio.sleep(self._window)
                batch, self._waiting = self._waiting, []
                try:
                    scores = await loop.run_in_executor(self._thread, self._scorer.score, [page for page, _ in batch])
                except Exception as error:
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), page_scores in zip(batch, scores, strict=True):
                    if not future.done():
                        future.set_result(page_scores)
        finally:
            self._runner = None

    def close(self) -> None:
        self._thread.shutdown(wait=True)
