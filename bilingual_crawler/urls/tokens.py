"""Tokens of URLs that name a language: codes and names, those that sites use beyond the standards included.

The rules of :mod:`bilingual_crawler.urls.marks` read them; the pair model has its own in
:mod:`bilingual_crawler.urls.parts`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from langcodes.data_dicts import LANGUAGE_ALPHA3, LANGUAGE_ALPHA3_BIBLIOGRAPHIC

from bilingual_crawler.languages.codes import (
    CLD2_ONLY,
    COUNTRY_CODES,
    LANGUAGES_OF_COUNTRY,
    URL_LABELS,
    fold,
    from_bcp47,
    names_of,
    own_name,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODES_IN_URLS: dict[str, str] = {
    **COUNTRY_CODES,
    # Country codes in place of language codes.
    "kr": "kor", "se": "swe sme", "si": "slv sin", "ba": "bos bak", "am": "amh hye", "ge": "kat", "uk": "ukr eng",
    "br": "bre por", "ee": "est ewe", "ir": "fas", "tw": "zho twi", "hk": "zho", "in": "ind",
    # Abbreviations.
    "sp": "spa", "esp": "spa", "cas": "spa", "es-la": "spa", "ger": "deu", "jap": "jpn", "ned": "nld", "va": "cat",
    "val": "cat", "ang": "eng", "slo": "slk slv", "tc": "zho", "cht": "zho", "chs": "zho", "zht": "zho", "zhs": "zho",
    "zhcn": "zho", "zhtw": "zho", "ptbr": "por", "enus": "eng", "engb": "eng",
    # Withdrawn or narrower codes.
    "iw": "heb", "ji": "yid", "jw": "jav", "mo": "ron", "sh": "srp", "fil": "tgl", "nb": "nor", "nob": "nor",
    "cmn": "zho", "arb": "ara", "pes": "fas", "scr": "hrv", "scc": "srp", "mol": "ron",
    # Scripts and variants.
    "simplified-chinese": "zho", "traditional-chinese": "zho", "chinese-simplified": "zho",
    "chinese-traditional": "zho", "zh-hans": "zho", "zh-hant": "zho", "brazilian": "por",
    "brazilian-portuguese": "por", "ca-valencia": "cat", "sr-latin": "srp", "sr-lat": "srp", "sr-cyr": "srp",
    # Names in neighbours' languages.
    "inglese": "eng", "englisch": "eng", "anglais": "eng", "ingles": "eng", "enska": "eng", "ingelesa": "eng",
    "angol": "eng", "engelska": "eng", "engels": "eng", "tedesco": "deu", "allemand": "deu", "aleman": "deu",
    "frances": "fra", "francese": "fra", "espagnol": "spa", "espanyol": "spa", "gaztelania": "spa",
    "gaztelera": "spa", "suomeksi": "fin", "finska": "fin", "ruotsi": "swe", "valenciano": "cat", "italien": "ita",
    "cestina": "ces", "cesky": "ces", "slovensky": "slk", "russisch": "rus", "russkij": "rus", "af-soomaali": "som",
    "bokmaal": "nor",
}  # fmt: skip
"""Tokens outside ISO 639 and the languages' names, with the languages meant, likeliest first."""

ON_MANY_SITES = _words("""
    eng deu rus fra zho spa jpn ita nld pol por ces vie tur ind swe ara fas kor hun ell ron dan fin tha slk nor ukr bul
    cat srp hrv slv lit hin est heb lav msa bos sqi glg isl aze kat mkd eus hye urd kaz nno bel uzb cym afr gle mlt fao
    ltz ben mon nep khm mya tgl swa cnr epo
""")
"""Languages whose two-letter codes, as a whole path segment, usually mean the language."""

NEVER_ALONE = _words("""
    sp in sc tc ch la os ae cr li av lu om gn wa ng to ss cv mh ia za sm ho ki sa nr pi io ie ce bi an at hz kj
    ces ben mac geo fin est dan cat may mar mon bel slo ice rum bos per tel tam sin som nor man mao val her latin
""")
"""Codes that, as a path segment, are rarely a language (page languages of 150,000 URLs): only after a language key, or
when the caller names the language."""

NEVER_LATER = _words("id br gb se ga me by gl am my so hi ba uz rs ee ir il al hk")
"""Codes that mean a language in the first path segment and seldom in later ones."""

NEVER_SUBDOMAIN = _words("cs my me co lo mo cu")
"""Codes that name departments, services and places as subdomains (``cs.example.edu``, ``my.example.com``)."""

