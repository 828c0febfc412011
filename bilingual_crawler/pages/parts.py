"""Pages with the same text in two languages: side by side, one below the other, or paragraph by paragraph.

Most pages with two languages are translated in part, and their texts are no translations of each other. Two texts of
one page are, if their blocks can be aligned in order by length, numbers and names, and much better than in reverse.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import compress
from math import copysign, exp, log, log1p, sqrt
from typing import TYPE_CHECKING, NamedTuple

from bilingual_crawler.languages.codes import UNKNOWN
from bilingual_crawler.pages.model import MAX_LINES
from bilingual_crawler.pages.words import western_digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bilingual_crawler.pages.language import Detection
    from bilingual_crawler.pages.walk import Walk

MIN_SHARE = 0.2
"""Share of the text, by characters, that each language has at least."""
GLANCE = 1000
"""Characters of each half of the text that are identified first, as few pages have a second language."""
MIN_CHARACTERS = 150
"""Characters of the blocks of each language."""
MIN_LETTERS = 20
"""Letters of a line for its language to be identified."""
MAX_IDENTIFIED = 2000
"""Lines of a page that are identified one by one: it takes a third of a second, and a page may take little over one."""
MAX_BLOCKS = 60
"""Blocks of each language that are aligned."""
MIN_PROBABILITY = 0.65
"""Probability from which the two texts are taken for translations."""

INTERCEPT = -4.892
WEIGHTS = (0.304, 0.875, 2.264, 1.635, -0.116, 2.320, -0.557, 1.402, 0.338)
"""Of :func:`features`; ``python -m benchmarks.bilingual_pages --fit`` gives them."""

_GAP = -0.5
"""Log-odds of a block without a counterpart."""
_MERGED = -0.7
"""Log-odds of two blocks for one."""
_SHAPES = ((1, 1), (2, 1), (1, 2))
_RATIOS = (0.6, 1.7)
"""Range of the length ratio of translations."""
_SHORT = 8
"""Characters added to lengths, as short blocks differ more."""
_PREFIX = 5
"""Letters of a name that count, as many languages inflect names."""
_WORD = re.compile(r"\w+")


class Part(NamedTuple):
    """The text of a page in one of its two languages."""

    language: str
    """ISO 639-3"""
    lines: tuple[str, ...]


class Lines(NamedTuple):
    """The lines of a page outside navigation, and the language in the ``lang`` attribute of each (ISO 639-3 or None).

    All lines if all are in navigation.
    """

    texts: Sequence[str]
    declared: Sequence[str | None]

    @classmethod
    def from_walk(cls, walk: Walk) -> Lines:
        """Return the first 50,000 lines of the page that *walk* has visited."""
        lines, declared = walk.lines[:MAX_LINES], walk.declared[:MAX_LINES]
        if not any(walk.main):
            return cls(lines, declared)
        return cls(list(compress(lines, walk.main)), list(compress(declared, walk.main)))

    @classmethod
    def from_text(cls, text: str) -> Lines:
        """Return the lines of *text*, of which nothing is declared."""
        lines = text.split("\n")
        return cls(lines, [None] * len(lines))


class Split(NamedTuple):
    """The texts of a page in its two languages."""

    longer: Part
    shorter: Part
    changes: int
    """Changes of the language from block to block."""


def parts_of(lines: Lines, detection: Detection) -> tuple[Part, Part] | None:
    """Return the two texts of a page if they are translations of each other, the longer first; else None.

    A page with more than 2,000 lines whose languages are not declared is one document.
    """
    undeclared = (text for text, named in zip(lines.texts, lines.declared, strict=True) if named is None)
    if sum(map(_has_letters, undeclared)) > MAX_IDENTIFIED:
        return None
    if not any(lines.declared) and not _may_have_two(lines.texts, detection):
        return None
    split = split_by_language(lines, detection)
    return (split.longer, split.shorter) if split and probability(split) >= MIN_PROBABILITY else None


def split_by_language(lines: Lines, detection: Detection) -> Split | None:
    """Return the texts of a page in its two languages; None if the shorter is under 20 %.

    A line has the language that is declared for it, or else the one identified. A line that is too short for that has
    the language of its neighbours, if they agree.
    """
    found = [
        named or (detection.identify(text).language if _has_letters(text) else None)
        for text, named in zip(lines.texts, lines.declared, strict=True)
    ]
    characters: Counter[str] = Counter()
    for line, language in zip(lines.texts, found, strict=True):
        if language is not None:
            characters[language] += len(line)
    two = characters.most_common(2)
    if len(two) < 2 or two[1][1] < max(MIN_SHARE * characters.total(), MIN_CHARACTERS):
        return None
    blocks = [language for language in found if language in dict(two)]
    filled = list(_filled([language if language in dict(two) else None for language in found]))
    one, other = (
        Part(name, tuple(line for line, language in zip(lines.texts, filled, strict=True) if language == name))
        for name, _ in two
    )
    return Split(one, other, sum(map(str.__ne__, blocks, blocks[1:])))


def _may_have_two(texts: Sequence[str], detection: Detection) -> bool:
    """Whether halves of the text are in different languages: its beginning and end, every other line or pair of lines.

    The whole text does not tell: CLD2 takes paragraphs in turns for one language.
    """
    legible = list(filter(_has_letters, texts))
    if sum(map(len, legible)) < 2 * MIN_CHARACTERS:
        return False
    middle = (len(legible) + 1) // 2
    found = set()
    for size in (1, 2, middle):
        for side in (0, 1):
            half = [text for place, text in enumerate(legible) if place // size % 2 == side]
            found.add(detection.identify("\n".join(half)[:GLANCE]).language)
    return len(found - {UNKNOWN}) > 1


def _has_letters(line: str) -> bool:
    # most lines show it at their beginning
    return any(sum(map(str.isalpha, part)) >= MIN_LETTERS for part in (line[: 2 * MIN_LETTERS], line))


def _filled(languages: Sequence[str | None]) -> Iterator[str | None]:
    """*languages* with that of both neighbours for lines between two of one language, else None."""
    before, after = _latest(languages), _latest(languages[::-1])[::-1]
    for language, last, following in zip(languages, before, after, strict=True):
        yield language or (last if last == following else None)


def _latest(languages: Sequence[str | None]) -> list[str | None]:
    """For each place the last language up to it."""
    found: list[str | None] = []
    for language in languages:
        found.append(language or (found[-1] if found else None))
    return found


def probability(split: Split) -> float:
    """Return P(translations) of the two texts of a page."""
    values = features(split)
    return 0.0 if values is None else 1 / (1 + exp(-INTERCEPT - sum(map(float.__mul__, WEIGHTS, values))))


def features(split: Split) -> tuple[float, ...] | None:
    """Return what tells whether two texts of a page are translations; None if one of them is too short.

    Log-odds of the best alignment of their blocks, by the blocks of the text with fewer; how much better it is than the
    alignment with the second text in reverse, on a logarithmic scale; shares of both texts that align, the lower first;
    the logarithm of the blocks; the logarithms of the ratios of characters and of blocks, as negative numbers; the
    share of blocks after which the language changes; 1 if it changes once, else 0.
    """
    blocks = [[line for line in part.lines if _has_letters(line)] for part in split[:2]]
    a, b = (side[:MAX_BLOCKS] for side in blocks)
    lengths = sum(map(len, a)), sum(map(len, b))
    if min(lengths) < MIN_CHARACTERS:
        return None
    total, matched = _align(a, b)
    lead = total - _align(a, b[::-1])[0]
    shares = (
        sum(len(side[place]) for place in places) / length
        for side, places, length in zip((a, b), matched, lengths, strict=True)
    )
    fewer = min(len(a), len(b))
    ratio = -abs(log(lengths[0] / lengths[1]))
    return (
        total / fewer,
        copysign(log1p(abs(lead)), lead),
        *sorted(shares),
        log(fewer),
        ratio,
        -abs(log(len(a) / len(b))),
        split.changes / sum(map(len, blocks)),
        float(split.changes == 1),
    )


def _align(a: Sequence[str], b: Sequence[str]) -> tuple[float, tuple[list[int], list[int]]]:
    """The log-odds of the best alignment of two lists of blocks, and the places of the blocks that align well."""
    evidence = _Evidence(a, b)
    n, m = len(a), len(b)
    sums = [[0.0] * (m + 1) for _ in range(n + 1)]
    moves = [[(0, 0)] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i == j == 0:
                continue
            best = []
            if i:
                best.append((sums[i - 1][j] + _GAP, (1, 0)))
            if j:
                best.append((sums[i][j - 1] + _GAP, (0, 1)))
            best += [
                (sums[i - p][j - q] + evidence.log_odds(i - p, p, j - q, q), (p, q))
                for p, q in _SHAPES
                if i >= p and j >= q
            ]
            sums[i][j], moves[i][j] = max(best)
    matched: tuple[list[int], list[int]] = ([], [])
    i, j = n, m
    while i or j:
        p, q = moves[i][j]
        if p and q and sums[i][j] > sums[i - p][j - q]:
            matched[0].extend(range(i - p, i))
            matched[1].extend(range(j - q, j))
        i, j = i - p, j - q
    return sums[n][m], matched


class _Evidence:
    """Lengths, and numbers and names with their weights, of the blocks of two texts."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        self._a, self._b = list(map(len, a)), list(map(len, b))
        low, high = _RATIOS
        self._ratio = max(low, min(high, sum(self._b) / sum(self._a)))
        items_a, items_b = list(map(_items, a)), list(map(_items, b))
        having = Counter(item for items in (*items_a, *items_b) for item in items)
        most = len(a) + len(b) + 2
        weight = {item: max(0.0, min(2.5, log(most / (count + 1)))) for item, count in having.items()}
        both = [[one & other for other in items_b] for one in items_a]
        self._weight = [[sum(weight[item] for item in shared) for shared in row] for row in both]
        self._numbers = [[sum(map(str.isdigit, shared)) for shared in row] for row in both]
        self._numbers_a, self._numbers_b = (
            [sum(map(str.isdigit, items)) for items in side] for side in (items_a, items_b)
        )

    def log_odds(self, i: int, p: int, j: int, q: int) -> float:
        """Of *p* blocks of the first text from *i* on and *q* of the second from *j* on."""
        rows, columns = range(i, i + p), range(j, j + q)
        expected = self._ratio * sum(self._a[row] for row in rows)
        length = sum(self._b[column] for column in columns)
        deviation = 0.2 + 1.5 / sqrt(min(expected, length) + _SHORT)
        off = log((length + _SHORT) / (expected + _SHORT)) / deviation
        shared = sum(self._weight[row][column] for row in rows for column in columns)
        numbers = sum(self._numbers[row][column] for row in rows for column in columns)
        missing = sum(self._numbers_a[row] for row in rows) + sum(self._numbers_b[column] for column in columns)
        return (
            -0.5 * off * off
            - log(deviation)
            - 0.5
            + min(4.0, shared)
            - max(0.0, min(2.0, 0.7 * (missing - 2 * numbers)))
            + (_MERGED if p + q > 2 else 0.0)
        )


def _items(block: str) -> frozenset[str]:
    """Numbers, words with digits, and the beginnings of words with capitals."""
    found = set()
    for word in _WORD.findall(western_digits(block)):
        lower = word.lower()
        if word.isdigit():
            found.update([word] if len(word) > 1 else [])
        elif not word.isalpha():
            found.add(lower)
        elif lower != word and len(word) > 2:
            found.add(lower[:_PREFIX])
    return frozenset(found)
