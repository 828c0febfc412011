"""Languages: ISO 639-3 codes, with or without a script by its ISO 15924 code (``zho_Hant``), names, and a pair."""

import difflib
import pkgutil
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from string import ascii_uppercase

import langcodes
import msgspec
from langcodes import data_dicts
from langcodes.tag_parser import LanguageTagError

from bilingual_crawler.languages.scripts import HANS, HANT, SCRIPTS
from bilingual_crawler.languages.tables import by_word, read_tables

_TABLES = read_tables(__name__)

URL_LABELS: tuple[str, ...] = tuple(_TABLES["url_labels"].split())  # the 161 of url2lang, most frequent first
CLD2_ONLY = ("cnr", "ewe", "gaa", "kri", "loz", "lua", "luo", "nbl", "new", "oss", "pam", "raj", "tum", "twi")
"""Languages that CLD2 has names for, and that are not in :data:`URL_LABELS`."""
MERGED = by_word(_TABLES["merged"])  # codes that identifiers and corpora treat as one language, beside macrolanguages
NAMES: dict[str, list[str]] = _TABLES["names"]  # that CLDR lacks or words differently; the first is shown
COUNTRY_CODES = by_word(_TABLES["country_codes"])  # that sites use as language codes, and that are no language's own
LANGUAGES_OF_COUNTRY: dict[str, str] = _TABLES["languages_of_country"]  # which sites pair with it: `be-fr`
SCRIPTS_OF_REGIONS: dict[str, str] = {"tw": HANT, "hk": HANT, "mo": HANT, "cn": HANS, "sg": HANS}  # of Chinese
NAMES_FILE = "names.json"
UNKNOWN = "un"  # the answer of a language identifier for an unknown language
DEFAULT_EQUIVALENTS: tuple[tuple[str, ...], ...] = (("hrv", "bos", "srp", "cnr"), ("msa", "ind"), ("nor", "nno"))
"""Languages that language identifiers confuse with each other."""

_NOT_A_LANGUAGE = frozenset(("und", "mul", "mis", "zxx", "xxx", "zze", "zzb", "zzh", "zzp", "tlh", UNKNOWN))
_MAX_TAG = 64  # characters of a tag; BCP 47 asks readers to allow 35
_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)


class LanguageError(ValueError):
    """A text names no language, or two languages make no pair."""


def fold(text: str) -> str:
    """*text* in lower case without diacritics; all but letters and digits becomes single blanks."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())


@lru_cache(maxsize=4096)
def _code(code: str) -> str | None:
    """ISO 639-3 of a lower-case ISO 639-1, -2/B, -2/T or -3 code; None if there is no such language."""
    if code in MERGED:
        return MERGED[code]
    if code in _NOT_A_LANGUAGE or not (2 <= len(code) <= 3 and code.isascii() and code.isalpha()):
        return None
    code = _BIBLIOGRAPHIC.get(code, code)
    code = data_dicts.NORMALIZED_MACROLANGUAGES.get(code, code)
    if len(code) == 2:
        code = data_dicts.LANGUAGE_ALPHA3.get(code, "")
        return MERGED.get(code, code) or None
    if code in _WITH_SHORT:
        return code
    valid = not "qaa" <= code <= "qtz" and langcodes.Language.get(code, normalize=False).is_valid()
    return code if valid else None


_WITH_SHORT = frozenset(data_dicts.LANGUAGE_ALPHA3.values())
_BIBLIOGRAPHIC = {b: data_dicts.LANGUAGE_ALPHA3[a] for a, b in data_dicts.LANGUAGE_ALPHA3_BIBLIOGRAPHIC.items()}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Folded English names and endonyms to ISO 639-3, most frequent language first where two share a name."""
    names: dict[str, str] = {}
    others = sorted({code for code in map(_code, data_dicts.LANGUAGE_ALPHA3) if code} - {*URL_LABELS, *CLD2_ONLY})
    for lang in (*URL_LABELS, *CLD2_ONLY, *others):
        for name in names_of(lang):
            names.setdefault(fold(name), lang)
    return names


@lru_cache(maxsize=1024)
def names_of(lang: str) -> tuple[str, ...]:
    """English names of *lang* (ISO 639-3), then its endonyms, without repetitions."""
    names = dict.fromkeys((*NAMES.get(lang, ()), *_two_names(lang)))
    return tuple(name for name in names if not name.lower().startswith(("unknown", "serbian (")))


@lru_cache(maxsize=1024)
def own_name(lang: str) -> str:
    """Endonym of *lang* (ISO 639-3): ``isl`` gives ``íslenska``."""
    return _two_names(lang)[1]


