"""Dates in texts, the same for every language and way of writing."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, product

from babel import Locale
from babel.localedata import locale_identifiers

from bilingual_crawler.languages.codes import base_of, to_bcp47
from bilingual_crawler.pages.words import LETTERS, western_digits

MAX_READ = 500  # years of a text that are looked at, the first ones
REACH, NEAR = 40, 4  # characters and words before or after a year among which its day and month stand
MONTHS, DAYS = 12, 31
ENDING = 4  # letters from which on the name of a month may have an ending: Basque *martxoaren*
UNINFLECTED = frozenset(("eng", "fra", "spa", "por", "ita", "cat", "glg"))  # where *maior* (Portuguese) is no month

# Python finds the beginning of a pattern fast if it is a letter: what is before comes after it
_YEAR = re.compile(r"(?:19|20)(?<!\d..)\d\d(?!\d)", re.DOTALL)
_DAY = r"0?[1-9]|[12]\d|3[01]"
_AFTER_YEAR = re.compile(rf"(?:[-./]|\s?[年년]\s?)(?P<month>0?[1-9]|1[0-2])(?:[-./]|\s?[月월]\s?)(?P<day>{_DAY})(?!\d)")
# which of the two is the day is not known yet
_BEFORE_YEAR = re.compile(rf"(?<!\d)(?P<day>{_DAY})(?P<mark>[-./])\s?(?P<month>{_DAY})(?P=mark)\s?$")
_WORD = re.compile(rf"\d+|{LETTERS}[^\w\s]?")


def dates_in(text: str, language: str) -> set[str]:
    """The dates in *text*, which is in *language* (ISO 639-3), as ``2026-11-23``; of ``3/4/2026`` both.

    >>> sorted(dates_in("2026ko azaroaren 23a, 3/4/2026", "eus"))
    ['2026-03-04', '2026-04-03', '2026-11-23']
    """
    found: set[str] = set()
    text = western_digits(text)
    for match in islice(_YEAR.finditer(text), MAX_READ):
        before, after = text[max(0, match.start() - REACH) : match.start()], text[match.end() : match.end() + REACH]
        found.update(_dates_of(match[0], before, after, language))
    return found


def _dates_of(year: str, before: str, after: str, language: str) -> Iterator[str]:
    """The dates of *year*, by the text *before* and *after* it."""
    if numbers := _AFTER_YEAR.match(after):
        yield _date(year, numbers["month"], numbers["day"])
    elif numbers := _BEFORE_YEAR.search(before):
        if int(numbers["month"]) <= MONTHS:
            yield _date(year, numbers["month"], numbers["day"])
        if int(numbers["day"]) <= MONTHS and numbers["mark"] == "/":
            yield _date(year, numbers["day"], numbers["month"])
    elif named := _named(_WORD.findall(before)[-NEAR:], language) or _named(_WORD.findall(after)[:NEAR], language):
        yield _date(year, *named)


def _named(words: list[str], language: str) -> tuple[int, str] | None:
    """The month that is a name among *words*, and the day next to it."""
    for place, word in enumerate(words):
        if month := _month(word, language):
            day = next(filter(str.isdecimal, (*words[place + 1 : place + 2], *reversed(words[:place]))), "0")
            return (month, day) if 1 <= int(day) <= DAYS else None
    return None


def _date(year: str, month: int | str, day: str) -> str:
    return f"{year}-{int(month):02}-{int(day):02}"


@lru_cache(maxsize=4096)
def _month(word: str, language: str) -> int | None:
    names = _months(language)
    folded = word.casefold().rstrip(".,'’")
    if folded in names or language in UNINFLECTED:
        return names.get(folded)
    return next((month for name, month in names.items() if len(name) >= ENDING and folded.startswith(name)), None)


@lru_cache(maxsize=32)
def _months(language: str) -> dict[str, int]:
    """Names of the months in all scripts of *language*, without their dots."""
    code = to_bcp47(base_of(language))
    own = [name for name in locale_identifiers() if re.fullmatch(rf"{re.escape(code)}(_[A-Z][a-z]{{3}})?", name)]
    return {
        name.casefold().rstrip("."): month
        for identifier, context, width in product(own, ("format", "stand-alone"), ("wide", "abbreviated"))
        for month, name in Locale.parse(identifier).months[context][width].items()
        if not any(map(str.isdigit, name))
    }
