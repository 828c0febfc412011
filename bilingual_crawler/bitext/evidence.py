"""The evidence for beads: lengths, numbers, names, a lexicon learnt from the documents, and sentence vectors."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bilingual_crawler.bitext.beads import LARGEST, SHAPES, BeadScores, sums
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.encoders.base import Encoder
from bilingual_crawler.pages.words import LETTERS, is_unspaced, western_digits, width_of

MIN_COUNT = 3  # minimum sentence pairs in which two words co-occur to count as translations
MIN_DICE = 0.3
MAX_PRODUCTS = 100_000
"""Word pairs of a sentence pair that teaches the lexicon. A list of thousands of words tells nothing."""
MAX_WORD_PAIRS = 5_000_000  # distinct word pairs that are counted, some 100 bytes each
_WORD = re.compile(rf"[ァ-ヺー]+|(?:(?![ァ-ヺー]){LETTERS})|\d+")
_NAME_LENGTH = 4
_KEPT_WORD, _ALIKE_WORD = 0.6, 0.15
"""Probability that a number or name is in the translation of a sentence, and that a translation sounds like its word.
"""
_DIGIT = re.compile(r"\d")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,’'\u00a0\u202f ]\d{3})+(?!\d)")
_AFTERNOON = re.compile(r"\b(\d{1,2})(?=(?:[.:]\d\d)?\s?[pP]\.?\s?[mM]\b)")
_ROMAN = re.compile(
    r"\b(?=(?:[IVX]{2,}|[MDCLXVI]{4,})\b)M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})(?<=\w)\b"
)
_VALUES = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000), strict=True))
_CLASSES = str.maketrans("bpfvckgqjxzsdtlrmn", "ppppkkkkksssttlrmn", "aeiouyhw")
SOUNDS = 4  # consonants by which words are alike
_KATAKANA = frozenset(map(chr, range(0x30A1, 0x30FD)))

Words = tuple[str, ...]
Windows: TypeAlias = "tuple[NDArray[np.float32], NDArray[np.float32]]"
TOKENS = 64  # tokens of a sentence that are read
SAMPLE, FEWEST = 1_000, 20
"""Maximum and minimum sentences of each side from which the common part of a site's vectors is estimated."""
LEAST_SPREAD = 0.05
LENGTH_SPREAD = 0.2
"""Standard deviation of the logarithm of the length ratio of translations (Gale and Church 1993 model the same)."""
LENGTH_OFFSET = 8  # characters added to lengths, as short sentences differ more
MAX_EVIDENCE = 8.0
MIN_CLOSENESS = -6.0
MISSING_NUMBER = -1.5  # log-odds of a number that only one side has
MAX_MISSING = 2
MAX_BEGINS = 0.95  # share of sentences that begin a line, beyond which the lines are sentences, as in prepared text
TOGETHER = 0.9
"""How much the beginnings of paragraphs depend on each other in translations: 0 not at all, 1 as far as possible."""
FEW = 0.02  # added to probabilities of place, as they are estimates
CLOSENESS = 1.2  # log-odds of one standard deviation of similarity by the encoder
USUAL_NEARNESS = 2.5  # standard deviations above chance from which similarity is evidence for a bead
MERGED = -1.6  # log-odds of each sentence of a bead beyond one and one


@lru_cache(1 << 12)
def words(text: str) -> Words:
    """Distinct words and numbers of *text* in lower case, sorted. In scripts without blanks, pieces of some letters.

    Numbers are in the digits of English, without groups and zeros before, and in the 24-hour clock.

    >>> words("Open until 5 p.m., 1,200 seats, book IV"), words("圖書館")
    (('1200', '17', '4', 'book', 'm', 'open', 'p', 'seats', 'until'), ('圖書', '書館'))
    """
    found = set[str]()
    for token in _WORD.findall(_plain_numbers(western_digits(text))):
        if token.isdigit():
            found.add(token.lstrip("0"))
        elif token.isascii() or not is_unspaced(token[0]) or token[0] in _KATAKANA:
            found.add(token.lower())
        else:
            size, longest = (2, 2) if width_of(token[0]) == 2 else (4, 8)
            size = len(token) if len(token) <= longest else size
            found.update(token[start : start + size] for start in range(len(token) - size + 1))
    return tuple(sorted(found - {""}))


def _plain_numbers(text: str) -> str:
    text = _ROMAN.sub(lambda found: str(_roman(found[0])), text)
    if not _DIGIT.search(text):
        return text
    text = _GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    return _AFTERNOON.sub(lambda hour: str(int(hour[1]) % 12 + 12), text)


def _roman(numeral: str) -> int:
    values = [_VALUES[letter] for letter in numeral]
    return sum(-one if one < other else one for one, other in zip(values, [*values[1:], 0], strict=True))


