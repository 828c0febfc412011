"""Split the lines of a document into sentences with paragraph numbers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import sentencex
import stop_words

from bilingual_crawler.languages.codes import base_of, language_name, to_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLANKS = re.compile(r"\s+")
_FULL_STOPS = (
    "։؝؞؟۔܀܁܂߹࠷࠹࠽࠾।॥။።፧፨᙮᜵᜶᠃᠉᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᭽᭾᰻᰼᱾᱿‼‽⁇⁈⁉⸮⸼⹓⹔。꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫﹒﹖﹗！．？｡༎།៕។"
    "𐩖𐩗𐽕𐽖𐽗𐽘𐽙𐾆𐾇𐾈𐾉𑁇𑁈𑂾𑂿𑃀𑃁𑅁𑅂𑅃𑇅𑇆𑇍𑇞𑇟𑈸𑈹𑈻𑈼𑊩𑑋𑑌𑗂𑗃𑗉𑗊𑗋𑗌𑗍𑗎𑗏𑗐𑗑𑗒𑗓𑗔𑗕𑗖𑗗𑙁𑙂𑜼𑜽𑜾𑥄𑥆𑩂𑩃𑪛𑪜𑱁𑱂𑻷𑻸𖩮𖩯𖫵𖬷𖬸𖭄𖺘𛲟𝪈"
)
"""Signs that end a sentence wherever they stand, of all scripts (Sentence_Terminal of Unicode)."""
_STOPS = rf"[!?.…\u037e{_FULL_STOPS}]+|(?<=[ሀ-፿])(?:::|፡፡)"
_CLOSING = re.compile(r"(?:''|[\"”’“»«›)\]）］」』】》〉]| (?:''|»)(?= |$))*(?: ?\[\d{1,3}\]|[¹²³⁰⁴-⁹])*")
"""Brackets, quotation marks and marks of notes after a stop."""
_ENCLOSED = re.compile(
    "|".join(
        [
            *(f"{a}[^{a}{b}]{{1,400}}{b}" for a, b in ["“”", "«»", "「」", "『』", "《》", "（）"]),
            r"\([^()]{1,400}\)|\[(?!\d{1,3}\])[^\[\]]{1,400}\]|»(?=\S)[^«»]{1,400}«|„[^„“”]{1,400}[“”]",
            r'(?<![^\s(\[])"[^"]{1,400}(?<!\s)"',
        ]
    )
)
"""Text in brackets or quotation marks. The bound keeps the time linear where many open and none closes."""
_REACH = 40
"""Characters on both sides of a stop that show whether it ends a sentence."""
_INNER = re.compile(r"[;:!?)\]}/%།，、；：）］｝」』】》〉،؛]|\.(?!\.)|,(?!,)|-\w")
"""What begins no sentence."""
_PARTICLE = re.compile(r"[가-힣]|と(?!ころ|ても)|って")
"""After a quotation in Korean and Japanese, it says who speaks, and the sentence goes on."""
_TOKEN = re.compile(r"[^\s\"“”„«»(\[]*$")
_ELISION = re.compile(r"^.*(?:[’'ʼ](?!s$)|[/-])")
_NEXT = re.compile(r"\W*(\d+|[^\W\d_]*)")
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})*|[IVXLC]+")
_MONTH, _YEAR, _DAY_AND_MONTH = re.compile(r"\d{1,2}\."), re.compile(r"\d{4}"), re.compile(r"\d{1,2}\. ?\d{1,2}$")
"""The parts of a date: "12. 5. 1950", in Korean "2024. 5. 3."."""
_ITEM = re.compile(r"(?:^|(?<= ))(\d{1,2})\. (?=[^\W\d_])")
_INITIAL = re.compile(r"[^\W\d_]\.")
_THAI = re.compile(r"(?:^|\.)[ก-ฮກ-ຮ]{1,4}$")
"""An abbreviation in Thai or Lao, of consonants."""
_ORDINALS = frozenset(
    "bar bos ces cnr dan deu dsb est eus fao fin gsw hbs hrv hsb hun isl lav ltz mkd nds nno nob nor pol slk slv sme "
    "srp swe tur".split()
)
"""Languages that write ordinals with a dot."""
MAX_SYLLABLE = 4
"""Characters of a part of an abbreviation with dots: "እ.ኤ.አ.", "พล.ต.อ."."""
MAX_CLIPPED = 5
"""Letters of an abbreviation before a number or a small letter: "bls. 12", "aprox. cem"."""
_FINAL = frozenset("a.m p.m etc usw osv enz stb tsv itd itp atd apod т.д т.п т.ін".split())
"""Abbreviations that stand at the end."""
_VOWELS = frozenset("aeiouyæœøıаеиіоуыэюяєαεηιουω")
MAX_FUNCTION_WORD = 4
"""Letters of a word that counts as a function word in languages without a list."""
_TITLES = frozenset(
    "akad al arh avv dkt doc dott doç dr dra dna gen gosp gđa hab ifj ing inż jend jn mev onor parch prof próf sdr sra "
    "sta toll tuas univ vol yrd znj öğr özv καθ акад бул гђа доц инж проф პროფ डॉ प्रो".split()
)
"""Titles and the like that sentencex does not know in all languages, and that have vowels."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the number of its line (paragraph), from 0."""

    text: str
    paragraph: int
    blank: bool = False
    """Whether a blank is between it and the next sentence of its line."""