SURE_CODES = _words("eng rus fra fre deu ger spa esp ita ukr ara hye arm tha kor por jpn vie zho tur pol eus isl mlt")
"""Codes of three letters that mean a language anywhere."""

AFFIX_CODES = _words("""
    ar bg bs ca cs cz de el en es et eu fa fi fr gl gr he hr hu hy ja jp ka kk ko kr lt lv mk mt nb nl nn pl pt ro ru
    sk sl sq sr sv th tr ua uk ur vi zh cn id
    eng deu ger fra fre spa esp ita por nld rus pol ces cze hun ell swe isl eus baq cym wel gle mlt jpn kor zho chi ara
    tur hrv srp slv slk bul lav lit ukr slo ang
""")
"""Codes that mark a language at the end of a file name (``page-fr.html``, ``index_en.php``)."""

LIMITED_AFFIX_CODES = _words("is it no da sv se hi ms be my so to in si am az ka te ta km lo ne sw af ga cy lb fo")
"""Codes that are words or abbreviations too: marks after ``.`` or ``_``, or after the only ``-`` of a file name."""

LETTERS = {"e": "eng", "f": "fra"}
"""English and French at the end of file names on Canadian and United Nations sites, in a crawl for both."""

PHRASE_STEMS = _words("""
    about contact follow join call meet email write support tell trust with for add log sign check plug opt drop built
    how as what this that who where when here there why so or if and not do go say said yes back up walk stand fill
    made all day best word cd dvd bit page a the learn speak study teach read business
""")
"""Names after which ``-is``, ``-in``, ``-us`` and the like belong to a phrase (``about-us``, ``log-in``)."""

COMMON_WORDS = _words("""
    am an as at be by ca co da de do el es et ga ge gr he hi id in io ir is it la lo ma me mi ml mo mr ms my na ne no
    or os pa pm ps sa sc se sg sh si so sp st su te ti tk to tv uk us va vi vo we wo may per geo mac slo dan fin est
    cat mar mon nor ben som sin tam tel man pan ice polish thai br mx ang
""")
"""Language tokens that often have another meaning; their marks are weak."""

LANGUAGE_KEYS = _words("""
    lang language locale lng lg ln l hl langue langua idioma idiom sprache lingua kieli hizkuntza sprak taal jezik
    jazyk tungumal langid languageid langcode languagecode idlang idlanguage idlangue ididioma setlang setlanguage
    setlocale changelang uselang newlang sellang selectedlang selectedlanguage selectedlocale mylang culture
    uiculture uilocale uilang clang loc plang currentlang sitelang langsel weblang lc lan lid dil limba siteidioma
    langpair mlang currlang curlang hizk idi lingue langage sitelanguage setlocale lgn sprach spr
""")
"""Query keys (lower case, without ``-`` and ``_``) whose value is a language."""

OPAQUE_KEYS = LANGUAGE_KEYS - _words("l hl ln lg lc lid dil loc culture idiom limba spr idi lan")
"""Keys whose value is a language even if it is no code (``lang=1``)."""

ANNOUNCING = _words("lang language languages locale locales langs lng langue idioma i18n l10n translations")
"""Path segments or name parts that announce a language in the next one (``/lang/en/``, ``lang-en``)."""

