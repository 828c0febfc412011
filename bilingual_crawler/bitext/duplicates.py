"""Repetitions among millions of sentence pairs: the best pair stays, the others are named with their reason."""

import itertools
import re
import tempfile
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

from bilingual_crawler.languages.scripts import script_of
from bilingual_crawler.pages.words import word_pattern
from bilingual_crawler.storage.warc import text_key

PERMUTATIONS = 64
BAND = 4  # values of a signature that must agree for two sentence pairs to be compared
NEAR_DUPLICATE_SENTENCES = 0.8  # estimated Jaccard similarity of the words and neighbouring words of both sides
SEED = 1
BATCH = 1000  # sentence pairs whose signatures are computed or compared together
MAX_WORDS = 200
REASONS = ("", "duplicate", "near_duplicate", "repeated")
_, DUPLICATE, NEAR_DUPLICATE, REPEATED = range(4)
_WORD = re.compile(word_pattern(r"[^\W_]"))
_DIGITS = re.compile(r"\d+")


def normal(text: str) -> str:
    """*text* without what near-duplicates differ in: case, digits, punctuation and the width of letters.

    >>> normal("Chapter 12: The  End!")
    'chapter 0 the end'
    """
    return " ".join(_WORD.findall(_DIGITS.sub("0", unicodedata.normalize("NFKC", text).casefold())))


class Duplicates:
    """The sentence pairs of a bitext in order, and which of them repeat others.

    Editions in two scripts, such as Simplified and Traditional Chinese of one English sentence, repeat nothing. A pair
    takes 44 bytes of memory, and 256 bytes of an unnamed temporary file.
    """

    def __init__(self) -> None:
        self._same, self._alike, self._a, self._b, self._scripts = (array("Q") for _ in range(5))
        self._qualities = array("f")
        self._waiting: list[list[str]] = []
        self._signatures = tempfile.TemporaryFile(prefix="bilingual-signatures-")  # noqa: SIM115

    def add(self, a: str, b: str, quality: float) -> None:
        """Add a sentence pair; of several the one with the highest *quality* stays, and of those the first."""
        sides = normal(a), normal(b)
        self._same.append(text_key(f"{_folded(a)}\t{_folded(b)}"))
        self._alike.append(text_key("\t".join(sides)))
        # without a word or number there is nothing to repeat but the characters
        self._a.append(text_key(sides[0] or _folded(a)))
        self._b.append(text_key(sides[1] or _folded(b)))
        self._scripts.append(text_key(f"{script_of(a)}\t{script_of(b)}"))
        self._qualities.append(quality)
        self._waiting.append([token for mark, side in zip("ab", sides, strict=True) for token in _tokens(mark, side)])
        if len(self._waiting) == BATCH:
            self._flush()

    def reasons(self) -> list[str]:
        """Return for each pair why it is dropped: ``duplicate``, ``near_duplicate``, ``repeated``, or empty."""
        found = np.zeros(len(self._qualities), np.uint8)
        # best first, then in order
        ranked = np.argsort(-np.frombuffer(self._qualities, np.float32), kind="stable")
        for keys, reason in ((self._same, DUPLICATE), (self._alike, NEAR_DUPLICATE)):
            repeated = _later(np.frombuffer(keys, np.uint64)[ranked])
            found[ranked[repeated]] = reason
            ranked = ranked[~repeated]
        repeated = self._repeated_sides(ranked)
        found[ranked[repeated]] = REPEATED
        ranked = ranked[~repeated]
        found[ranked[self._similar(ranked)]] = NEAR_DUPLICATE
        return [REASONS[reason] for reason in found.tolist()]

    def _repeated_sides(self, ranked: NDArray[np.intp]) -> NDArray[np.bool_]:
        """A mask ``(ranked,)`` of the pairs one side of which a better pair has that stays."""
        scripts = np.frombuffer(self._scripts, np.uint64)[ranked]
        a, b = (np.frombuffer(keys, np.uint64)[ranked] ^ scripts for keys in (self._a, self._b))
        repeated = np.zeros(len(ranked), np.bool_)
        taken_a, taken_b = set[int](), set[int]()
        for place in np.flatnonzero(_shared(a) | _shared(b)):
            one, other = int(a[place]), int(b[place])
            if one in taken_a or other in taken_b:
                repeated[place] = True
            else:
                taken_a.add(one)
                taken_b.add(other)
        return repeated

    def _similar(self, ranked: NDArray[np.intp]) -> NDArray[np.bool_]:
        """A mask ``(ranked,)`` of the pairs that are similar to a better pair that stays."""
        self._flush()
        dropped = np.zeros(len(ranked), np.bool_)
        if not len(ranked):
            return dropped
        signatures = np.memmap(self._signatures, np.uint32, "r", shape=(len(self._qualities), PERMUTATIONS))
        scripts = np.frombuffer(self._scripts, np.uint64)[ranked]
        better: defaultdict[int, list[int]] = defaultdict(list)
        for start in range(0, PERMUTATIONS, BAND):
            halves = np.ascontiguousarray(signatures[:, start : start + BAND][ranked]).view(np.uint64)
            band = (halves[:, 0] * np.uint64(0x9E3779B97F4A7C15) + halves[:, 1]) ^ scripts
            for place, leader in _similar_in_band(band, signatures, ranked):
                better[place].append(leader)
        for place in sorted(better):
            dropped[place] = not all(dropped[leader] for leader in better[place])
        return dropped

    def _flush(self) -> None:
        rows = RMinHash.digest_matrix_from_token_sets(self._waiting, PERMUTATIONS, SEED).to_rows()
        self._signatures.seek(0, 2)
        self._signatures.write(np.array(rows, np.uint32).tobytes())
        self._signatures.flush()
        self._waiting.clear()


def _similar_in_band(
    band: NDArray[np.uint64], signatures: NDArray[np.uint32], ranked: NDArray[np.intp]
) -> Iterator[tuple[int, int]]:
    """Yield each place in *ranked* whose signature resembles that of the best place with the same value of *band*."""
    _, first, group = np.unique(band, return_index=True, return_inverse=True)
    leaders = first[group.ravel()]
    followers = np.flatnonzero(leaders != np.arange(len(ranked)))
    for start in range(0, len(followers), BATCH):
        some = followers[start : start + BATCH]
        same = signatures[ranked[some]] == signatures[ranked[leaders[some]]]
        similar = some[same.mean(axis=1) >= NEAR_DUPLICATE_SENTENCES]
        yield from zip(similar.tolist(), leaders[similar].tolist(), strict=True)


def _later(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """A mask of the keys that are there before."""
    later = np.ones(len(keys), np.bool_)
    later[np.unique(keys, return_index=True)[1]] = False
    return later


def _shared(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """A mask of the keys that are there several times."""
    _, group, count = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(count[group.ravel()] > 1)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _tokens(mark: str, side: str) -> Sequence[str]:
    """The words and neighbouring words of *side*, with the *mark* of the side."""
    words = side.split()[:MAX_WORDS]
    return [f"{mark} {word}" for word in words] + [f"{mark} {w} {v}" for w, v in itertools.pairwise(words)]