def split(lines: Iterable[str], language: str) -> list[Sentence]:
    """Split *lines* into sentences, in order, in time linear in their characters.

    *language*: ISO 639-3. Together the sentences of a line are the line, but for white space.
    """
    base = base_of(language)
    found: list[Sentence] = []
    for number, line in enumerate(lines):
        text = _BLANKS.sub(" ", line).strip()
        places = [0, *_starts(text, base), len(text)] if text else []
        found += [Sentence(text[i:j].rstrip(), number, text[j - 1] == " ") for i, j in pairwise(places)]
    return found


def _starts(line: str, language: str) -> Iterator[int]:
    """Where the sentences of *line* after the first begin."""
    begin = at = 0
    whole = False
    items = _items(line)
    spans = [*(match.span() for match in _ENCLOSED.finditer(line)), (len(line), len(line))]
    for match in _stops(language in ("ell", "grc"), line.endswith("|")).finditer(line):
        stop = match.start()
        while items and items[0] <= stop:
            if (item := items.pop(0)) > begin:
                begin = item
                yield begin
        while spans[at][1] <= stop:
            at, whole = at + 1, False
        opening, close = spans[at]
        is_inside = opening < stop
        # a quotation mark that opens closes nothing
        end = _CLOSING.match(line, match.end(), spans[at + 1][0] if is_inside else opening).end()
        start = end + line.startswith(" ", end)
        if start >= len(line):
            return
        if is_inside:
            whole = whole or opening == begin
            if whole and end < close:
                is_allowed = _is_sentence(line, close)
            else:
                is_allowed = whole or (end >= close and line[opening] not in "([（")
            if not is_allowed:
                continue
        before, after = line[max(begin, stop - _REACH) : stop], line[start : start + _REACH]
        if match[0].strip("!?.…;\u037e"):
            is_end = not _INNER.match(after) and not (end > match.end() and _PARTICLE.match(after))
        elif _INNER.match(after):
            is_end = False
        elif start == end:
            is_end = _is_end_without_blank(before, after, end > match.end())
        else:
            is_end = _is_end(language, before, match[0] if end == match.end() else "!", after)
        if is_end:
            begin = start
            yield begin


def _is_sentence(line: str, close: int) -> bool:
    """Whether the enclosed text that ends at *close* is a sentence by itself."""
    after = line[close : close + _REACH].lstrip()
    return line[close - 2] in f".!?…{_FULL_STOPS}" and not (_INNER.match(after) or _is_small(_first(after)))


def _first(text: str) -> str:
    """The first word of *text*, or number."""
    found = _NEXT.match(text)
    return found[1] if found else ""


def _items(line: str) -> list[int]:
    """Where the items of a numbered list in *line* begin, but not at its beginning."""
    found: list[int] = []
    for match in _ITEM.finditer(line):
        is_first = not found and (match.start() == 0 or line[match.start() - 2] in ".:!?")
        if int(match[1]) == len(found) + 1 and (found or is_first):
            found.append(match.start())
    return [place for place in found if place] if len(found) > 1 else []


@lru_cache
def _stops(greek: bool, piped: bool) -> re.Pattern[str]:
    """What may end a sentence. The question mark of *greek* is a semicolon; in a *piped* line, pipes are dandas."""
    return re.compile(_STOPS + "|;" * greek + r"|(?<=[ऀ-෿]) ?\|" * piped)


def _is_end_without_blank(before: str, after: str, is_closed: bool) -> bool:
    """Whether a sentence ends before *after*, which follows without a blank: "He came.She went.", not "CONFIG.SYS"."""
    first, last = after[:1], before[-1:]
    if is_closed:
        return (first.isupper() or _is_wide(first)) and not _PARTICLE.match(after)
    token = _last(before)
    is_name = "/" in token or token == "www" or "@" in after.split(" ")[0]
    is_word = first.isupper() and _is_small(after[1:2]) and (last.islower() and len(token) > 2 or last in (")", "]"))
    return not is_name and (is_word or (_is_wide(first) and last.isalpha()))