SUFFIX_LANGUAGES: dict[str, str] = {
    "eus": "eus", "cat": "cat", "gal": "glg", "bzh": "bre", "cymru": "cym", "wales": "cym", "frl": "fry",
    "quebec": "fra", "is": "isl", "de": "deu", "at": "deu", "fr": "fra", "es": "spa", "it": "ita", "pt": "por",
    "br": "por", "pl": "pol", "cz": "ces", "sk": "slk", "hu": "hun", "ro": "ron", "bg": "bul", "gr": "ell",
    "tr": "tur", "ru": "rus", "ua": "ukr", "by": "rus", "lt": "lit", "lv": "lav", "ee": "est", "fi": "fin",
    "se": "swe", "no": "nor", "dk": "dan", "nl": "nld", "hr": "hrv", "si": "slv", "rs": "srp", "ba": "bos",
    "mk": "mkd", "al": "sqi", "il": "heb", "ir": "fas", "jp": "jpn", "cn": "zho", "tw": "zho", "hk": "zho",
    "kr": "kor", "vn": "vie", "th": "tha", "id": "ind", "mx": "spa", "ar": "spa", "cl": "spa", "co": "spa",
    "pe": "spa", "ve": "spa", "uy": "spa", "ec": "spa", "cr": "spa", "sa": "ara", "eg": "ara", "uk": "eng",
    "us": "eng", "au": "eng", "nz": "eng", "ie": "eng", "gov": "eng", "edu": "eng", "mil": "eng", "mt": "mlt",
    "za": "eng", "am": "hye", "ge": "kat", "az": "aze", "kz": "rus", "mn": "mon", "fo": "fao", "do": "spa",
    "py": "spa", "cu": "spa", "bo": "spa", "hn": "spa", "gt": "spa", "sv": "spa", "ni": "spa", "pa": "spa",
    "pr": "spa", "md": "ron", "uz": "uzb", "kg": "kir", "tj": "tgk", "cy": "ell", "np": "nep", "kh": "khm",
    "bd": "ben", "ae": "ara", "tn": "ara", "dz": "ara", "jo": "ara", "sy": "ara", "iq": "ara", "ps": "ara",
    "ly": "ara", "ye": "ara", "om": "ara", "kw": "ara", "qa": "ara", "bh": "ara", "ma": "ara", "cd": "fra",
    "bj": "fra", "sn": "fra", "ci": "fra", "bf": "fra", "tg": "fra", "ao": "por", "mz": "por", "ad": "cat",
    "tz": "swa", "so": "som", "tatar": "tat", "xn--p1ai": "rus", "ca": "eng",
}  # fmt: skip
"""Last label of the public suffix to the language most of its pages are in (weak evidence)."""


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
        add(short, from_bcp47(short))
        add(code, from_bcp47(code))
    for short, code in LANGUAGE_ALPHA3_BIBLIOGRAPHIC.items():
        add(code, from_bcp47(short))
    for lang in (*URL_LABELS, *CLD2_ONLY):
        add(lang, lang)
        for name in names_of(lang):
            for form in (fold(name).replace(" ", "-"), fold(name).replace(" ", ""), name.lower()):
                if len(form) > 2 or not form.isascii():
                    add(form, lang)
    return {token: tuple(langs) for token, langs in table.items()}


@lru_cache(maxsize=16384)
def languages_of(token: str) -> tuple[str, ...]:
    """ISO 639-3 of the languages that *token* as a whole may name, likeliest first; empty without one.

    ``en``, ``ENG``, ``english``, ``en_GB``, ``be-fr``, ``zh-hans``, ``suomi``; wrong but common ones such as ``cz``.
    """
    token = _CHARSET.sub("", token)
    if _WRITTEN_LOCALE.fullmatch(token):
        return _table().get(token[: token.index(token[-3])], ())
    token = token.lower().replace("_", "-").replace(" ", "-")
    known = _table().get(token)
    if known is not None:
        return known
    if not token.isascii():
        return _table().get(fold(token).replace(" ", "-"), ())
    locale = _LOCALE.fullmatch(token)
    return _table().get(_language_of_locale(locale[1], locale[2]), ()) if locale is not None else ()


def _language_of_locale(first: str, second: str | None) -> str:
    """The language in ``first-second``, a language and a country in either order; empty if neither fits."""
    if second is None:
        return "" if first in COMMON_WORDS and first not in ("de", "es") else first
    if first in LANGUAGES_OF_COUNTRY.get(second, "").split():
        return first
    if second in LANGUAGES_OF_COUNTRY.get(first, "").split():
        return second
    words = first in COMMON_WORDS and second in COMMON_WORDS
    foreign = first in _LOCALE_LANGUAGES and second in LANGUAGES_OF_COUNTRY and not words
    return first if foreign or first == second else ""


_LOCALE_LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "nl", "pt", "ru", "zh"))
"""Languages used with countries where they are foreign (``en-de``, ``ru-lt``)."""


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    """Endonyms, *English* among them: unlike ``italian`` they are no topics of pages."""
    return frozenset(fold(own_name(lang)).replace(" ", "-") for lang in URL_LABELS)


def pick(token: str, languages: frozenset[str] | None, first: bool) -> str | None:
    """The language that *token*, a whole path segment or value, stands for; None if it is more likely a word.

    *first*: the token is where sites name languages (first segment, subdomain, value of a language key).
    """
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
    return langs[0] if len(token) > 3 or _code_stands_alone(token, langs[0], first) else None


def _code_stands_alone(code: str, lang: str, first: bool) -> bool:
    if code in NEVER_ALONE:
        return False
    if len(code) == 3:
        return code in SURE_CODES or (first and lang in ON_MANY_SITES)
    return first or (lang in ON_MANY_SITES and code not in NEVER_LATER)