@lru_cache(1 << 16)
def sound(word: str) -> str:
    """The first classes of consonants of *word*, in any script that has letters with names; empty if there are few.

    >>> sound("anchor"), sound("âncora"), sound("рональд"), sound("ronald")
    ('nkr', 'nkr', 'rnlt', 'rnlt')
    """
    plain = word if word.isascii() else "".join(map(_consonant, unicodedata.normalize("NFKD", word)))
    classes = plain.translate(_CLASSES)
    distinct = "".join(one for one, before in zip(classes, " " + classes, strict=False) if one != before)
    return distinct[:SOUNDS] if len(distinct) >= SOUNDS - 1 and not distinct.isdigit() else ""


@lru_cache(1 << 12)
def _consonant(letter: str) -> str:
    """The consonant of a letter by its Unicode name, as of CYRILLIC SMALL LETTER ER, HEBREW LETTER RESH."""
    if letter.isascii():
        return letter
    name = unicodedata.name(letter, "").partition(" LETTER ")[2].split(" WITH ")[0].split(" ")[-1].lower()
    name = "" if name in ("sign", "vav") else name  # vav is mostly a vowel
    # "er", "em"; but alef and ayin are vowels
    return name[1:] if len(name) == 2 and name[0] in "aeiou" else name[:1]


class Lexicon:
    """Log-odds by which a word predicts a word of the translation: log(P(b | a, translation) / P(b)).

    Equal numbers, longer equal words and words that sound alike (names, cognates) count from the start; other pairs are
    learnt from sentence pairs by Dice's coefficient (Melamed 2000). *shares_b* has for each word the share of the
    sentences of the second language that contain it.
    """

    def __init__(self, shares_b: Mapping[str, float]) -> None:
        self._shares_b = shares_b
        self._learnt: dict[str, dict[str, float]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._known: dict[str, Mapping[str, float]] = {}

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Words, Words]], shares_b: Mapping[str, float]) -> "Lexicon":
        """Learn the lexicon from sentence pairs, the first ones if there are too many."""
        together: Counter[tuple[str, str]] = Counter()
        first: Counter[str] = Counter()
        second: Counter[str] = Counter()
        for a, b in pairs:
            if len(a) * len(b) > MAX_PRODUCTS:
                continue
            if len(together) >= MAX_WORD_PAIRS:
                break
            first.update(a)
            second.update(b)
            together.update(product(a, b))
        lexicon = cls(shares_b)
        for (x, y), count in together.items():
            if count >= MIN_COUNT and 2 * count >= MIN_DICE * (first[x] + second[y]):
                gain = math.log(count / (first[x] + 1) / shares_b.get(y, 1.0))
                if gain > 0:
                    lexicon._counts[x, y] = count
                    lexicon._learnt.setdefault(x, {})[y] = gain
        return lexicon

    def translations(self, word: str) -> Mapping[str, float]:
        """The words of the second language that *word* predicts, with their log-odds."""
        if word not in self._known:
            self._known[word] = self._translations(word)
        return self._known[word]

    def _translations(self, word: str) -> Mapping[str, float]:
        found = dict(self._learnt.get(word, {}))
        share = self._shares_b.get(word)
        if share is not None and (word.isdigit() or len(word) >= _NAME_LENGTH):
            found.setdefault(word, max(0.0, math.log(_KEPT_WORD / share)))
        if word not in found and (alike := self._alike.get(sound(word))):
            gain = math.log(_ALIKE_WORD / min(1.0, sum(map(self._shares_b.__getitem__, alike))))
            if gain > 0:
                found = {**dict.fromkeys(alike, gain), **found}
        return found

    @cached_property
    def _alike(self) -> Mapping[str, Sequence[str]]:
        alike = defaultdict[str, list[str]](list)
        for word in self._shares_b:
            if found := sound(word):
                alike[found].append(word)
        return alike

    def coverage(self, a: Words, b: Words) -> tuple[float, float]:
        """Whether the words of *a* and *b* with known translations find them: -1 (none of many) to 1 (all of many)."""
        predicted = [self.translations(word) for word in a]
        b_set = set(b)
        known_b = self._translated | b_set.intersection(a)
        there = [not b_set.isdisjoint(found) for found in predicted if found]
        back = [any(word in found for found in predicted) for word in b if word in known_b]
        # half a word is found and half is not before anything is known
        share_a, share_b = ((2 * sum(found) - len(found)) / (len(found) + 1) for found in (there, back))
        return share_a, share_b

    def translated(self, a: Words, b: Words) -> dict[tuple[str, str], float]:
        """The words of *a* with their best translation in *b*, and its log-odds."""
        b_set, found = set(b), dict[tuple[str, str], float]()
        for word in a:
            predicted = self.translations(word)
            if there := b_set.intersection(predicted):
                best = max(there, key=predicted.__getitem__)
                found[word, best] = predicted[best]
        return found

    def count(self, pair: tuple[str, str]) -> float:
        """Sentence pairs that taught a pair of words; infinite if it was known before."""
        return self._counts.get(pair, math.inf)

    @cached_property
    def _translated(self) -> set[str]:
        """The words of the second language that are learnt translations."""
        return {word for found in self._learnt.values() for word in found}


