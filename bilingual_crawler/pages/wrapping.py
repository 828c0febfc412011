"""Join the lines of a paragraph that ``<br>`` breaks in mid-sentence.

In wrapped text the first word of a line had no room on the line before, sentences go on over breaks, and the last line
is shorter. Lines of verse are alike, but often end with a sign and seldom with a short word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from bilingual_crawler.pages.words import SENTENCE_ENDS, is_unspaced, width_of

# Widths are in columns, of which wide characters (Chinese, Japanese, Korean) take two.
NARROW = 36  # width under which text is not taken for wrapped: most lines of verse are as short
WIDE = 60  # width from which lines are hardly verse, and may be wrapped by a program that knows the widths of letters
_TOLERANCE = 0.85  # share of the width that a line of wide text has at least, with the first word of the next line
_SHORT = 0.85  # share of the width that the last line of a paragraph seldom has
_PHRASE = 20  # width from which a line in a script without blanks is a part of a sentence rather than verse or an entry
_NEXT_WORD = 4  # width of what stays together at the beginning of a line of Chinese or Japanese
_NEXT_PHRASE = 10  # the same for Thai, Lao, Khmer and Burmese

_CLOSERS = "\"'»”’)]」』）"
_OPENERS = "\"'«“„‘(¿¡[「『（"
_PAUSES = tuple(",،、，–—")
_HYPHENS = ("-", "\u2010")
SUSPENDED = frozenset(("and", "or", "und", "oder", "bzw.", "och", "eller", "og", "en", "of"))
"""Words after a hyphen that stands for a part of the next word (``Vor- und Nachteile``)."""
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_STOP = re.compile(r"[^\W\d_]{3}[.!?。！？؟۔।] ?\w")  # the end of a sentence inside a line, which is rare in verse


class _Break(NamedTuple):
    """The place between two lines."""

    is_full: bool  # whether the first word of the next line had no room
    is_open: bool  # whether the line ends without a sign that ends a sentence
    is_signed: bool  # whether the line ends with a sign of any kind, but for a hyphen
    is_after_short: bool  # whether the line ends with a short word in small letters, often an article or a preposition
    goes_on: bool  # whether the next line begins with a small letter, or in a script that has no capitals


def unbroken(lines: Sequence[str], breaks: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return *lines* with the parts of a sentence joined, and for each the index of its first line.

    *breaks*: indices, in order, of the lines before which there is one ``<br>`` and nothing else.
    """
    joined = {index for run in _runs(breaks) for index in _continued(lines, run)}
    if not joined:
        return list(lines), list(range(len(lines)))
    known: Counter[str] = Counter()
    if any(lines[index - 1].endswith(_HYPHENS) for index in joined):
        known.update(_HYPHENATED.findall("\n".join(lines).lower()))
    parts: list[list[str]] = []
    first: list[int] = []
    for index, line in enumerate(lines):
        if index in joined:
            _append(parts[-1], line, known)
        else:
            parts.append([line])
            first.append(index)
    return ["".join(some) for some in parts], first


def _runs(breaks: Sequence[int]) -> Iterator[range]:
    """Ranges of lines with one break between each two."""
    for _, run in groupby(enumerate(breaks), lambda item: item[1] - item[0]):
        indices = [index for _, index in run]
        yield range(indices[0] - 1, indices[-1] + 1)