def _last(text: str) -> str:
    """The last word of *text*, with all signs in it."""
    found = _TOKEN.search(text)
    return found[0] if found else ""


def _is_end(language: str, before: str, sign: str, after: str) -> bool:
    """Whether *sign* ends a sentence where a blank follows it."""
    if sign != ".":
        return not _is_small(_first(after))
    token = _last(before)
    previous = before[: len(before) - len(token)].rstrip()
    dot = _Dot(language, _ELISION.sub("", token), previous, _first(after), after)
    return dot.ends_after_number() if _NUMBER.fullmatch(dot.word) else dot.ends_after_word()


class _Dot(NamedTuple):
    """A full stop and what is around it."""

    language: str
    word: str
    previous: str
    """What is before the word."""
    following: str
    """The next word or number."""
    after: str

    def ends_after_number(self) -> bool:
        """Whether a sentence ends here and not an ordinal, a part of a date, or a number by itself."""
        if _is_small(self.following) or not self.previous:
            return False
        if self.following.isdecimal():
            is_year = _DAY_AND_MONTH.search(f"{self.previous} {self.word}") and _YEAR.match(self.after)
            return not (is_year or _MONTH.match(self.after))
        is_ordinal = (
            self.language in _ORDINALS
            and (len(self.word) < 3 or not self.word.isdecimal())
            and self.following[:1].isupper()
            and not (self._follows_number() or self.previous.endswith((".", ":")))
        )
        return not is_ordinal or self._is_start()

    def ends_after_word(self) -> bool:
        """Whether a sentence ends here and not an abbreviation or initial."""
        word = unicodedata.normalize("NFC", self.word)
        plain = word.casefold()
        small = _is_small(self.following)
        if not plain or (plain in _FINAL and not small):
            return not small
        parts = plain.split(".")
        is_initial = len(plain) == 1 and plain.isalpha() and not _is_wide(plain)
        if _THAI.search(plain):
            return False
        if is_initial or (len(parts) > 1 and max(map(len, parts)) <= MAX_SYLLABLE):
            is_start = self._is_start() or (_is_small(word) and self._follows_number())
            return not small and not _is_caseless(self.following) and not self.following.isdecimal() and is_start
        is_function_word = plain in _function_words(self.language)
        is_spelled = word.isupper() or word == plain.upper()
        clipped = not is_spelled and 1 < len(plain) <= MAX_CLIPPED and _has_no_vowel(plain)
        title = len(plain) == 2 and word.istitle() and not is_function_word
        known = title or (plain in _TITLES and not word.isupper()) or _is_listed(to_bcp47(self.language), word)
        if small:
            return is_function_word and not (known or clipped or self._follows_number())
        if self.following.isdecimal() or _INITIAL.match(self.after):
            return not (known or clipped or (len(plain) <= MAX_CLIPPED and not is_function_word and not is_spelled))
        is_letter = self.after[0] == self.following[:1]
        return self._follows_number() or self._is_start() or not (known or (clipped and is_letter))

    def _follows_number(self) -> bool:
        return bool(_NUMBER.fullmatch(self.previous.rsplit(" ", 1)[-1]))

    def _is_start(self) -> bool:
        """Whether a capital has to be the beginning of a sentence, since the word is of those that have none else."""
        if _INITIAL.match(self.after):
            return False
        known = _function_words(self.language)
        is_short = len(self.following) <= MAX_FUNCTION_WORD and not self.following.isupper()
        return self.following.casefold() in known or (not known and is_short and not self.word.istitle())


def _has_no_vowel(word: str) -> bool:
    return _is_small(word) and _VOWELS.isdisjoint(unicodedata.normalize("NFD", word))


def _is_caseless(text: str) -> bool:
    """Whether *text* begins with a letter of a script without capitals that abbreviates words with dots."""
    first = text[:1]
    return first.isalpha() and not (first.isupper() or _is_small(first) or _is_wide(first))


@lru_cache(1 << 16)
def _is_listed(tag: str, word: str) -> bool:
    """Whether sentencex knows *word* as an abbreviation."""
    return len(sentencex.segment(tag, f"x {word}. X")) == 1


@lru_cache
def _function_words(language: str) -> frozenset[str]:
    name = language_name(language).split()[0].lower()
    return frozenset(stop_words.get_stop_words(name) if name in stop_words.AVAILABLE_LANGUAGES else ())


def _is_small(text: str) -> bool:
    """Whether *text* begins with a small letter of a script that begins sentences with capitals; Georgian does not."""
    return text[:1].islower() and text[:1].title() != text[:1]


def _is_wide(character: str) -> bool:
    """Whether *character* is of a script that has no blanks or capitals: Chinese, Japanese, Korean."""
    return character != "" and unicodedata.east_asian_width(character) in "WF"