class Nearness:
    """The similarity of consecutive sentences of two documents, by the sum of their vectors, in standard deviations.

    *a*, *b*: ``(sentences, width)``, rows of length 1; *spread*: standard deviation of the similarity by chance.
    """

    def __init__(self, a: NDArray[np.float32], b: NDArray[np.float32], spread: float) -> None:
        self._a, self._b = a, b
        self._spread = spread

    def window(self, start_a: int, start_b: int, size: int) -> "Nearness":
        return Nearness(self._a[start_a : start_a + size], self._b[start_b : start_b + size], self._spread)

    def similarity(self, p: int, q: int) -> NDArray[np.float32]:
        """The same of each *p* and *q* consecutive sentences, ``(n - p + 1, m - q + 1)``, by their first ones."""
        lengths_a, lengths_b = (_lengths(sums(side, size)) for side, size in ((self._a, p), (self._b, q)))
        return np.asarray(sums(sums(self._products, p).T, q).T / (lengths_a * self._spread) / lengths_b.T)

    @cached_property
    def _products(self) -> NDArray[np.float32]:
        return np.asarray(self._a @ self._b.T)

    def of(self, a: tuple[int, int], b: tuple[int, int]) -> float:
        """The same of the sentences in two half-open ranges."""
        one, other = (rows[slice(*places)].sum(axis=0) for rows, places in ((self._a, a), (self._b, b)))
        return float(one @ other / max(1e-9, np.linalg.norm(one) * np.linalg.norm(other)) / self._spread)


class Meaning:
    """Compares sentences after subtracting the common part of their site and language."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._common: list[NDArray[np.float32]] = []

    def estimate_common(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Estimate the common part from *a* and *b*, sentences of both sides of the whole site."""
        self._common = []
        if min(len(a), len(b)) < FEWEST:
            return
        vectors = [self._encoder.encode(_sample(side), TOKENS) for side in (a, b)]
        self._common = [side.mean(axis=0) for side in vectors]
        sample_a, sample_b = self._centred(vectors)
        by_chance = sample_a @ sample_b.T
        # some of these pairs are translations; the median absolute deviation is robust against them
        self._spread = max(LEAST_SPREAD, 1.4826 * float(np.median(np.abs(by_chance))))

    def nearness(self, a: Sequence[str], b: Sequence[str]) -> Nearness | None:
        """The comparison of two documents; None if the site has too few sentences."""
        if not self._common:
            return None
        vectors_a, vectors_b = self._centred([self._encoder.encode(side, TOKENS) for side in (a, b)])
        return Nearness(vectors_a, vectors_b, self._spread)

    def _centred(self, sides: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        return [_unit(side - common) for side, common in zip(sides, self._common, strict=True)]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / _lengths(rows))


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9)))


