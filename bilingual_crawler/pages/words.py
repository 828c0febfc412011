r"""What a word of a text is, in any script: ``\w`` has no combining marks, and cuts Indic and Thai words at them.
Where a script has no blanks between words, as Chinese and Thai, all between two blanks or signs is one word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def _in_ranges(characters: Iterable[str]) -> str:
    runs = (list(run) for _, run in groupby(enumerate(characters), lambda item: ord(item[1]) - item[0]))
    return "".join(f"{run[0][1]}-{run[-1][1]}" for run in runs)


# Without variation selectors, most of which follow symbols and digits.
_MARKS = _in_ranges(
    char
    for char in map(chr, (*range(0x300, 0xFE00), *range(0xFE20, 0x1F000)))
    if unicodedata.category(char) in ("Mn", "Mc")
)


def word_pattern(characters: str) -> str:
    r"""Return the pattern of a word of *characters* (of one, such as ``\w``), with combining marks and joiners.

    >>> import re
    >>> re.findall(word_pattern(r"[^\W_]"), "घर_की ab12")
    ['घर', 'की', 'ab12']
    """
    # the look-ahead is for speed: most words have no marks and end before a blank or an ASCII sign
    marked = rf"(?:[\u200c\u200d]?[{_MARKS}]++[\u200c\u200d]?{characters}*+)*+"
    return rf"{characters}++(?:(?![\0-\u02ff]){marked})?"


LETTERS = word_pattern(r"[^\W\d_]")  # pattern of a word without digits
SENTENCE_ENDS = tuple(".!?:;…。．！？：；؟۔।։።፡។៕။")  # signs that end a sentence or a part of it, in all scripts
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def western_digits(text: str) -> str:
    """Return *text* with digits from 0 to 9 for those of other scripts; each stays at its place.

    >>> western_digits("١٩٥٤, १९५४")
    '1954, 1954'
    """
    return text if text.isascii() else _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def is_unspaced(character: str) -> bool:
    """Whether *character* is of a script that writes no blanks between words."""
    if unicodedata.east_asian_width(character) in "WF":
        return not unicodedata.name(character, "").startswith("HANGUL")
    return unicodedata.name(character, "").startswith(("THAI", "LAO", "KHMER", "MYANMAR"))


def count_words(text: str) -> float:
    """Return the number of words of *text*; without blanks, estimated by two letters (Chinese, Japanese) or four."""
    parts = text.split()
    return len(parts) if text.isascii() else sum(max(1.0, sum(map(_share_of_word, part))) for part in parts)


@lru_cache(maxsize=4096)
def _share_of_word(character: str) -> float:
    if not character.isalnum() or not is_unspaced(character):
        return 0.0
    return 0.5 if unicodedata.east_asian_width(character) in "WF" else 0.25


MAX_CHARACTERS = 100_000  # characters of a text that are read
SAMPLE = 4  # one in so many sequences is in the sample of a page

_WORD = re.compile(LETTERS)
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)  # odd, and different: order counts


def sequences(text: str, url: str = "") -> NDArray[np.uint32]:
    """Return the different hashes of word triples, sorted, without words of *url*, which error pages repeat."""
    return np.unique(_hashes(text, url))


def sample_of(text: str) -> bytes:
    """Return the sample of the sequences of *text*: an array of 32-bit numbers, 4 bytes for every fourth word."""
    found = _hashes(text)
    return bytes(np.unique(found[found % SAMPLE == 0]))


def _hashes(text: str, url: str = "") -> NDArray[np.uint32]:
    skipped = frozenset(_WORD.findall(url.lower()))
    words = _WORD.findall(text[:MAX_CHARACTERS].lower())
    if skipped:
        words = [word for word in words if word not in skipped]
    codes = np.fromiter(map(crc32, " ".join(words).encode("utf-8", "replace").split()), dtype=np.uint32)
    hashes: NDArray[np.uint32] = codes[:-2] * _FACTORS[0] + codes[1:-1] * _FACTORS[1] + codes[2:] * _FACTORS[2]
    return hashes
