"""Personal data in sentences: e-mail addresses, telephone numbers, IBANs and national numbers with a right checksum.

Numbers are checked by ``phonenumbers`` and ``python-stdnum``. What is found is a hint: another number may pass, too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module

from langcodes import Language
from stdnum import iban

from bilingual_crawler.languages.codes import LanguagePair, to_bcp47
from bilingual_crawler.pages.origin import Origin

EMAIL, PHONE, IBAN, NATIONAL_ID = "email", "phone", "iban", "id"
KINDS = (EMAIL, PHONE, IBAN, NATIONAL_ID)
PLACEHOLDERS = {kind: f"__{kind.upper()}__" for kind in KINDS}
"""What stands for masked data: a word of its own for tokenisers, and the same in all languages."""

MIN_DIGITS = 7
MAX_SEARCHED = 10_000  # characters of a sentence that are searched for the kinds of data in it
MAX_MASKED = 200_000
"""Characters of a document that are masked; the rest is left out, for telephone numbers take 20 µs a character."""

# no blank is between data and the words of Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ufaff"
_SIGN, _LETTER = rf"[^\W{_UNSPACED}]", rf"[^\W_{_UNSPACED}]"
# "(a)" in Finnish, and the letter of a paragraph in "Art. 5(a) e.g."
_A = rf"(?<={_SIGN}{_SIGN})[(\[]a[)\]]"
_DOT = r"(?:[.．]|\s?[(\[{]dot[)\]}]\s?)"
# Patterns with these ranges take .2 s to compile, and most processes that import this module search for nothing: they
# are texts, which re compiles once. Each part begins where no such part has begun, so that a long word is read once.
_EMAIL = (
    rf"(?i)(?<!{_SIGN})(?<![.+%-])(?:{_SIGN}|[.+%-]){{1,64}}(?:[@＠]|\s?[(\[{{](?:at|ät|arroba|@)[)\]}}]\s?|{_A})"
    rf"{_LETTER}(?:{_SIGN}|-){{0,62}}(?:{_DOT}{_LETTER}(?:{_SIGN}|-){{0,62}}){{0,7}}"
    rf"{_DOT}(?:xn--(?:{_SIGN}|-){{1,59}}|{_LETTER}{{1,63}})(?!{_SIGN}|@)"
)
_IBAN = rf"(?<!{_SIGN})[A-Z]{{2}}\d\d(?: ?[A-Z0-9]){{11,30}}(?!{_SIGN})"
_BETWEEN = r"\s()./\u2010-\u2015\u2212\u30fc（）．／－-"
_NUMBER = re.compile(rf"\d(?:[+{_BETWEEN}]{{0,3}}\d){{6}}")
_GROUP_SIGN = re.compile(rf"[{_BETWEEN}]")

_IDS = {
    "be.nn": r"\d\d\.?\d\d\.?\d\d[- ]?\d{3}\.?\d\d", "bg.egn": r"\d{10}", "br.cpf": r"\d{3}\.\d{3}\.\d{3}-\d\d",
    "ch.ssn": r"756\.?\d{4}\.?\d{4}\.?\d\d", "cn.ric": r"\d{17}[\dX]", "cz.rc": r"\d{6}/\d{3,4}",
    "de.idnr": r"\d\d ?\d{3} ?\d{3} ?\d{3}", "ee.ik": r"\d{11}", "es.dni": r"\d{8}[- ]?[A-Z]",
    "es.nie": r"[XYZ][- ]?\d{7}[- ]?[A-Z]", "fi.hetu": r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]",
    "fr.nir": r"[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d", "gr.amka": r"\d{11}", "ie.pps": r"\d{7}[A-W][A-IW]?",
    "is_.kennitala": r"\d{6}[- ]?\d{4}", "it.codicefiscale": r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]",
    "lt.asmens": r"\d{11}", "lv.pvn": r"\d{6}-\d{5}", "no.fodselsnummer": r"\d{6} ?\d{5}", "pl.pesel": r"\d{11}",
    "ro.cnp": r"\d{13}", "se.personnummer": r"(?:\d\d)?\d{6}[-+]\d{4}", "si.emso": r"\d{13}", "tr.tckimlik": r"\d{11}",
}  # fmt: skip
"""Numbers of persons by module of ``stdnum``, and how they are written. Numbers of which one in ten would pass by
chance are left out."""
_ID_PATTERNS = {name: rf"(?<!{_SIGN})(?<![.,/+-])(?:{pattern})(?!{_SIGN}|[/+-])" for name, pattern in _IDS.items()}

Found = tuple[int, int, str]
"""Personal data in a text: start, end and kind."""
_TEXTS = ("author", "translator", "licence")  # the facts about a page that may hold a sentence


class PersonalData:
    """Finds personal data in texts of some *languages* (ISO 639-3), whose countries tell how telephone numbers look.

    >>> PersonalData(("eng", "isl")).mask("Write to jon@example.is, or call +354 525 4000.")
    'Write to __EMAIL__, or call __PHONE__.'
    """

    def __init__(self, languages: Iterable[str]) -> None:
        regions = (Language.get(to_bcp47(language)).maximize().territory for language in languages)
        self._regions = tuple(dict.fromkeys(region for region in regions if region))

    def kinds(self, lines: Iterable[str]) -> str:
        """The kinds of personal data, masked or not, in *lines*: 10,000 characters of each, and 200,000 together."""
        found: set[str] = set()
        room = MAX_MASKED
        for line in lines:
            found.update(kind for _, _, kind in self.find(line[: min(room, MAX_SEARCHED)]))
            found.update(kind for kind, placeholder in PLACEHOLDERS.items() if placeholder in line[:room])
            room -= len(line)
            if room <= 0:
                break
        return " ".join(kind for kind in KINDS if kind in found)

    def mask(self, text: str) -> str:
        """Replace all personal data in *text* by placeholders."""
        parts, at = [], 0
        for start, end, kind in self.find(text):
            parts += [text[at:start], PLACEHOLDERS[kind]]
            at = end
        return "".join((*parts, text[at:])) if parts else text

    def mask_lines(self, lines: Iterable[str]) -> list[str]:
        """Mask the *lines* of a document, which ends at 200,000 characters, or at the last sentence before."""
        masked, room = [], MAX_MASKED
        for line in lines:
            if len(line) > room:
                # half a number would not be found
                if last := line[: line.rfind(". ", 0, room) + 1]:
                    masked.append(self.mask(last))
                break
            masked.append(self.mask(line))
            room -= len(line)
        return masked

    def find(self, text: str) -> list[Found]:
        """All personal data in *text*, in order, without overlaps."""
        found: list[Found] = []
        taken = bytearray(len(text))
        for start, end, kind in self._candidates(text):
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((start, end, kind))
        return sorted(found)

    def _candidates(self, text: str) -> Iterator[Found]:
        """The finds, the most certain kind first."""
        if any(sign in text for sign in "@＠([{"):
            yield from ((*match.span(), EMAIL) for match in re.finditer(_EMAIL, text))
        if sum(map(str.isdigit, text)) < MIN_DIGITS:
            return
        yield from _ibans(text)
        for name, pattern in _ID_PATTERNS.items():
            for match in re.finditer(pattern, text):
                if import_module(f"stdnum.{name}").is_valid(match[0]):
                    yield *match.span(), NATIONAL_ID
        if not _NUMBER.search(text):
            return
        # the table of all countries takes its time, and a crawl without bitext imports this module, too
        from phonenumbers import Leniency, PhoneNumberMatcher

        for region in (None, *self._regions):
            leniency = Leniency.STRICT_GROUPING if region else Leniency.VALID
            for call in PhoneNumberMatcher(text, region, leniency):
                # digits without groups may be any number
                if call.raw_string.startswith("+") or _GROUP_SIGN.search(call.raw_string):
                    yield call.start, call.end, PHONE


def masked(
    main: Callable[[str], list[str]], origin: Callable[[str], Origin], pair: LanguagePair
) -> tuple[Callable[[str], list[str]], Callable[[str], Origin]]:
    """Mask the personal data in *main*, which gives the main text of a URL in lines, and in *origin*, its facts."""
    personal = PersonalData((pair.a, pair.b))

    def facts(url: str) -> Origin:
        found = origin(url)
        return replace(found, **{name: personal.mask(getattr(found, name)) for name in _TEXTS})

    return lambda url: personal.mask_lines(main(url)), facts


def _ibans(text: str) -> Iterator[Found]:
    for match in re.finditer(_IBAN, text):
        # words in capitals may follow
        ends = [match.start() + space.start() for space in re.finditer(" ", match[0])]
        for end in (match.end(), *reversed(ends)):
            if iban.is_valid(text[match.start() : end]):
                yield match.start(), end, IBAN
                break
