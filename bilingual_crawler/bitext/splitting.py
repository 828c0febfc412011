"""Split the lines of a document into sentences with paragraph numbers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import sentencex

from bilingual_crawler.languages.codes import base_of, to_bcp47
from bilingual_crawler.pages.words import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLANKS = re.compile(r"\s+")
# "5. maí", "XIX. mendean", "t.ex. så"
_ABBREVIATED = re.compile(r"\b(?:\d{1,4}|[IVXLC]{1,12}|[^\W\d_]{1,3}(?:\.[^\W\d_]{1,4}){1,4})\. ?$")
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]+)\. ?")
"""Of a section, or an item of a list."""
_CENTURY = ("Jahrhundert", "Jahrtausend", "Jh.")
"""German nouns that follow an ordinal and begin no sentence."""
_REACH = 40
"""Characters at the end of a sentence that show whether it goes on: more than an abbreviation has."""
_CUT_BEFORE = re.compile(r"(?:\bwww|[A-Z0-9_*])\.$", re.ASCII)
_CUT_AFTER = re.compile(r"[A-Z0-9]{2}|\*")
"""Both sides of a dot in a name: ``CONFIG.SYS``, ``*.*``."""
_INNER = tuple(",;:.)]}/%，、；：）］｝」』】》〉،؛")
"""What begins no sentence."""
_HYPHENATED = re.compile(r"-\w")
_QUOTED = re.compile(r"[”’\"'」』]$")
_PARTICLE = re.compile(r"[가-힣]|と(?!ころ|ても)|って")
"""After a quotation in Korean and Japanese, it says who speaks, and the sentence goes on."""
_LAST = re.compile(rf"(?:^|[\s(.-])({LETTERS})\. ?$")
"""The last word before a dot."""
_DOTTED = re.compile(rf"(?:^|[\s(])({LETTERS}\.(?:{LETTERS}\.)++) $")
_SYLLABLE = re.compile(rf"({LETTERS})\.")
MAX_SYLLABLE = 4
"""Characters of a part of an abbreviation with dots: "እ.ኤ.አ.", "พล.ต.อ."."""
MAX_CLIPPED = 5
"""Letters of an abbreviation without vowels: "kr.", "стр."."""
_VOWELS = frozenset("aeiouyæœøıаеиіоуыэюяαεηιουω")
_CLIPPED = frozenset(
    [
        *("art", "cap", "kap", "abs", "fig", "vol", "pag", "pàg", "pág", "páx", "paġ", "ca", "eż", "eċċ", "ул"),
        *("nru", "tölul", "millj", "adib", "tel", "þ"),
    ]
)
"""Others before numbers or small letters, in languages that sentencex does not know."""
_TITLES = frozenset(
    ["prof", "próf", "dr", "avv", "dott", "onor", "tuas", "toll", "sta", "jn", "проф", "პროფ", "डॉ", "प्रो"]
)
"""Titles that sentencex does not know in all languages, or not after an article ("Il-Prof. Borg")."""
_NO_END = re.compile(r"(?:^|[\s(]|[ก-ฮກ-ຮ]\.)[ก-ฮກ-ຮ]{1,4}\. ?$|၊ ?$")
"""An abbreviation in Thai or Lao, of consonants, or the comma of Burmese."""
_CONSONANT, _CONSONANTS = re.compile(r"[ก-ฮກ-ຮ]\.$"), re.compile(r"[ก-ฮກ-ຮ]{1,4}\.")
"""Both sides of a dot in such an abbreviation, which may follow a word without a blank."""
_YEAR, _MONTH = re.compile(r"(?<!\d)\d{4}\. ?(?:\d{1,2}\. ?)?$"), re.compile(r"\d{1,2}\.")
"""The beginning and the rest of a date in Korean: "2024. 5. 3."."""
_STOP = re.compile(r"(?<=[។៕] )(?=.)|(?<=[។៕])(?=\w)|(?<=፡፡ )(?=.)|(?<=፡፡)(?=\w)")
"""The place after a full stop of Khmer, or after the two word separators that stand for that of Amharic."""
_OPENING = re.compile(r"\s[\"“„«]$")
"""A quotation mark that belongs to the sentence after it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the number of its line (paragraph), from 0."""

    text: str
    paragraph: int
    blank: bool = False
    """Whether a blank is between it and the next sentence of its line."""


def split(lines: Iterable[str], language: str) -> list[Sentence]:
    """Split *lines* into sentences, in order. *language*: ISO 639-3; without own rules as English.

    An ordinal or abbreviation does not end a sentence if a small letter follows, or a German century, nor do initials
    and titles. A number alone, as of a heading ("5.17.1. Network"), is no sentence. A name with a dot inside
    (``CONFIG.SYS``) is not cut.
    """
    tag = to_bcp47(base_of(language))
    found: list[Sentence] = []
    for number, line in enumerate(lines):
        segments = chain.from_iterable(map(_STOP.split, sentencex.segment(tag, _BLANKS.sub(" ", line).strip())))
        found += [Sentence(part.rstrip(), number, part.endswith(" ")) for part in _joined(segments)]
    return found


def _joined(segments: Iterable[str]) -> Iterator[str]:
    """Join *segments* of a line that are one sentence. Together the parts are the line; each has the blank after it."""
    last = ""
    for segment in segments:
        part = segment.lstrip(" ") if last else segment
        if part != segment:
            last += " "
        # a line of many segments may be one sentence, of which no more is looked at again
        end = last[-_REACH:]
        if last and (_NUMBER.fullmatch(last) or _goes_on(end, part) or _is_inside(end, part)):
            last += part
        elif last and _OPENING.search(end):
            yield last[:-1]
            last = last[-1] + part
        elif part:
            if last:
                yield last
            last = part
    if last:
        yield last


def _goes_on(before: str, after: str) -> bool:
    """Whether a dot at the end of *before* belongs to an abbreviation, an ordinal or an initial."""
    first = after[:1]
    small, number = _is_small(first), first.isdecimal()
    word, dotted = _LAST.search(before), _DOTTED.search(before)
    return bool(
        ((small or after.startswith(_CENTURY)) and _ABBREVIATED.search(before))
        or (word and first.isalnum() and _is_short_for(word[1], small or number))
        or (dotted and (number or _is_caseless(first)) and max(map(len, dotted[1].split("."))) <= MAX_SYLLABLE)
        or (_YEAR.search(before) and _MONTH.match(after))
        or _NO_END.search(before)
    )


def _is_short_for(word: str, in_middle: bool) -> bool:
    """Whether *word* before a dot is an initial or a title; or an abbreviation, if what follows is *in_middle*.

    sentencex knows initials by the letters of English, and not those of "Jón Ó. Sigurðsson" and "І. Франко".
    """
    plain = unicodedata.normalize("NFC", word)
    folded = plain.casefold()
    is_initial = len(plain) == 1 and not plain.isascii() and (plain.isupper() or _is_caseless(plain))
    if is_initial or folded in _TITLES or not in_middle:
        return is_initial or folded in _TITLES
    letters = unicodedata.normalize("NFD", folded)
    spelled = plain.isupper() or not _is_small(folded[0]) or not 1 < len(plain) <= MAX_CLIPPED
    return folded in _CLIPPED or (not spelled and _VOWELS.isdisjoint(letters))


def _is_inside(before: str, after: str) -> bool:
    """Whether the place between two parts of a line is inside a name, number, abbreviation or date, or of a sentence
    that goes on after a quotation, or before a sign that begins no sentence.
    """
    if before.endswith(" "):
        return False
    is_name = _CUT_BEFORE.search(before) and (_CUT_AFTER.match(after) or before.endswith("www."))
    is_thai = _CONSONANT.search(before) and _CONSONANTS.match(after)
    if is_name or is_thai or after.startswith(_INNER) or _HYPHENATED.match(after):
        return True
    if not before.endswith("."):
        return bool(_QUOTED.search(before) and _PARTICLE.match(after))
    first, last = after[:1], before[-2:-1]
    if last.isdecimal():
        return first.isdecimal() or "가" <= first <= "힣"
    word, next_word = _LAST.search(before), _SYLLABLE.match(after)
    return _is_small(first) or bool(
        word and next_word and _is_caseless(first) and max(len(word[1]), len(next_word[1])) <= MAX_SYLLABLE
    )


def _is_small(character: str) -> bool:
    """Whether *character* is a small letter of a script that begins sentences with capitals; Georgian does not."""
    return character.islower() and character.title() != character


def _is_caseless(character: str) -> bool:
    """Whether *character* is a letter of a script without capitals that abbreviates words with dots."""
    return (
        character.isalpha()
        and not (character.isupper() or _is_small(character))
        and unicodedata.east_asian_width(character) not in "WF"
    )
