"""Split the lines of a document into sentences with paragraph numbers."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import NamedTuple

import sentencex
import stop_words

from bilingual_crawler.languages.codes import base_of, language_name, to_bcp47
from bilingual_crawler.pages.words import width_of

_BLANKS = re.compile(r"\s+")
_FULL_STOPS = (
    "։؝؞؟۔܀܁܂߹࠷࠹࠽࠾।॥။።፧፨᙮᜵᜶᠃᠉᥄᥅᪨᪩᪪᪫᭚᭛᭞᭟᭽᭾᰻᰼᱾᱿‼‽⁇⁈⁉⸮⸼⹓⹔。꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫﹒﹖﹗！．？｡༎།៕។"
    "𐩖𐩗𐽕𐽖𐽗𐽘𐽙𐾆𐾇𐾈𐾉𑁇𑁈𑂾𑂿𑃀𑃁𑅁𑅂𑅃𑇅𑇆𑇍𑇞𑇟𑈸𑈹𑈻𑈼𑊩𑑋𑑌𑗂𑗃𑗉𑗊𑗋𑗌𑗍𑗎𑗏𑗐𑗑𑗒𑗓𑗔𑗕𑗖𑗗𑙁𑙂𑜼𑜽𑜾𑥄𑥆𑩂𑩃𑪛𑪜𑱁𑱂𑻷𑻸𖩮𖩯𖫵𖬷𖬸𖭄𖺘𛲟𝪈"
)
"""Signs that end a sentence wherever they stand, of all scripts (Sentence_Terminal of Unicode)."""
_STOPS = rf"[!?.…\u037e{_FULL_STOPS}]+|(?<=[ሀ-፿])(?:::|፡፡)"
_CLOSING = re.compile(r"(?:[\"'”’“»«›)\]）］」』】》〉]| (?:''|»)(?= |$))*(?: ?\[\d{1,3}\]|[¹²³⁰⁴-⁹])*")
"""Brackets, quotation marks and marks of notes after a stop."""
_ENCLOSED = re.compile(
    "|".join(
        [
            *(f"{both[0]}[^{both}]{{1,400}}{both[1]}" for both in ["“”", "«»", "「」", "『』", "《》", "（）"]),
            r"\([^()]{1,400}\)|\[(?!\d{1,3}\])[^\[\]]{1,400}\]|»(?=\S)[^«»]{1,400}«|„[^„“”]{1,400}[“”]",
            r'(?<![^\s(\[])"[^"]{1,400}(?<!\s)"',
        ]
    )
)
"""Text in brackets or quotation marks. The bound keeps the time linear where many open and none closes."""
_REACH = 40  # characters on both sides of a stop that show whether it ends a sentence
_INNER = re.compile(r"[;:!?)\]}།，、；：）］｝」』】》〉،؛]|\.(?!\.)|,(?!,)|-\w")  # what begins no sentence
_UNSPACED = re.compile(r"\w[^\W\d_]*(?![\w.@/=(])")
"""What begins a sentence without a blank before it: "He came.She went.", not "CONFIG.SYS", "Staff.NoteHead"."""
_PARTICLE = re.compile(r"[가-힣]|と(?!ころ|ても)|って")
"""After a quotation in Korean and Japanese, it says who speaks, and the sentence goes on."""
_BEFORE_WORD = re.compile(r"[\s\"“”„«»(\[]")
_ELISION = re.compile(r"^.*(?:[’'ʼ](?!s$)|[/-])")
"""What is before the last part of a word: "l'art", "Il-Prof", "J.-P"."""
_WORD = re.compile(r"\d+|[^\W\d_]+")
_NUMBER = re.compile(r"(?:[A-Z]\.)?\d{1,4}(?:\.\d{1,4})*|[IVXLC]{2,}")
_MONTH, _YEAR = re.compile(r"[–—-]? ?\d{1,2}\."), re.compile(r"\d{4}")
_DAY_AND_MONTH = re.compile(r"\d{1,2}\. ?\d{1,2}$")  # the parts of a date: "12. 5. 1950", in Korean "2024. 5. 3."
_ITEM = re.compile(r"(?:^|(?<= ))(\d{1,2})\. (?=[^\W\d_])")
_INITIAL, _DOTTED = re.compile(r"[^\W\d_]\."), re.compile(r"[^\W\d_]{1,3}\.")
_ELIDED = re.compile(r"[^\W\d_]{1,2}[’']([^\W\d_])")
_THAI = re.compile(r"(?:^|\.)[ก-ฮກ-ຮ]{1,4}$")
"""An abbreviation in Thai or Lao, of consonants."""
_ORDINALS = frozenset([
    "bar", "bos", "ces", "cnr", "dan", "deu", "dsb", "est", "eus", "fao", "fin", "gsw", "hbs", "hrv", "hsb", "hun",
    "isl", "lav", "ltz", "mkd", "nds", "nno", "nob", "nor", "pol", "slk", "slv", "sme", "srp", "tur",
])  # fmt: skip
"""Languages that write ordinals with a dot."""
_CAPITALISED = frozenset(["bar", "deu", "gsw", "ltz", "nds"])
"""Those of them that write nouns with a capital."""
MAX_SYLLABLE = 4  # characters of a part of an abbreviation with dots: "እ.ኤ.አ.", "พล.ต.อ."
MAX_CLIPPED = 5  # letters of an abbreviation before a number or a small letter: "bls. 12", "aprox. cem"
MAX_FUNCTION_WORD = 4  # letters of a function word in languages without a list
_CLIPPED = re.compile(
    r"(?!.*[^rр][rр][^rрsс])[bcdfghjklmnpqrstvwxzđħłðþβγδζθκλμνξπρστφχψςбвгґджзклмнпрстфхцчшщљњћђџ\u0300-\u036f]+"
)
"""Letters without a vowel, or an R that is one: "trg", "vrh"."""
_FINAL = frozenset(["a.m", "p.m", "etc", "usw", "osv", "enz", "stb", "itd", "itp", "atd", "apod", "т.д", "т.п", "т.ін"])
"""Abbreviations that may end a sentence."""
_TITLES = frozenset([
    "Bi", "En", "Fa", "akad", "al", "approx", "arh", "avv", "doc", "dott", "doç", "dr", "dra", "dna", "gen", "gosp",
    "gđa", "hab", "ifj", "ing", "inż", "jend", "ks", "mev", "mgr", "mme", "mnr", "onor", "parch", "prof", "próf",
    "sra", "sta", "str", "toll", "tuas", "ul", "univ", "öğr", "özv", "καθ", "акад", "бул", "гђа", "доц", "инж",
    "проф", "ул", "პროფ", "डॉ", "प्रो",
])  # fmt: skip
"""Abbreviations before names, mostly with vowels, that sentencex does not know in all languages that have them."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the number of its line (paragraph), from 0."""

    text: str
    paragraph: int
    blank: bool = False
    """Whether a blank is between it and the next sentence of its line."""