def _two_names(lang: str) -> tuple[str, str]:
    return name_tables().languages.get(lang) or two_names(lang)


def two_names(lang: str) -> tuple[str, str]:
    """English name and endonym of *lang* (ISO 639-3) by CLDR."""
    known = langcodes.Language.get("sr-ME" if lang == "cnr" else to_bcp47(lang))
    return known.language_name("en"), "crnogorski" if lang == "cnr" else known.language_name(known)


@dataclass(frozen=True)
class NameTables:
    """What ``names.json`` holds, by ``python -m training.prepare.names``: CLDR takes .1 s and 20 MB of each process."""

    languages: dict[str, tuple[str, str]]  # English name and endonym of each of `URL_LABELS` and `CLD2_ONLY`
    labels: dict[str, str]  # names in many languages, in lower case with and without diacritics, to ISO 639-3
    countries: dict[str, str]  # country codes and folded English names to the main language of the country, ISO 639-3


@cache
def name_tables() -> NameTables:
    """Read ``names.json``, which may be in an egg."""
    return msgspec.json.decode(pkgutil.get_data(__name__, NAMES_FILE) or b"", type=NameTables)


def parse_language(text: str) -> str:
    """ISO 639-3 of a code (639-1, -2/B, -2/T, -3), BCP 47 tag, English name or endonym, with the script that it names.

    ``zh-Hant`` and ``Traditional Chinese`` give ``zho_Hant``. Raises :class:`LanguageError` naming the text and the
    nearest language, or what the text names beside a language and a script, such as a region.
    """
    folded = fold(text)
    lang = _code(folded) or _names().get(folded)
    if lang is None and len(text.strip()) > 3:
        lang = _from_whole_tag(text.strip(), text) or _from_qualified_name(text) or _from_other_name(text)
    if lang is None:
        raise LanguageError(f"unknown language {text!r}{_suggestion(folded)}")
    return lang


def _from_whole_tag(tag: str, text: str) -> str | None:
    """ISO 639-3 of *tag* with its script, or None; LanguageError, naming *text*, if it names more than these."""
    lang = tag_language(tag)
    if lang is None:
        return None
    _, *rest = re.split("[-_]", tag)
    base, script = base_of(lang), _script_in(rest)
    rest = rest[1:] if script else rest
    # sr-ME is the tag of Montenegrin
    if rest and (base, rest[0].lower()) != ("cnr", "me"):
        raise _more_than(text, "-".join(rest), lang)
    return f"{base}_{script}" if script else base


def _more_than(text: str, rest: str, lang: str) -> LanguageError:
    return LanguageError(f"{text!r} names {rest}, which cannot be told from the text of a page: write {lang}")


def _script_in(subtags: Sequence[str]) -> str:
    """The script that the first of the *subtags* after a language names; empty for others."""
    script = subtags[0].title() if subtags else ""
    return script if script in SCRIPTS else ""


_QUALIFIERS = {"traditional": HANT, "simplified": HANS, "latin": "Latn", "cyrillic": "Cyrl"}


@cache
def _scripts_by_name() -> dict[str, str]:
    return {fold(langcodes.Language.make(script=script).script_name("en")): script for script in SCRIPTS}


def _from_qualified_name(text: str) -> str | None:
    """The language of ``Serbian (Latin)`` or ``Traditional Chinese``; LanguageError for ``Chinese (Taiwan)``."""
    inside = re.fullmatch(r"(.+?)\s*\((.+)\)\s*", text)
    words = text.split()
    ends = [(" ".join(words[1:]), words[0]), (" ".join(words[:-1]), words[-1])]
    for name, qualifier in [(inside[1], inside[2])] if inside else ends:
        lang, folded = _names().get(fold(name)), fold(qualifier)
        if lang is None:
            continue
        if script := _QUALIFIERS.get(folded) or (inside and _scripts_by_name().get(folded)):
            return f"{lang}_{script}"
        if inside or folded in country_names().values():
            raise _more_than(text, qualifier, lang)
    return None


@lru_cache(maxsize=1)
def country_names() -> dict[str, str]:
    """Folded English names of countries by code, in upper case."""
    countries = {a + b: langcodes.Language.make(territory=a + b) for a in ascii_uppercase for b in ascii_uppercase}
    return {code: fold(country.territory_name("en")) for code, country in countries.items() if country.is_valid()}


def _from_other_name(text: str) -> str | None:
    """ISO 639-3 of a rarer language or name, such as Cantonese; LanguageError for Brazilian Portuguese."""
    try:
        lang = _from_whole_tag(langcodes.find(text.strip(), language="en").to_tag(), text)
    except LookupError:
        return None
    # languages without a number of speakers have names that mean something else to most, such as Roma and Karen
    return lang if lang and langcodes.Language.get(to_bcp47(base_of(lang))).speaking_population() else None


