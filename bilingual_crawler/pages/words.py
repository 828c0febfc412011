r"""What a word of a text is, in any script.

Python's ``\w`` has no combining marks, and cuts Indic and Thai words and vocalised Arabic at their vowel signs. Chinese,
Japanese, Thai, Lao, Khmer and Burmese have no blanks between words: all between two blanks or signs is one word there.
"""

from __future__ import annotations

import re
import unicodedata

# Without variation selectors, most of which follow symbols and digits.
_MARKS = "".join(
    char
    for char in map(chr, (*range(0x300, 0xFE00), *range(0xFE20, 0x1F000)))
    if unicodedata.category(char) in ("Mn", "Mc")
)


def word_pattern(characters: str) -> str:
    r"""Return the pattern of a word that begins with one of *characters*, a pattern of one, such as ``\w``.

    The combining marks in and after the word, and the joiners beside them, belong to it.

    >>> re.findall(word_pattern(r"[^\W_]"), "घर_की ab12")
    ['घर', 'की', 'ab12']
    """
    # the look-ahead is for speed: most words have no marks and end before a blank or an ASCII sign
    marked = rf"(?:[\u200c\u200d]?[{_MARKS}]++[\u200c\u200d]?{characters}*+)*+"
    return rf"{characters}++(?:(?![\0-\u02ff]){marked})?"


LETTERS = word_pattern(r"[^\W\d_]")
"""Pattern of a word without digits."""