def split(lines: Iterable[str], language: str, max_sentences: int | None = None) -> list[Sentence]:
    """Split *lines* into sentences, in order, up to *max_sentences*, in time linear in their characters.

    *language*: ISO 639-3. Together the sentences of a line are the line, but for white space.
    """
    base = base_of(language)
    sentences = (
        Sentence(text[start:end].rstrip(), number, text[end - 1] == " ")
        for number, line in enumerate(lines)
        if (text := _BLANKS.sub(" ", line).strip())
        for start, end in pairwise(chain([0], _starts(text, base), [len(text)]))
    )
    return list(islice(sentences, max_sentences))


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
        inside = opening < stop
        # a quotation mark that opens closes nothing
        end = next(_CLOSING.finditer(line, match.end(), spans[at + 1][0] if inside else opening)).end()
        start = end + line.startswith(" ", end)
        if start == len(line):
            return
        if inside:
            whole = whole or opening == begin
            if whole:
                may_end = end >= close or _is_sentence(line, close)
            else:
                introduced = line[max(opening - 2, 0) : opening].rstrip().endswith((":", "："))
                may_end = end >= close and line[opening] not in "([（" and (introduced or line[start].isupper())
            if not may_end:
                continue
        before, after = line[max(begin, stop - _REACH) : stop], line[start : start + _REACH]
        if _is_end(language, before, match[0], after, end > match.end(), start > end):
            begin = start
            yield begin


