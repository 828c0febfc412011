"""Whether two documents of a site are translations, by their outlines and the statistics of the site.

Items of many of its documents (a logo, a year) are no evidence, and pages of one template are alike in any case.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from importlib.resources.abc import Traversable
from math import expm1, log, log1p
from random import Random
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

from bilingual_crawler.pages.outline import Outline
from bilingual_crawler.scoring.linear import LinearModel, logistic, read_weights

FOLDER = "resemblance"
CONFIRMED_BY_OUTLINE = 0.9  # probability from which two documents are translations by their outlines

SLOT_BITS = 15  # items are counted in 2^15 slots; collisions raise a frequency by 1 % of the documents
RECENT = 16  # documents kept of each side to estimate the similarity of unrelated documents
MAX_BEST_LEAD = 5.0  # maximum lead over the second candidate, in log-odds
SAME_TEXT = 0.9  # minimum share of each of two texts in common for them to be the same (see `common_shares`)
SHORTEST = 200  # minimum characters of own text, without what the site repeats, that is compared
MENUS = 1000
"""Characters below which a page of lines that others repeat consists of menus; longer ones are texts in editions."""
PARAGRAPH = 50  # minimum characters of a line that is prose, not a name
FEW, FEW_SHARE = 4, 0.1  # maximum documents of a site, or share of them, with a line that is no boilerplate

KINDS = ("numbers", "names", "files", "lines")
_LINE = np.uint64(KINDS.index("lines") << 32)
_SUPPOSED = np.array([0.05, 0.1, 0.5, 0.1])  # prior share of documents with an item of each kind
_SMALL = ((100, 0.15), (10, 0.35))  # the same for numbers below 100 and below 10
_VIRTUAL = 4  # weight of the prior, in documents
_TRIFLE = 0.5  # weight up to which a document counts as empty

OUTLINE_FEATURES = (
    *(f"{kind}_{value}" for value in ("beyond", "shared", "least") for kind in KINDS),
    *("paragraphs", "line_ratio", "length_ratio", "length_residual", "shorter", "seen"),
)
"""By kind: similarity (0 to 1) above the mean of unrelated documents; logarithms of the weight of the shared items, and
of the items of the document with less. Then the similarity of the lengths of the lines; logarithms of the ratios of
lines and characters, the latter also above the mean, of the characters of the shorter document, and of the documents
seen."""

BEST_FEATURES = ("log_odds", "lead")
"""Log-odds of the best candidate, and its lead over the second, at most :data:`MAX_BEST_LEAD`."""
_SHARED = tuple(f"{kind}_shared" for kind in KINDS)


class ResemblanceWeights(msgspec.Struct, frozen=True):
    """What ``python -m training.documents.resemblance`` has learnt."""

    pair: LinearModel
    """Log-odds of a pair by :data:`OUTLINE_FEATURES`."""
    best: LinearModel
    """Log-odds of the best of several candidates by :data:`BEST_FEATURES`."""

    @classmethod
    def load(cls, models: Traversable) -> "ResemblanceWeights":
        """Read the weights; ModelError names the file that is missing, unreadable or of another version."""
        path = models / FOLDER / "config.json"
        weights = read_weights(path, cls)
        weights.pair.check(OUTLINE_FEATURES, path)
        weights.best.check(BEST_FEATURES, path)
        return weights

    def log_odds(self, features: Mapping[str, float]) -> float:
        """Log-odds of a pair by :data:`OUTLINE_FEATURES`, at most the surprise of sharing so much by accident."""
        surprise = sum(expm1(features[name]) for name in _SHARED) + 2 * max(features["paragraphs"], 0)
        return min(self.pair.predict(features), surprise)


class Best(NamedTuple):
    """The candidate that resembles a document most: its place among the candidates, and P(translation)."""

    place: int
    probability: float


class Resemblance:
    """Statistics of the documents of one site in two languages; 130 kB, and 32 outlines."""

    def __init__(self, weights: ResemblanceWeights) -> None:
        self._weights = weights
        self._seen = 0
        self._frequency = np.zeros(1 << SLOT_BITS, dtype=np.uint32)
        self._recent: tuple[list[Outline], list[Outline]] = ([], [])
        self._usual = np.zeros(len(KINDS))
        self._compared = np.zeros(len(KINDS))
        self._usual_ratio = 0.0
        self._ratios = 0
        self._random = Random(1)

    def see(self, outline: Outline, side: int) -> None:
        """Observe a document, once each; *side* is the first (0) or second (1) language of the pair."""
        self._seen += 1
        self._frequency[_slots(items_of(outline))] += 1  # once for items that share a slot
        recent, others = self._recent[side], self._recent[1 - side]
        if others:
            other = self._random.choice(others)
            a, b = (other, outline) if side else (outline, other)
            similarity, _, _ = self._compare(a, b)
            known = ~np.isnan(similarity)
            self._compared += known
            self._usual[known] += (similarity[known] - self._usual[known]) / self._compared[known]
            self._ratios += 1
            self._usual_ratio += (_length_ratio(a, b) - self._usual_ratio) / self._ratios
        if len(recent) < RECENT:
            recent.append(outline)
        else:
            recent[self._random.randrange(RECENT)] = outline

    def forget(self, outline: Outline) -> None:
        """Do not count an observed document, which is a copy of another one."""
        self._seen -= 1
        self._frequency[_slots(items_of(outline))] -= 1

    def score(self, a: Outline, b: Outline) -> float:
        """P(*a*, in the first language, and *b*, in the second, are translations), at even prior odds."""
        return _probability(self._weights.log_odds(self.features(a, b)), is_copy(a, b))

    def best(self, page: Outline, side: int, candidates: Sequence[Outline]) -> Best | None:
        """The best of *candidates* for *page*, in the other language, by its lead over the second; None without any."""
        both = ((other, page) if side else (page, other) for other in candidates)
        scores = [self._weights.log_odds(self.features(a, b)) for a, b in both]
        if not scores:
            return None
        place = int(np.argmax(scores))
        log_odds = scores.pop(place)
        if scores:
            lead = min(log_odds - max(scores), MAX_BEST_LEAD)
            log_odds = self._weights.best.predict({"log_odds": log_odds, "lead": lead})
        return Best(place, _probability(log_odds, is_copy(page, candidates[place])))

    def frequency(self, items: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the approximate number of observed documents with each of *items*, ``(items,)``."""
        return self._frequency[_slots(items)]

    def own_lines(self, outline: Outline) -> dict[int, float]:
        """Return the own lines of an observed document, which few others repeat, with their characters."""
        lines = _lines_of(outline)
        items = np.fromiter(lines, dtype=np.uint64, count=len(lines)) | _LINE
        few = max(FEW, FEW_SHARE * self._seen)
        seen = self.frequency(items).tolist()
        return {line: lines[line] for line, times in zip(lines, seen, strict=True) if times <= few}

    def is_same_text(self, a: Outline, b: Outline) -> bool:
        """Whether *a* and *b* have the same own text."""
        return have_same_text(self.own_lines(a), self.own_lines(b)) and is_same(a, b)

    def is_untranslated(self, a: Outline, b: Outline) -> bool:
        """Whether documents in different languages have the same own text; a long common line may be names only."""
        own, others = self.own_lines(a), self.own_lines(b)
        if max(sum(own.values()), sum(others.values())) < SHORTEST and max(a.length, b.length) < MENUS:
            return is_same(a, b)
        paragraphs = sum(line in others and characters >= PARAGRAPH for line, characters in own.items())
        return paragraphs > 1 and have_same_text(own, others)

    def features(self, a: Outline, b: Outline) -> dict[str, float]:
        """The values of :data:`OUTLINE_FEATURES`; 0 where the documents have nothing of a kind."""
        similarity, shared, least = self._compare(a, b)
        beyond = np.where((self._compared > 0) & ~np.isnan(similarity), similarity - self._usual, 0)
        ratio = _length_ratio(a, b)
        values = (
            *np.concatenate((beyond, np.log1p(shared), np.log1p(least))).tolist(),
            _paragraphs(a, b, ratio),
            -abs(log((a.count + 1) / (b.count + 1))),
            abs(ratio),
            abs(ratio - self._usual_ratio * self._ratios / (self._ratios + _VIRTUAL)),
            log1p(min(a.length, b.length)),
            min(log1p(self._seen), 5.0),
        )
        return dict(zip(OUTLINE_FEATURES, values, strict=True))

    def _compare(self, a: Outline, b: Outline) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """By kind: similarity, NaN if both are empty; weights of shared items, and of the items of the lesser document.

        The weight of an item is the surprise of meeting it in another document of the site.
        """
        of_a = items_of(a)
        items, owners = _united(of_a, items_of(b))
        kinds = (items >> np.uint64(32)).astype(np.intp)
        supposed = _SUPPOSED[kinds]
        for below, share in _SMALL:
            supposed[items < below] = share
        others = np.maximum(self._frequency[_slots(items)] - owners.astype(np.float64), 0)
        rarity = -np.log((others + _VIRTUAL * supposed) / (max(self._seen - 2, 0) + _VIRTUAL))
        weights = np.maximum(rarity, 0)

        def of_kind(which: NDArray[np.bool_ | np.intp]) -> NDArray[np.float64]:
            return np.bincount(kinds[which], weights[which], len(KINDS)).astype(np.float64)

        shared = of_kind(owners == 2)
        in_a = of_kind(np.searchsorted(items, of_a))
        together = np.bincount(kinds, weights, len(KINDS))
        in_b = together + shared - in_a
        similarity = np.where(np.maximum(in_a, in_b) > _TRIFLE, shared / (together + _TRIFLE), np.nan)
        return similarity, shared, np.minimum(in_a, in_b)


