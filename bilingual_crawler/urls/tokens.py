"""Tokens of URLs that name a language, as the rules of ``marks`` read them: codes and names, common errors included."""

import re
from functools import lru_cache

from langcodes.data_dicts import LANGUAGE_ALPHA3, LANGUAGE_ALPHA3_BIBLIOGRAPHIC

from bilingual_crawler.languages import codes
from bilingual_crawler.languages.tables import by_word, read_tables, words

_TABLES = read_tables(__name__)

CODES_IN_URLS = codes.COUNTRY_CODES | by_word(_TABLES["codes_in_urls"])  # beside ISO 639 and names, likeliest first
ON_MANY_SITES = words(_TABLES["on_many_sites"])  # languages whose two-letter codes, as a segment, usually mean them
NEVER_ALONE = words(_TABLES["never_alone"])  # rarely a language as a segment (pages of 150,000 URLs)
NEVER_LATER = words(_TABLES["never_later"])  # codes that mean a language in the first segment only
NEVER_SUBDOMAIN = words(_TABLES["never_subdomain"])  # departments, services, places: `cs.example.edu`
SURE_CODES = words(_TABLES["sure_codes"])  # codes of three letters that mean a language anywhere
AFFIX_CODES = words(_TABLES["affix_codes"])  # at the end of a file name: `page-fr.html`, `index_en.php`
LIMITED_AFFIX_CODES = words(_TABLES["limited_affix_codes"])  # words too: after `.`, `_`, or the only `-`
LETTERS = {"e": "eng", "f": "fra"}  # at the end of file names of Canada and the United Nations, in a crawl for both
PHRASE_STEMS = words(_TABLES["phrase_stems"])  # before `-is`, `-in`, `-us` that belong to a phrase (`log-in`)
COMMON_WORDS = words(_TABLES["common_words"])  # language tokens that often have another meaning; their marks are weak
LANGUAGE_KEYS = words(_TABLES["language_keys"])  # of queries, in lower case without `-` and `_`
OPAQUE_KEYS = LANGUAGE_KEYS - words(_TABLES["seldom_opaque_keys"])  # also with a value that is no code (`lang=1`)
ANNOUNCING = words(_TABLES["announcing"])  # before a language in a path or name (`/lang/en/`, `lang-en`)
SUFFIX_LANGUAGES = by_word(_TABLES["suffix_languages"])  # of most pages below a top-level domain (weak)

_LOCALE = re.compile(r"([a-z]{2,3})-(?:(?:latn|cyrl|hans|hant|arab)(?:-[a-z]{2})?|([a-z]{2})|419|001|150)")
_WRITTEN_LOCALE = re.compile(r"[a-z]{2,3}[-_][A-Z]{2}")
_CHARSET = re.compile(r"\.utf-?8$", re.IGNORECASE)


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}

    def add(token: str, lang: str | None) -> None:
        if lang is not None:
            table.setdefault(token, {})[lang] = None

    for token, langs in CODES_IN_URLS.items():
        for lang in langs.split():
            add(token, lang)
    for short, code in LANGUAGE_ALPHA3.items():
        add(short, codes.from_bcp47(short))
        add(code, codes.from_bcp47(code))
    for short, code in LANGUAGE_ALPHA3_BIBLIOGRAPHIC.items():
        add(code, codes.from_bcp47(short))
    for lang in (*codes.URL_LABELS, *codes.CLD2_ONLY):
        add(lang, lang)
        for name in codes.names_of(lang):
            for form in (codes.fold(name).replace(" ", "-"), codes.fold(name).replace(" ", ""), name.lower()):
                if len(form) > 2 or not form.isascii():
                    add(form, lang)
    return {token: tuple(langs) for token, langs in table.items()}


@lru_cache(maxsize=16384)
def languages_of(token: str) -> tuple[str, ...]:
    """ISO 639-3 of the languages that *token* as a whole (``en_GB``, ``suomi``, ``cz``) may name, likeliest first."""
    token = _CHARSET.sub("", token)
    if _WRITTEN_LOCALE.fullmatch(token):
        return _table().get(token[: token.index(token[-3])], ())
    token = token.lower().replace("_", "-").replace(" ", "-")
    known = _table().get(token)
    if known is not None:
        return known
    if not token.isascii():
        return _table().get(codes.fold(token).replace(" ", "-"), ())
    locale = _LOCALE.fullmatch(token)
    return _table().get(_language_of_locale(locale[1], locale[2]), ()) if locale is not None else ()


def _language_of_locale(first: str, second: str | None) -> str:
    """The language in ``first-second``, a language and a country in either order; empty if neither fits."""
    if second is None:
        return "" if first in COMMON_WORDS and first not in ("de", "es") else first
    if first in codes.LANGUAGES_OF_COUNTRY.get(second, "").split():
        return first
    if second in codes.LANGUAGES_OF_COUNTRY.get(first, "").split():
        return second
    words = first in COMMON_WORDS and second in COMMON_WORDS
    foreign = first in _LOCALE_LANGUAGES and second in codes.LANGUAGES_OF_COUNTRY and not words
    return first if foreign or first == second else ""


_LOCALE_LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "nl", "pt", "ru", "zh"))  # abroad too (`en-de`)


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    """Endonyms, *English* among them: unlike ``italian`` they are no topics of pages."""
    return frozenset(codes.fold(codes.own_name(lang)).replace(" ", "-") for lang in codes.URL_LABELS)


def pick(token: str, languages: frozenset[str] | None, first: bool) -> str | None:
    """The language that a whole segment or value stands for; None for words. *first*: where sites name languages."""
    langs = languages_of(token)
    token = token.lower()
    if languages is not None and token in languages:
        return token
    if not langs:
        return None
    is_name = len(token) > 3 and token.isascii() and "-" not in token and "_" not in token
    if is_name and not first and token not in _own_names():
        return None
    if languages is not None:
        return next((lang for lang in langs if lang in languages), None)
    stands_alone = token not in NEVER_ALONE
    if len(token) == 3:
        stands_alone &= token in SURE_CODES or (first and langs[0] in ON_MANY_SITES)
    elif len(token) < 3:
        stands_alone &= first or (langs[0] in ON_MANY_SITES and token not in NEVER_LATER)
    return langs[0] if stands_alone or len(token) > 3 else None
