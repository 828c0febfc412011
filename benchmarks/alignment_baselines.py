"""Published methods of document alignment: the WMT16 URL baseline, PPLocator, PTI, DDE, SAE."""

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
from bilingual_crawler.bitext.splitting import split
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

    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.items import Document
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.model import Profile

MOST_TOKENS = 512  # tokens that a sentence encoder reads of a text
LIKE = 0.85  # PPLocator: similarity of URLs from which a pair is a candidate (Vieira and Moreira 2012, section 3.1)
SAME_WORDS = 0.9  # PTI: similarity of contents from which a candidate is accepted, as published
SOME_WORDS = 0.2  # the same for free word lists, which know few of the words of a page and fewer of their forms


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
        scores = (
            self._tree.probabilities(StructureEvidence(domain, {}).features(i, j, editions)) if len(i) else np.zeros(0)
        )
        return Candidates(i, j, scores, ["structure"] * len(i), 0.5)


def _without_tokens(url: str) -> str:
    return re.sub(r"\b(?:https?|www|index)\b", "", url)


class Pti:
    """URLs that differ by language names only; of the other documents, enough words that a bilingual list translates.

    Every two of the other documents are compared (Chen et al. 2004; Vieira and Moreira 2012, section 2).
    """

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
                    found[i, j] = 1.0
        a, b = (
            [place for place in range(len(side)) if place not in named]
            for side, named in ((domain.a, {i for i, _ in found}), (domain.b, {j for _, j in found}))
        )
        shares = _translated([domain.a[i] for i in a], [domain.b[j] for j in b], words)
        found |= {(a[i], b[j]): shares[i, j] for i, j in np.argwhere(shares >= self._threshold)}
        return _candidates(found.items(), self._threshold, "url")


def _translated(ones: Sequence[Profile], others: Sequence[Profile], words: dict[int, set[int]]) -> NDArray[np.float32]:
    """Shares of the listed words of each of *ones* that have a translation in each of *others*: (ones, others)."""
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for place, other in enumerate(others):
        for word in other.words.tolist():
            holders[word].append(place)
    shares = np.zeros((len(ones), len(others)), dtype=np.float32)
    for row, one in zip(shares, ones, strict=True):
        listed = [word for word in one.words.tolist() if word in words]
        for word in listed:
            row[sorted({place for translation in words[word] for place in holders.get(translation, ())})] += 1
        row /= max(1, len(listed))
    return shares


class Cosine:
    """Cosine of document vectors inside the domain, greedy matching without a threshold (El-Kishky et al. 2020)."""

    def __init__(self, texts: Callable[[Document], list[str]], encoder: Encoder) -> None:
        self._texts, self._encoder = texts, encoder

    def __call__(self, domain: Domain) -> Candidates:
        a, b = self._vectors(domain, domain.a), self._vectors(domain, domain.b)
        i, j = (places.ravel() for places in np.indices((len(a), len(b))))
        scores = np.array([one @ other for one in a for other in b], dtype=float)
        return Candidates(i, j, scores, ["content"] * len(i), -1.0)

    def _vectors(self, domain: Domain, side: Sequence[Profile]) -> list[NDArray[np.float32]]:
        """The mean of the vectors of the texts of each document, of length 1, not centred."""
        means = [
            self._encoder.encode(self._texts(domain.corpus.document(profile.url)), MOST_TOKENS).mean(axis=0)
            for profile in side
        ]
        return [mean / max(float(np.linalg.norm(mean)), 1e-9) for mean in means]


def whole_text(document: Document) -> list[str]:
    """What DDE embeds: the full text, of which our encoders read the first :data:`MOST_TOKENS` tokens."""
    return [" ".join((document.title, *document.lines))]


def all_sentences(document: Document) -> list[str]:
    """What SAE embeds: each sentence."""
    sentences = split((document.title, *document.lines), document.language)
    return [sentence.text for sentence in sentences] or [document.title]


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