def _continued(lines: Sequence[str], run: range) -> Iterator[int]:
    """The indices of the lines in *run* that continue the line before."""
    rows = [lines[index] for index in run]
    widths = list(map(width_of, rows))
    room = max(widths) * (1 if max(widths) < WIDE else _TOLERANCE)
    breaks = [
        _break_between(row, following, width + 1 + _first_width(following) > room)
        for (row, following), width in zip(pairwise(rows), widths, strict=False)
    ]
    # Thai and Lao end sentences without a sign
    is_unsigned = len(breaks) > 1 and unicodedata.name(rows[-1][-1], "").startswith(("THAI", "LAO"))
    ends = is_unsigned or not _is_open(rows[-1])
    is_wrapped = _is_wrapped(rows, widths, breaks, ends)
    for index, one, (row, following), width in zip(run[1:], breaks, pairwise(rows), widths, strict=False):
        if is_wrapped:
            goes_on = one.is_full or (one.is_open and one.goes_on)
        elif row.endswith(_HYPHENS):
            goes_on = one.goes_on and width >= _PHRASE and row[-2].isalpha()
        else:
            goes_on = ends and one.is_open and one.goes_on and _is_stray(row, following, width, len(rows))
        if goes_on:
            yield index


def _is_wrapped(rows: Sequence[str], widths: Sequence[int], breaks: Sequence[_Break], ends: bool) -> bool:
    """Whether *rows* are wrapped at the width of the widest; *ends*: whether the last of them ends a sentence."""
    is_wide = max(widths) >= WIDE
    opened = [one for one in breaks if one.is_open]
    goes_on = any(one.goes_on for one in opened)
    if max(widths) < NARROW or not opened or not (ends or (goes_on and (is_wide or len(breaks) > 2))):
        return False
    full = sum(one.is_full for one in breaks)
    if 4 * full < 3 * len(breaks) or sum(not one.is_full for one in opened) > len(opened) // 5:
        return False
    points = sum(-1 if one.is_signed else one.goes_on + one.is_after_short for one in breaks)
    points += any(map(_STOP.search, rows))
    if widths[-1] < _SHORT * max(widths):
        points += 1
    elif not is_wide:
        points -= 1
    return points >= (1 if is_wide and goes_on else 2)


def _is_stray(row: str, following: str, width: int, rows: int) -> bool:
    """Whether a break between *row* and *following* is within a sentence in text that is not wrapped."""
    if is_unspaced(following[0]):
        return width >= _PHRASE and (row.endswith(_PAUSES) or (rows == 2 and row[-1].isalpha()))
    return following[0].islower() and width >= (NARROW if rows == 2 else WIDE)


def _break_between(row: str, following: str, is_full: bool) -> _Break:
    is_open = _is_open(row)
    last = row.rpartition(" ")[2]
    first = following.lstrip(_OPENERS)[:1]
    return _Break(
        is_full,
        is_open,
        not is_open or row.endswith(_PAUSES),
        len(last) <= 3 and last.isalpha() and last.islower(),
        first.isalpha() and not (first.isupper() or first.istitle()),
    )


def _is_open(row: str) -> bool:
    return not row.rstrip(_CLOSERS).endswith(SENTENCE_ENDS)


def _first_width(row: str) -> int:
    if is_unspaced(row[0]):
        return _NEXT_WORD if width_of(row[0]) == 2 else _NEXT_PHRASE
    return width_of(row.partition(" ")[0])


def _append(parts: list[str], row: str, known: Counter[str]) -> None:
    """Append *row* to the *parts* of a line; *known*: how often the page has each word."""
    last = parts[-1]
    if last.endswith(_HYPHENS) and last[-2:-1].isalpha() and row.partition(" ")[0] not in SUSPENDED:
        if row[0].isalpha() and row[0].islower() and not _is_compound(last, row, known):
            parts[-1] = last[:-1]
        parts.append(row)
    else:
        parts.append(row if is_unspaced(last[-1]) and is_unspaced(row[0]) else f" {row}")


def _is_compound(row: str, following: str, known: Counter[str]) -> bool:
    """Whether the word that goes on after the hyphen at the end of *row* is written with it."""
    first, second = _HYPHENATED.findall(row.lower())[-1], _HYPHENATED.findall(following.lower())[0]
    if known[f"{first}-{second}"] or known[f"{first}{second}"]:
        return known[f"{first}-{second}"] >= known[f"{first}{second}"]
    # each of them is there once because of the break
    return known[first] > 1 and known[second] > 1
