"""Whether what was served as a page is text for people, and has the letters of its language."""

from __future__ import annotations

import json
import re
import string
from contextlib import suppress

from bilingual_crawler.pages.decode import share_of_own
from bilingual_crawler.pages.sandbox.jobs import ContentError

ILLEGIBLE = "illegible"  # how pages are counted that are not

_READ, _JUDGED = 100_000, 10_000  # characters that are looked at, and whose letters are
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_MAX_REPLACED, _MAX_BROKEN = 0.1, 0.01  # share of them in text, and in text of a sure language
_LATIN = re.compile(r"[À-ÖØ-öø-ɏḀ-ỿ]|(?<=[^\W\d_])[¡-©¬®-¶¸¹¼-¿×÷](?=[^\W\d_])")  # also symbols in words
_MIN_LETTERS, _MIN_OWN = 20, 0.75  # letters that tell whether they are of a language, and their least share
_MIN = 200  # characters as which shorter texts count, so that a few signs are no reason
_CONTROLS = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 0.02  # share of control characters; binary data has .1, with or without compression
_ENCODED = re.compile(r"(?<!\S)(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[\w+/=-]{60,}", re.ASCII)
"""Words of base64 and hexadecimal digits, unlike addresses and dotted lines."""
_MAX_ENCODED = 0.6
_DUMP = re.compile(r"\b(?:[0-9a-f]{2,8}[\s:]+){8,}+", re.ASCII | re.IGNORECASE)
_MAX_DUMPED, _MIN_HEXADECIMAL = 0.5, 0.1  # share of hexadecimal numbers in a row, and of letters among their digits
_CODE = re.compile(r"[{};]")
_MAX_CODE = 0.015  # share of braces and semicolons without markup; scripts, style sheets have .01 to .06, READMEs less


def check_legible(html: str, text: str) -> None:
    """Raise ContentError if the page *html* with this *text* is binary or encoded data, program code or JSON.

    Program code is only recognised where no markup is around it: on a page, it may be what the page is about.
    """
    if why := _objection(html, text[:_READ]):
        raise ContentError(ILLEGIBLE, f"it is no text for people: {why}")


def has_wrong_letters(text: str, language: str) -> bool:
    """Whether *text* was read in another charset than it was written in, by the letters of *language*."""
    text = text[:_JUDGED]
    if text.isascii():
        return False
    if text.count(_REPLACED) > _MAX_BROKEN * len(text):
        return True
    letters = "".join(_LATIN.findall(text))
    enough = language != "eng" and len(letters) >= _MIN_LETTERS
    return enough and share_of_own(letters, language) < _MIN_OWN


def _objection(html: str, text: str) -> str | None:
    start = html[:_READ]
    # what is fast to count comes first: ordinary pages have no null, and words shorter than ten letters
    if "\0" in start and len(_CONTROLS.findall(start)) > _MAX_CONTROLS * max(len(start), _MIN):
        return "binary data"
    length = max(len(text), _MIN)
    if text.count(_REPLACED) > _MAX_REPLACED * length:
        return "bytes in no charset"
    blanks = text.count(" ") + text.count("\n")
    if 10 * blanks < length and sum(map(len, _ENCODED.findall(text))) > _MAX_ENCODED * length:
        return "encoded data"
    if 4 * sum(map(text.count, string.digits)) > length and _is_dump(text):
        return "a hexadecimal dump"
    first = start.lstrip()[:1]
    if first != "<" and len(_CODE.findall(text)) > _MAX_CODE * length:
        return "program code"
    if first in ("{", "["):
        with suppress(ValueError, RecursionError):
            json.loads(html)
            return "JSON"
    return None


def _is_dump(text: str) -> bool:
    numbers = "".join(_DUMP.findall(text))
    return len(numbers) > _MAX_DUMPED * len(text) and sum(map(str.isalpha, numbers)) > _MIN_HEXADECIMAL * len(numbers)