def _sample(sentences: Sequence[str]) -> Sequence[str]:
    """An evenly spaced sample, so that the same documents give the same sample."""
    return sentences[:: -(-len(sentences) // SAMPLE)]


def weigh(
    a: Sequence[Sentence],
    b: Sequence[Sentence],
    lexicon: Lexicon,
    nearness: Nearness | None = None,
    ratio: float = 1.0,
    has_paragraphs: bool = True,
) -> BeadScores:
    """Evidence for the sentences of two documents, each with at least one sentence; -inf across paragraphs.

    *ratio*: length of a translation in the second language, by the length of its original. *has_paragraphs*: whether
    the lines of the documents are paragraphs, not sentences.
    """
    words_a, words_b = [words(s.text) for s in a], [words(s.text) for s in b]
    by_words = _by_words(words_a, words_b, lexicon)
    numbers_a, numbers_b = ([frozenset(filter(str.isdigit, one)) for one in side] for side in (words_a, words_b))
    both = frozenset[str]().union(*numbers_a) & frozenset[str]().union(*numbers_b)
    windows_a, windows_b = (
        [_windows(side, both, size) for size in range(1, LARGEST)] for side in (numbers_a, numbers_b)
    )
    lengths_a, lengths_b = (np.array([len(s.text) for s in side], np.float32) for side in (a, b))
    spread = math.sqrt(np.log(lengths_a + LENGTH_OFFSET).var() + np.log(lengths_b + LENGTH_OFFSET).var())
    chance = max(spread, 1.2 * LENGTH_SPREAD)
    lengths_a *= ratio
    begins_a, begins_b = (_begins(side) if has_paragraphs else np.zeros(len(side), np.intp) for side in (a, b))
    by_place = _by_place(begins_a, begins_b)
    scores = {}
    for p, q in SHAPES:
        if p > len(a) or q > len(b):
            continue
        # normal density of the length ratio of translations over that of any two sentences of these documents
        expected = np.log(sums(lengths_a, p) + LENGTH_OFFSET)[:, None]
        squares = (np.log(sums(lengths_b, q) + LENGTH_OFFSET) - expected) ** 2
        score = np.asarray(math.log(chance / LENGTH_SPREAD) - squares * ((1 / LENGTH_SPREAD**2 - 1 / chance**2) / 2))
        score += np.minimum(MAX_EVIDENCE, sums(sums(by_words, p).T, q).T)
        (count_a, has_a), (count_b, has_b) = windows_a[p - 1], windows_b[q - 1]
        without_partner = np.maximum.outer(count_a, count_b) - has_a @ has_b.T
        score += MISSING_NUMBER * np.minimum(without_partner, MAX_MISSING)
        score += by_place[: len(a) - p + 1, : len(b) - q + 1]
        score += MERGED * (p + q - 2)
        if nearness:
            closeness = CLOSENESS * (nearness.similarity(p, q) - USUAL_NEARNESS)
            score += np.clip(closeness, MIN_CLOSENESS, MAX_EVIDENCE) * math.sqrt((p + q) / 2)
        score[_across(begins_a, p)] = -np.inf
        score[:, _across(begins_b, q)] = -np.inf
        scores[p, q] = score
    return scores


def _begins(side: Sequence[Sentence]) -> NDArray[np.intp]:
    """``(sentences,)``: 1 where a paragraph begins, else 0."""
    return np.array([n == 0 or s.paragraph != side[n - 1].paragraph for n, s in enumerate(side)], np.intp)


def have_paragraphs(sides: Iterable[Sequence[Sentence]]) -> bool:
    """Whether the lines of documents are paragraphs: one of twenty sentences at least is not the first of its line."""
    begins = np.concatenate([np.zeros(0, np.intp), *map(_begins, sides)])
    return bool(begins.size == 0 or begins.mean() <= MAX_BEGINS)


def _across(begins: NDArray[np.intp], size: int) -> NDArray[np.bool_]:
    """For each place whether the *size* sentences from there on span paragraphs."""
    return np.asarray(sums(begins, size) > begins[: len(begins) - size + 1])


def _by_place(begins_a: NDArray[np.intp], begins_b: NDArray[np.intp]) -> NDArray[np.float32]:
    """How much more often than by chance translations both begin a paragraph, or one, or neither."""
    share_a, share_b = begins_a.mean(), begins_b.mean()
    by_chance = np.outer((1 - share_a, share_a), (1 - share_b, share_b))
    more = TOGETHER * (min(share_a, share_b) - by_chance[1, 1])
    odds = np.log((by_chance + more * np.array(((1, -1), (-1, 1))) + FEW) / (by_chance + FEW))
    return np.asarray(odds[begins_a[:, None], begins_b], np.float32)


def _windows(sentences: Sequence[frozenset[str]], among: frozenset[str], size: int) -> Windows:
    """The count of numbers of each *size* consecutive sentences; ``(n - size + 1, numbers)``: 1 for those *among*."""
    columns = {number: column for column, number in enumerate(among)}
    beads = [frozenset[str]().union(*sentences[n : n + size]) for n in range(len(sentences) - size + 1)]
    has = np.zeros((len(beads), len(among)), np.float32)
    for row, numbers in zip(has, beads, strict=True):
        row[[columns[number] for number in numbers if number in columns]] = 1
    return np.array([*map(len, beads)], np.float32), has


def _by_words(a: Sequence[Words], b: Sequence[Words], lexicon: Lexicon) -> NDArray[np.float32]:
    """Sum over the words of one sentence of the log-odds of their best translation in the other."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for j, sentence in enumerate(b):
        for word in sentence:
            places[word].append(j)
    gains: dict[str, NDArray[np.float32]] = {}
    for word in {word for sentence in a for word in sentence}:
        best: dict[int, float] = {}
        for translation, gain in lexicon.translations(word).items():
            for j in places.get(translation, ()):
                best[j] = max(gain, best.get(j, 0.0))
        if best:
            gains[word] = np.zeros(len(b), np.float32)
            gains[word][[*best]] = [*best.values()]
    total = np.zeros((len(a), len(b)), np.float32)
    for row, sentence in zip(total, a, strict=True):
        for word in sentence:
            if word in gains:
                row += gains[word]
    return total