def _items(line: str) -> list[int]:
    """Where the items of a list that is numbered from 1 begin in *line*, after its beginning."""
    found: list[int] = []
    for match in _ITEM.finditer(line):
        if int(match[1]) == len(found) + 1 and (found or match.start() == 0 or line[match.start() - 2] in ".:!?"):
            found.append(match.start())
    return [place for place in found if place] if len(found) > 1 else []


@lru_cache
def _stops(greek: bool, piped: bool) -> re.Pattern[str]:
    """What may end a sentence. The question mark of *greek* is a semicolon; in a *piped* line, pipes are dandas."""
    return re.compile(_STOPS + "|;" * greek + r"|(?<=[ऀ-෿]) ?\|" * piped)


def _is_sentence(line: str, close: int) -> bool:
    """Whether the enclosed text of *line* that ends at *close* is a sentence by itself."""
    after = line[close : close + _REACH].lstrip()
    return line[close - 2] in f".!?…{_FULL_STOPS}" and not (_INNER.match(after) or _is_small(_first_word(after)))


def _is_end(language: str, before: str, sign: str, after: str, closed: bool, blank: bool) -> bool:
    """Whether a sentence ends with *sign*, closing brackets if *closed*, and a blank if *blank*."""
    if _INNER.match(after) or (closed and not blank and _PARTICLE.match(after)):
        return False
    if sign.strip("!?.…;\u037e"):
        return True
    token = _BEFORE_WORD.split(before)[-1]
    following, first = _first_word(after), after[:1]
    if not blank:
        if closed or width_of(first) == 2 or (width_of(before[-1:]) == 2 and first.isupper()):
            return first.isupper() or (width_of(first) == 2 and not before[-1:].isdecimal())
        unspaced = _UNSPACED.match(after)
        is_word = (
            unspaced is not None and unspaced[0].istitle() and (before[-1:].islower() or before[-1:] in (")", "]"))
        )
        return is_word and len(token) > 2 and "/" not in token and token != "www"
    if sign != "." or closed:
        return not _is_small(following)
    dot = _Dot(language, _ELISION.sub("", token), before[: len(before) - len(token)].split(), following, after)
    return dot.ends_after_number() if _NUMBER.fullmatch(dot.word) else dot.ends_after_word()


