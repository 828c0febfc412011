r"""What a word of a text is, in any script: ``\w`` has no combining marks, and cuts Indic and Thai words at them.
Where a script has no blanks between words, as Chinese and Thai, all between two blanks or signs is one word.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain, groupby

# Combining marks in ranges, without variation selectors, most of which follow symbols and digits.
_codes = chain(range(0x300, 0xFE00), range(0xFE20, 0x1F000))
_marks = (code for code in _codes if unicodedata.category(chr(code)) in ("Mn", "Mc"))
_runs = (list(run) for _, run in groupby(enumerate(_marks), lambda item: item[1] - item[0]))
_MARKS = "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in _runs)


def word_pattern(characters: str) -> str:
    r"""Return the pattern of a word that begins with one of *characters*, a pattern of one, such as ``\w``.

    The combining marks in and after the word, and the joiners beside them, belong to it.

    >>> import re
    >>> re.findall(word_pattern(r"[^\W_]"), "घर_की ab12")
    ['घर', 'की', 'ab12']
    """
    # the look-ahead is for speed: most words have no marks and end before a blank or an ASCII sign
    marked = rf"(?:[\u200c\u200d]?[{_MARKS}]++[\u200c\u200d]?{characters}*+)*+"
    return rf"{characters}++(?:(?![\0-\u02ff]){marked})?"


LETTERS = word_pattern(r"[^\W\d_]")  # pattern of a word without digits
SENTENCE_ENDS = tuple(".!?:;…。．！？：；؟۔।։።፡។៕။")  # signs that end a sentence or a part of it, in all scripts
# letters and signs of Chinese, Japanese and Korean, which are wide in Unicode (UAX 11)
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f"
    "\uff01-\uff60\uffe0-\uffe6\U00016fe0-\U0001b2fb\U00020000-\U0003fffd]+"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def western_digits(text: str) -> str:
    """Return *text* with digits from 0 to 9 for those of other scripts; each stays at its place.

    >>> western_digits("١٩٥٤, १९५४")
    '1954, 1954'
    """
    return text if text.isascii() else _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def is_wide(character: str) -> bool:
    """Whether *character* is a wide one of Chinese or Japanese."""
    return width_of(character) == 2 and not unicodedata.name(character, "").startswith("HANGUL")


def is_unspaced(character: str) -> bool:
    """Whether *character* is of a script that writes no blanks between words."""
    return is_wide(character) or unicodedata.name(character, "").startswith(("THAI", "LAO", "KHMER", "MYANMAR"))


def width_of(text: str) -> int:
    """The length of *text*, in which characters of Chinese, Japanese and Korean count twice."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _WIDE.findall(text)))


def count_words(text: str) -> float:
    """Return the number of words of *text*; without blanks, estimated by two letters (Chinese, Japanese) or four."""
    parts = text.split()
    return len(parts) if text.isascii() else sum(max(1.0, sum(map(_share_of_word, part))) for part in parts)


@lru_cache(maxsize=4096)
def _share_of_word(character: str) -> float:
    if not character.isalnum() or not is_unspaced(character):
        return 0.0
    return 0.5 if width_of(character) == 2 else 0.25