def _suggestion(folded: str) -> str:
    candidates = {**_names(), **{lang: lang for lang in (*URL_LABELS, *CLD2_ONLY)}}
    near = difflib.get_close_matches(folded, candidates, n=1, cutoff=0.6)
    lang = COUNTRY_CODES.get(folded) or (candidates[near[0]] if near else None)
    if lang is None:
        return "; use an ISO 639 code such as isl, is or ice, or a name such as Icelandic"
    return f": did you mean {lang} ({language_name(lang)})?"


def from_bcp47(tag: str) -> str | None:
    """ISO 639-3 of a ``hreflang`` or ``lang`` value, or code of CLD2; None for what is no language (``x-default``)."""
    return base_of(tag_language(tag) or "") or None


def tag_language(tag: str) -> str | None:
    """As :func:`from_bcp47`, with the script that *tag* names: ``zh-Hant`` and ``zh-TW`` give ``zho_Hant``."""
    # the cache must not keep what strangers write at any length
    return _from_tag(tag) if len(tag) <= _MAX_TAG else None


@lru_cache(maxsize=4096)
def _from_tag(tag: str) -> str | None:
    tag = tag.strip()
    if not _TAG.fullmatch(tag):
        return None
    language, *rest = re.split("[-_]", tag.lower())
    lang = "cnr" if language in ("sr", "srp") and "me" in rest else _code(language)
    script = _script_in(rest)
    if lang == "zho" and rest and not script:
        script = SCRIPTS_OF_REGIONS.get(rest[0], "")
    return f"{lang}_{script}" if lang and script else lang


def base_of(lang: str) -> str:
    """*lang* without its script: ``zho_Hant`` gives ``zho``."""
    return lang.partition("_")[0]


def may_be(one: str, other: str) -> bool:
    """Whether both may be the same: ``zho`` and ``zho_Hant`` may, ``zho_Hans`` and ``zho_Hant`` may not."""
    return one == other or (base_of(one) == base_of(other) and ("_" not in one or "_" not in other))


def macrolanguage(lang: str) -> str | None:
    """The language that *lang* is a part of, both ISO 639-3: Kurdish (kur) of Sorani (ckb); or None."""
    wide = from_bcp47(data_dicts.MACROLANGUAGES.get(to_bcp47(lang), ""))
    return None if wide == lang else wide


@lru_cache(maxsize=1024)
def to_bcp47(lang: str) -> str:
    """Shortest BCP 47 tag of a language: ``eng`` gives ``en``, ``zho_Hant`` gives ``zh-Hant``."""
    base, _, script = lang.partition("_")
    short = _SHORT.get(base, base)
    return f"{short}-{script}" if script else short


# Current codes take precedence over withdrawn ones, and no over nb.
_RARE = ("iw", "jw", "in", "ji", "mo", "sh", "nb")
_SHORT = {_code(one): one for one in reversed(data_dicts.LANGUAGE_ALPHA3) if len(one) == 2 and one not in _RARE}


@lru_cache(maxsize=1024)
def language_name(lang: str) -> str:
    """English name of a language, such as ``Chinese (Traditional)``; *lang* itself if it has none, or is no code."""
    if lang == UNKNOWN:
        return "unknown"
    base, _, script = lang.partition("_")
    try:
        name = next(iter(names_of(base)), base)
        return f"{name} ({langcodes.Language.make(script=script).script_name('en')})" if script else name
    except LanguageTagError:
        return lang


