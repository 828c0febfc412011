"""Dates in texts, the same for every language and way of writing."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING

from babel import Locale
from babel.localedata import locale_identifiers

from bilingual_crawler.languages import to_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_READ = 500
"""Dates and years of a text that are looked at, the first ones."""
NEAR = 4
"""Words between which day, month and year stand."""
ENDING = 4
"""Letters from which on the name of a month may have an ending: Basque *martxoaren*."""

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_PART = r"(?P<{}>0?[1-9]|[12]\d|3[01])"
_YEAR_FIRST = re.compile(
    rf"(?<!\d){_YEAR}(?:[-./]|\s?[年년]\s?){_PART.format('month')}(?:[-./]|\s?[月월]\s?){_PART.format('day')}(?!\d)"
)
_YEAR_LAST = re.compile(
    rf"(?<!\d){_PART.format('day')}(?P<mark>[-./])\s?{_PART.format('month')}(?P=mark)\s?{_YEAR}(?!\d)"
)
_YEAR_ALONE = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
_WORD = re.compile(r"\d+|[^\W\d_]+[^\w\s]?")


def dates_in(text: str, language: str) -> set[str]:
    """The dates in *text*, which is in *language* (ISO 639-3), as ``2026-11-23``.

    Of ``3/4/2026`` it cannot be known whether it begins with the day; both dates are given.

    >>> sorted(dates_in("2026ko azaroaren 23a, 3/4/2026", "eus"))
    ['2026-03-04', '2026-04-03', '2026-11-23']
    """
    found: set[str] = set()
    for match in (*islice(_YEAR_FIRST.finditer(text), MAX_READ), *islice(_YEAR_LAST.finditer(text), MAX_READ)):
        year, month, day = (int(match[part]) for part in ("year", "month", "day"))
        found.update(_dates(year, month, day))
        if match.re is _YEAR_LAST and match["mark"] == "/":
            found.update(_dates(year, day, month))
    for match in islice(_YEAR_ALONE.finditer(text), MAX_READ):
        before = _WORD.findall(text[max(0, match.start() - 40) : match.start()])[-NEAR:]
        after = _WORD.findall(text[match.end() : match.end() + 40])[:NEAR]
        found.update(_named(int(match["year"]), before, language) or _named(int(match["year"]), after, language))
    return found


def _named(year: int, words: list[str], language: str) -> set[str]:
    """The date of *year* whose month is a name among *words*, next to the day."""
    for place, word in enumerate(words):
        month = _month(word, language)
        if month:
            days = [word for word in (*words[place + 1 : place + 2], *reversed(words[:place])) if word.isdecimal()]
            return set(_dates(year, month, int(days[0]))) if days else set()
    return set()


def _dates(year: int, month: int, day: int) -> Iterator[str]:
    if month <= 12 and 1 <= day <= 31:
        yield f"{year}-{month:02}-{day:02}"


@lru_cache(maxsize=4096)
def _month(word: str, language: str) -> int | None:
    """The number of the month that *word* names."""
    names = _months(language)
    folded = word.casefold()
    if not folded[0].isalpha():
        return None
    if folded.rstrip(".,'’") in names:
        return names[folded.rstrip(".,'’")]
    return next((month for name, month in names.items() if len(name) >= ENDING and folded.startswith(name)), None)


@lru_cache(maxsize=32)
def _months(language: str) -> dict[str, int]:
    """Names of the months in all scripts of *language*, without their dots."""
    code = to_bcp47(language)
    own = [name for name in locale_identifiers() if re.fullmatch(rf"{re.escape(code)}(_[A-Z][a-z]{{3}})?", name)]
    return {
        name.casefold().rstrip("."): month
        for identifier, context, width in product(own, ("format", "stand-alone"), ("wide", "abbreviated"))
        for month, name in Locale.parse(identifier).months[context][width].items()
        if not any(map(str.isdigit, name))
    }
