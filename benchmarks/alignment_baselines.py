"""Published methods of document alignment: the WMT16 URL baseline, PPLocator, PTI."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from benchmarks.swap import swap_language
from bilingual_crawler.languages.codes import fold, names_of, own_name, to_bcp47
from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.candidates import Editions
from bilingual_crawler.pairing.evidence import PairClassifier
from bilingual_crawler.pairing.methods import Candidates
from bilingual_crawler.pairing.structure import StructureEvidence
from bilingual_crawler.urls.marks import marked_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.model import Profile

LIKE = 0.85
"""PPLocator: similarity of URLs from which a pair is a candidate (Vieira and Moreira 2012, section 3.1)."""
SAME_WORDS = 0.9
"""PTI: similarity of contents from which a candidate is accepted, as published."""
SOME_WORDS = 0.2
"""The same for free word lists, which know few of the words of a page and fewer of their forms."""


class WmtBaseline:
    """Language tokens stripped from URLs; one stripped form equals the other URL, or both stripped forms are equal."""

    def __call__(self, domain: Domain) -> Candidates:
        pair = domain.pair
        stripped = {lang: _stripper(lang) for lang in (pair.a, pair.b)}
        plain_b: dict[str, list[int]] = defaultdict(list)
        bare_b: dict[str, list[int]] = defaultdict(list)
        for j, profile in enumerate(domain.b):
            plain_b[_normal(profile.url)].append(j)
            bare_b[stripped[pair.b](profile.url)].append(j)
        found: dict[tuple[int, int], float] = {}
        for i, profile in enumerate(domain.a):
            plain, bare = _normal(profile.url), stripped[pair.a](profile.url)
            matches = [(plain_b[bare] if bare != plain else [], 1.0), (bare_b[plain], 0.9), (bare_b[bare], 0.8)]
            for places, score in matches:
                for j in places:
                    found.setdefault((i, j), score)
        return _candidates(found.items(), 0.5, "url")


def _stripper(lang: str) -> Callable[[str], str]:
    short = to_bcp47(lang)
    words = {fold(name).replace(" ", "-") for name in (*names_of(lang), own_name(lang))} | {short, lang}
    words |= {f"{short}-[a-z]{{2}}", f"{short}_[a-z]{{2}}"}
    tokens = "|".join(sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"[-_]?(?<![a-zA-Z0-9])(?:{tokens})(?![a-zA-Z0-9])", re.IGNORECASE)

    def strip(url: str) -> str:
        parts = urlsplit(_normal(url))
        path = re.sub("/+", "/", pattern.sub("", parts.path))
        query = "&".join(part for part in parts.query.split("&") if part and not pattern.search(part))
        name = re.sub(r"[._-]+(?=\.|$|/)|(?<=/)[._-]+", "", path).rstrip("/")
        return f"http://{parts.netloc}{name}?{query}".rstrip("?")

    return strip


def _normal(url: str) -> str:
    return "http://" + url.partition("://")[2].rstrip("?").rstrip("/")


class PpLocator:
    """Most similar URL of the other language, then the paper's decision tree; one-to-one for comparison."""

    def __init__(self, models: Traversable) -> None:
        self._tree = PairClassifier(models, "pplocator")

    def __call__(self, domain: Domain) -> Candidates:
        left, right = ([_without_tokens(profile.url) for profile in side] for side in (domain.a, domain.b))
        if not left or not right:
            return _candidates((), 0.5, "structure")
        likeness = cdist(left, right, scorer=Levenshtein.normalized_similarity, dtype=np.float32)
        best = likeness.argmax(axis=1)
        i = np.flatnonzero(likeness[np.arange(len(left)), best] >= LIKE)
        j = best[i]
        editions = Editions.from_evidence(domain, {})
        scores = self._tree.probabilities(StructureEvidence(domain).features(i, j, editions)) if len(i) else np.zeros(0)
        return Candidates(i, j, scores, ["structure"] * len(i), 0.5)


def _without_tokens(url: str) -> str:
    return re.sub(r"\b(?:https?|www|index)\b", "", url)


class Pti:
    """URLs that differ by language names only, and enough words that a bilingual list translates."""

    def __init__(self, lexicon: Path | None, threshold: float = SAME_WORDS) -> None:
        self._threshold = threshold
        self._words = _read_lexicon(lexicon) if lexicon else {}

    def __call__(self, domain: Domain) -> Candidates:
        pair = domain.pair
        places = {_normal(profile.url): j for j, profile in enumerate(domain.b)}
        words = self._words.get((pair.a, pair.b), {})
        found = {}
        for i, profile in enumerate(domain.a):
            if marked_language(profile.url, (pair.b,)) == pair.b:
                continue
            for url in swap_language(profile.url, pair, pair.a):
                j = places.get(_normal(url))
                if j is not None:
                    found[i, j] = _translated(profile, domain.b[j], words) if words else 1.0
        return _candidates(found.items(), self._threshold if words else 0.5, "url")


def _translated(one: Profile, other: Profile, words: dict[int, set[int]]) -> float:
    """Share of the listed words of *one* that have a translation in *other*."""
    present = set(other.words.tolist())
    listed = [word for word in one.words.tolist() if word in words]
    return sum(not words[word].isdisjoint(present) for word in listed) / len(listed) if listed else 0.0


def _read_lexicon(path: Path) -> dict[tuple[str, str], dict[int, set[int]]]:
    """Hashes of words to those of their translations, in both directions of every language pair."""
    words: defaultdict[tuple[str, str], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            lang_a, a, lang_b, b = line.rstrip("\n").split("\t")
            if " " not in a + b:
                words[lang_a, lang_b][hash_text(a)].add(hash_text(b))
                words[lang_b, lang_a][hash_text(b)].add(hash_text(a))
    return words


def _candidates(found: Iterable[tuple[tuple[int, int], float]], threshold: float, name: str) -> Candidates:
    rows: Sequence[tuple[tuple[int, int], float]] = list(found)
    places: NDArray[np.intp] = np.array([place for place, _ in rows], dtype=np.intp).reshape(-1, 2)
    scores = np.array([score for _, score in rows], dtype=float)
    return Candidates(places[:, 0], places[:, 1], scores, [name] * len(rows), threshold)
