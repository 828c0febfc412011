import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bilingual_crawler.crawl.middlewares.links import warn_of_unknown
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.scoring.links import LinkScore, LinkScorer
from bilingual_crawler.scoring.models import LanguageModel


class Languages(LanguageModel):
    """Finds the language in the last letter of the URL, without a graph."""

    def __init__(self) -> None:
        self.labels = ("unk", "eng", "hrv", "srp")
        self.calls: list[list[str]] = []

    def probabilities(self, urls: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(urls))
        if threading.current_thread() is threading.main_thread():
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
        table = {"e": [0.1, 0.9, 0, 0], "h": [0, 0.1, 0.6, 0.3]}
        return np.array([table[url[-1]] for url in urls], dtype=np.float32)


class Parallels:
    def __init__(self) -> None:
        self.calls: list[list[tuple[str, str]]] = []

    def link_probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.calls.append(list(pairs))
        return np.array([0.75 if u[:3] == v[:3] else 0.25 for u, v in pairs], dtype=np.float32)


def scorer() -> tuple[LinkScorer, Languages, Parallels]:
    languages, parallels = Languages(), Parallels()
    pairs = LanguagePairs.parse("eng-hrv", equivalents=["hrv srp"])
    return LinkScorer(languages, parallels, pairs), languages, parallels  # type: ignore[arg-type]


def test_the_language_asked_for_is_the_other_one_with_its_equivalents() -> None:
    links, _, _ = scorer()
    scores = links.score("a1e", "eng", ["a1h", "b1e"])
    assert [score.language for score in scores] == pytest.approx([0.9, 0.0])
    scores = links.score("a1h", "hrv", ["a1h", "b1e"])
    assert [score.language for score in scores] == pytest.approx([0.1, 0.9])
    assert scores[1] == LinkScore(scores[1].language, 0.25)


def test_no_address_is_read_twice() -> None:
    links, languages, _ = scorer()
    links.score("a1e", "eng", ["a1h", "b1h"])
    links.score("a2e", "eng", ["b1h", "a1h", "c1h"])
    assert languages.calls == [["a1h", "b1h"], ["c1h"]]


def test_models_run_in_another_thread_and_a_failing_one_fails_its_page_only() -> None:
    links, languages, _ = scorer()

    async def crawl() -> list[list[LinkScore]]:
        with pytest.raises(KeyError):
            await links.score_in_thread("p1e", "eng", ["no language!"])
        pages = [(f"p{i}e", "eng", [f"l{i}h"]) for i in range(5)]
        results = await asyncio.gather(*(links.score_in_thread(*page) for page in pages))
        links.close()
        return results

    assert [len(scores) for scores in asyncio.run(crawl())] == [1] * 5
    assert len(languages.calls) == 6


def test_a_policy_whose_model_does_not_know_a_language_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    for pair, warned in (("eng-hrv", False), ("eng-bod", True)):
        warn_of_unknown(Languages(), "smart", LanguagePairs.parse(pair))
        assert ("policy=smart: the URL model does not know Tibetan" in caplog.text) is warned, pair
