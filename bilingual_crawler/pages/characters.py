"""Which characters of foreign text are kept: no control, format or other invisible characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Controls except blanks, lone surrogates, noncharacters, and format characters that no script needs: soft hyphens,
# zero-width spaces, marks of direction, tags.
_INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff"
    "\ufdd0-\ufdef\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]+"
)
_JOINERS = re.compile("[\u200c\u200d]+")


def one_line(text: str) -> str:
    """*text* on one line, with blanks collapsed, without invisible characters and without those that change how others
    are shown.

    Zero-width joiners and non-joiners stay where they change letters or emoji: beside letters that are written from
    right to left, beside combining marks, and between symbols.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return " ".join(_JOINERS.sub(_needed_joiner, _INVISIBLE.sub("", line)).split())


def _needed_joiner(match: re.Match[str]) -> str:
    start, end = match.span()
    before, after = match.string[start - 1 : start], match.string[end : end + 1]
    in_emoji = _category(after) == "So" and _category(before) in ("So", "Sk")
    return match[0][0] if in_emoji or _takes_joiners(before) or _takes_joiners(after) else ""


@lru_cache(maxsize=4096)
def _takes_joiners(character: str) -> bool:
    return _category(character).startswith("M") or unicodedata.bidirectional(character or " ") in ("R", "AL")


def _category(character: str) -> str:
    return unicodedata.category(character or " ")