@dataclass(frozen=True)
class LanguagePair:
    """The two languages of a crawl, each with or without its script, in the user's order, and what counts as them."""

    a: str
    b: str
    equivalents: frozenset[frozenset[str]] = frozenset(map(frozenset, DEFAULT_EQUIVALENTS))

    def __post_init__(self) -> None:
        if base_of(self.a) == base_of(self.b):
            raise LanguageError(f"a pair needs two languages, not {language_name(base_of(self.a))} twice")

    @classmethod
    def parse(cls, text: str, equivalents: Iterable[str | Collection[str]] = DEFAULT_EQUIVALENTS) -> "LanguagePair":
        """Pair of ``eng-mlt``, ``en-mt``, ``English-Maltese`` or ``English,Maltese``; raises :class:`LanguageError`.

        A language may have a script: ``eng-zho_Hant``, ``en-zh-Hant``, ``English,Traditional Chinese``.
        *equivalents* are classes of languages that count as one: ``"hrv bos srp"`` or sequences of codes.
        """
        parts = split_pair(text)
        if len(parts) != 2:
            raise LanguageError(f"{text!r} is not a pair of languages: write it like eng-isl or English-Icelandic")
        a, b = map(parse_language, parts)
        if country := _country_of_locale(text):
            raise LanguageError(
                f"{text!r} may be {language_name(a)} in {country}, which is one language, or the pair {a}-{b} "
                f"({language_name(a)} and {language_name(b)}): write {a}-{b}, or two other languages"
            )
        return cls(a, b, parse_equivalents(equivalents))

    def side(self, lang: str) -> str | None:
        """The language of the pair that *lang* counts as, ``zho`` as ``zho_Hant``; None if neither or both."""
        if lang in (self.a, self.b):
            return lang
        base, _, script = lang.partition("_")
        side = self._sides.get(base)
        differs = side and script and "_" in side and not side.endswith(f"_{script}")
        return None if differs else side

    @cached_property
    def _sides(self) -> dict[str, str]:
        """The side that each language without a script counts as."""
        own = {base_of(side): side for side in (self.a, self.b)}
        groups = {lang: [group for group in self.equivalents if lang in group] for lang in self.languages - own.keys()}
        counted = {lang: {own[one] for group in some for one in group & own.keys()} for lang, some in groups.items()}
        return own | {lang: sides.pop() for lang, sides in counted.items() if len(sides) == 1}

    @cached_property
    def bases(self) -> frozenset[str]:
        """Both languages without scripts."""
        return frozenset((base_of(self.a), base_of(self.b)))

    @cached_property
    def languages(self) -> frozenset[str]:
        """Both languages and those that count as one of them, without scripts."""
        return self.bases.union(*(group for group in self.equivalents if not group.isdisjoint(self.bases)))

    def is_other(self, lang: str | None, side: str | None) -> bool:
        """Whether *lang* counts as the language of the pair that is not *side*; False if either is unknown."""
        return lang is not None and side is not None and self.side(lang) == self.other(side)

    def other(self, lang: str) -> str:
        """The other side of *lang*; raises :class:`ValueError` if it is not one of the two languages."""
        if lang not in (self.a, self.b):
            raise ValueError(f"{lang!r} is not a language of the pair {self}")
        return self.b if lang == self.a else self.a

    def __str__(self) -> str:
        return f"{self.a}-{self.b}"


def parse_equivalents(classes: Iterable[str | Collection[str]]) -> frozenset[frozenset[str]]:
    """Classes of languages from ``"hrv bos srp"`` or sequences of codes; raises :class:`LanguageError`."""
    groups = [re.split(r"[\s,]+", one.strip()) if isinstance(one, str) else one for one in classes]
    langs = {text: parse_language(text) for group in groups for text in group}
    if text := next((text for text, lang in langs.items() if lang != base_of(lang)), None):
        written = f"write {base_of(langs[text])}"
        raise LanguageError(f"{text!r} names a script, which languages that count as one lack: {written}")
    return frozenset(frozenset(langs[text] for text in group) for group in groups if group)


def split_pair(text: str) -> list[str]:
    """The texts for the two languages of a pair; empty if *text* cannot be split in two."""
    for separator in (r"\s*[,;:/+|]\s*", r"\s+-\s+", r"-", r"_"):
        parts = re.split(separator, text.strip())
        if len(parts) == 2:
            return parts
    # zh-Hant-en or en-zh-Hant: the only cut with a language on both sides.
    pieces = text.strip().split("-")
    cuts = [("-".join(pieces[:i]), "-".join(pieces[i:])) for i in range(1, len(pieces))]
    good = [cut for cut in cuts if all(map(_is_language, cut))]
    return list(good[0]) if len(good) == 1 else []


def _country_of_locale(text: str) -> str | None:
    """The country in ``zh-TW``: its code is also that of a language (Twi), which is not one of the country's own."""
    language, _, country = text.strip().lower().replace("_", "-").partition("-")
    spoken = LANGUAGES_OF_COUNTRY.get(country, "").split()
    # en-eu and en-uk are English and Basque, English and Ukrainian: nobody's locale is that of a union or of UK for GB
    if language not in spoken or country in spoken or country in ("eu", "uk"):
        return None
    return langcodes.Language.make(territory=country.upper()).territory_name("en")


def _is_language(text: str) -> bool:
    """Whether *text* is a language, or one with its region, whose code in small letters may be another language."""
    try:
        parse_language(text)
    except LanguageError:
        return from_bcp47(text) is not None and not any(tag.islower() and _code(tag) for tag in text.split("-")[1:])
    return True