@lru_cache(1024)
def items_of(outline: Outline) -> NDArray[np.uint64]:
    """Items of all kinds, each once; the kind is in the upper half, 0 for numbers. Not to be changed in place."""
    arrays = (outline.numbers, outline.names, outline.files, outline.lines)
    items = np.frombuffer(b"".join(arrays), dtype="<u4").astype(np.uint64)
    items |= np.repeat(np.arange(len(KINDS), dtype=np.uint64) << np.uint64(32), [len(array) // 4 for array in arrays])
    return np.unique(items)


def _united(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """The union of two sorted sets, and the number of sets with each item; faster than ``np.unique`` with counts."""
    both = np.concatenate((a, b))
    both.sort(kind="stable")
    again = np.zeros(len(both), dtype=bool)
    np.equal(both[1:], both[:-1], out=again[1:])
    items = both[~again]
    owners = np.ones(len(items), dtype=np.intp)
    owners[np.searchsorted(items, both[again])] = 2
    return items, owners


def _slots(items: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Fibonacci hashing, which spreads numbers that are near each other."""
    return (items * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - SLOT_BITS)).astype(np.intp)


def _length_ratio(a: Outline, b: Outline) -> float:
    """Logarithm of the ratio of the characters; short texts are left near 0."""
    return log((a.length + 20) / (b.length + 20))


def _paragraphs(a: Outline, b: Outline, ratio: float) -> float:
    """Similarity of line lengths in order, scaled to equal lengths: -1/2 to 1/2, times the log of the fewer lines."""
    shift = 2 * ratio / log(2)
    one, other = (np.frombuffer(outline.lengths, dtype=np.uint8) for outline in (a, b))
    levels = (np.round(lengths / 3).astype(np.int64).tolist() for lengths in (one - shift, other + shift))
    similarity = Indel.normalized_similarity(*levels)
    return float((similarity - 0.5) * log(max(1, min(len(one), len(other)))))


def _probability(log_odds: float, is_copy: bool) -> float:
    """At most 1/2 for an untranslated copy, which outlines cannot judge."""
    return logistic(min(log_odds, 0.0) if is_copy else log_odds)


Line = TypeVar("Line", bound=Hashable)


def common_shares(one: Mapping[Line, float], other: Mapping[Line, float]) -> tuple[float, float]:
    """Share of each of two texts, lines with their characters, whose lines the other has, too; 0 of an empty text."""
    same = sum(characters for line, characters in one.items() if line in other)
    return same / (sum(one.values()) or 1), same / (sum(other.values()) or 1)


def have_same_text(one: Mapping[Line, float], other: Mapping[Line, float]) -> bool:
    """Return whether two own texts are long enough to be compared, and the same."""
    return min(sum(one.values()), sum(other.values())) >= SHORTEST and min(common_shares(one, other)) >= SAME_TEXT


def is_copy(a: Outline, b: Outline) -> bool:
    """Whether the longest lines of one document are in the other one."""
    return max(common_shares(_lines_of(a), _lines_of(b))) >= SAME_TEXT


def is_same(a: Outline, b: Outline) -> bool:
    """Whether two documents have the same longest lines."""
    return min(common_shares(_lines_of(a), _lines_of(b))) >= SAME_TEXT


def _lines_of(outline: Outline) -> dict[int, float]:
    """Hash of a line -> its characters, about."""
    lines = np.frombuffer(outline.lines, dtype="<u4").tolist()
    return dict(zip(lines, (2 ** (length / 4) for length in outline.lengths), strict=True))