class _Dot(NamedTuple):
    """A full stop before a blank, and what is around it."""

    language: str
    word: str
    previous: list[str]
    """The words before *word*."""
    following: str
    after: str

    def ends_after_number(self) -> bool:
        """Whether a sentence ends here, and no ordinal or part of a date, nor a number alone."""
        if _is_small(self.following) or not self.previous:
            return False
        if self.following.isdecimal():
            is_year = _YEAR.match(self.after) and _DAY_AND_MONTH.search(f"{self.previous[-1]} {self.word}")
            return not (is_year or _MONTH.match(self.after))
        before = self.previous[-1]
        is_ordinal = (
            self.language in _ORDINALS
            and self.following[:1].isupper()
            and not (self._follows_number() or before.endswith((".", ":")))
            # but in German, nouns have no capital: "Den 2. Verdenskrig", "kello 17. Sitten"
            and (self.word.isalpha() or self.language in _CAPITALISED or self._is_function_word(before))
            and (self.word.isalpha() or len(self.word) < 3)
        )
        return not is_ordinal or self._has_start()

    def ends_after_word(self) -> bool:
        """Whether a sentence ends here, and no abbreviation or initial."""
        word = unicodedata.normalize("NFC", self.word)
        plain = word.casefold()
        small = _is_small(self.following)
        number = bool(_NUMBER.fullmatch(self.following)) or self.following in ("V", "X")
        if _THAI.search(plain):
            return False
        if not plain or (word in _FINAL and not small):
            return not small
        parts = plain.split(".")
        is_clipped = bool(_CLIPPED.fullmatch(unicodedata.normalize("NFD", plain)))
        is_dotted = len(parts) > 1 and all(map(str.isalpha, parts)) and max(map(len, parts)) <= MAX_SYLLABLE
        is_doubled = word.isupper() and len(plain) == 2 and plain[0] == plain[1]
        if is_dotted or is_doubled or (len(plain) == 1 and plain.isalpha() and width_of(plain) == 1):
            is_unit = _is_small(word) and self._follows_number() and not self._is_time()
            is_word = len(parts) == 1 and word.islower() and not is_clipped
            is_start = is_unit or is_word or self._has_start()
            return bool(self.previous) and not small and self.following[:1] != self.following[:1].lower() and is_start
        words = _function_words(self.language)
        is_mixed = word != plain.upper()
        clipped = is_mixed and ((is_clipped and len(plain) <= MAX_CLIPPED) or plain.endswith("str"))
        is_title = word in _TITLES or (plain in _TITLES and not word.isupper())
        known = is_title or _is_listed(to_bcp47(self.language), word)
        if small or number or _INITIAL.match(self.after):
            is_year = number and len(self.following) == 4
            is_short = is_mixed and len(plain) <= MAX_CLIPPED and plain not in words and not is_year
            return not (known or clipped or is_short or (small and self._follows_number()))
        # the lists of sentencex have "me" and "ne", which are states of the USA
        is_word = word.islower() and (plain in words or (len(plain) == 2 and not words)) and not is_title
        is_abbreviation = (known and not is_word) or (
            clipped and word.istitle() and self.after.startswith(self.following)
        )
        is_unit = self._follows_number() and not self._is_time()
        return is_unit or not is_abbreviation or (self._has_start() and not is_title)

    def _follows_number(self) -> bool:
        return bool(self.previous and _NUMBER.fullmatch(_ELISION.sub("", self.previous[-1])))

    def _is_time(self) -> bool:
        """Whether the sentence has no more than "In May 1950" before the word."""
        *words, number = self.previous
        is_year = 0 < len(words) < 3 and len(number) == 4
        return is_year and words[0].casefold() in _function_words(self.language)

    def _has_start(self) -> bool:
        """Whether the next word has a capital only since a sentence begins."""
        if _DOTTED.match(self.after):
            return False
        if elided := _ELIDED.match(self.after):
            return _is_small(elided[1])
        is_listed = bool(_function_words(self.language))
        return (is_listed or self.word.islower() or self.word.isdecimal()) and self._is_function_word(self.following)

    def _is_function_word(self, word: str) -> bool:
        words = _function_words(self.language)
        return word.casefold() in words or (not words and len(word) <= MAX_FUNCTION_WORD and not word.isupper())


@lru_cache(1 << 16)
def _is_listed(tag: str, word: str) -> bool:
    """Whether sentencex knows *word* as an abbreviation."""
    return len(sentencex.segment(tag, f"x {word}. X")) == 1


@lru_cache
def _function_words(language: str) -> frozenset[str]:
    name = language_name(language).split()[0].lower()
    listed = stop_words.get_stop_words(name) if name in stop_words.AVAILABLE_LANGUAGES else ()
    return frozenset(listed) - {"vol"}


def _first_word(text: str) -> str:
    found = _WORD.search(text)
    return found[0] if found else ""


def _is_small(text: str) -> bool:
    """Whether *text* is in small letters, of a script that begins sentences with capitals; Georgian does not."""
    return text.islower() and text[:1].title() != text[:1]
