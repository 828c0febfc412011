"""The language that a link names, by a name ("Auf Deutsch"), a code ("EU") or a flag."""

import re
import unicodedata
from functools import lru_cache

from bilingual_crawler.languages.codes import URL_LABELS, from_bcp47, name_tables, to_bcp47
from bilingual_crawler.languages.tables import by_word
from bilingual_crawler.pages.tables import BIBLIOGRAPHIC_CODES, CODES_IN_LABELS, FLAG_NOISE, LABEL_FILLERS
from bilingual_crawler.pages.words import LETTERS

MAX_LABEL = 48  # characters of the longest text that is read as the name of a language
COMMON = URL_LABELS[:100]
_AS_COUNTRY = by_word({"eng": "uk en", "glg": "gal", "eus": "basque euskadi ikurrina", "spa": "espana"})
_PUNCTUATION = "()[]{}<>«»‹›|/\\.,;:!?·•*-–—_=+'\"’“”„→←»▾▼▲… \t\u200b\u200e\u200f\ufeff\ufe0f\xa0"
_BARS = str.maketrans("/()[]", "|||||")
_WORD = re.compile(LETTERS)
_FLAG_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_IMAGE_WORD = re.compile(r"[a-z]+|[^\W\d_]+")
_FLAG = re.compile(r"(?i)flag|flagg|bandera|bandiera|drapeau|lippu|/lang(?:uages?)?/|\bfi fi-|langs?[-_/]")


@lru_cache(maxsize=1)
def _codes() -> dict[str, str]:
    """Two- and three-letter codes of the common languages, and wrong codes that sites use."""
    # the first language with a code has it
    common = {code: lang for lang in ("nno", "cnr", *reversed(COMMON)) for code in (lang, to_bcp47(lang))}
    return {code: from_bcp47(code) or "" for code in BIBLIOGRAPHIC_CODES} | common | CODES_IN_LABELS


@lru_cache(maxsize=32768)
def named_language(text: str) -> str | None:
    """ISO 639-3 of the one language that a short text names ("Íslenska", "Switch to English"); or None."""
    if not text or len(text) > MAX_LABEL:
        return None
    names = name_tables().labels
    # full-width brackets, and letters that are followed by their accents
    whole = unicodedata.normalize("NFKC", text).casefold().strip(_PUNCTUATION)
    if whole in names:
        return names[whole]
    # a part in brackets or between bars stays whole if it is the name of a language
    parts = (part.strip(_PUNCTUATION) for part in whole.translate(_BARS).split("|"))
    found_words = ([part] if part in names else part.split() for part in parts)
    words = [word.strip(_PUNCTUATION) for words in found_words for word in words]
    langs = {names[word] for word in words if word in names}
    if len(langs) != 1:
        return None if langs else _emoji_language(text)
    [found] = langs
    rest = (word for word in words if word not in names and _WORD.fullmatch(word))
    return found if all(word in LABEL_FILLERS or _codes().get(word) == found for word in rest) else None


@lru_cache(maxsize=8192)
def coded_language(text: str) -> str | None:
    """ISO 639-3 of a code in a language switcher (``EN``, ``[eu]``, ``pt-BR``); None if the text is no such code."""
    code = unicodedata.normalize("NFKC", _FLAG_EMOJI.sub("", text)).strip(_PUNCTUATION)
    is_plain = code.islower() or code.isupper() or code.istitle()
    if not 2 <= len(code) <= 7 or not (is_plain or "-" in code or "_" in code):
        return None
    if code == "UK":
        return "eng"
    codes = _codes()
    lower = code.casefold()
    if lower in codes:
        return codes[lower]
    base, separator, region = re.sub("_", "-", lower).partition("-")
    is_region = separator and (len(region) == 2 or region in ("hans", "hant", "latn", "cyrl", "419"))
    return codes.get(base) if is_region else None


@lru_cache(maxsize=8192)
def flagged_language(image: str, on_switch: bool = False) -> str | None:
    """ISO 639-3 of a flag, by text, file name and class of the *image*, one per line; *on_switch*: any image is one."""
    lines = image.split("\n")
    for line in lines:
        if (lang := named_language(line) or (coded_language(line) if len(line) < 4 else None)) is not None:
            return lang
    if not on_switch and not _FLAG.search(image) and not all(len(_stem(line)) < 4 for line in lines):
        return None
    for line in lines:
        line = line.removeprefix("fi ")
        name = _stem(line).casefold().removeprefix("fi-")
        words = [word for word in _IMAGE_WORD.findall(name) if word not in FLAG_NOISE]
        lang = _country_language(" ".join(words)) or (_country_language(words[-1]) if words else None)
        if lang is not None:
            return lang
    return None


def _stem(line: str) -> str:
    return line.rpartition("/")[2].rpartition(".")[0] or line


def _country_language(word: str) -> str | None:
    names = name_tables()
    return _AS_COUNTRY.get(word) or _codes().get(word) or names.countries.get(word) or names.labels.get(word)


def _emoji_language(text: str) -> str | None:
    flags = _FLAG_EMOJI.findall(text)
    if len(flags) != 1 or any(c.isalpha() for c in _FLAG_EMOJI.sub("", text)):
        return None
    code = "".join(chr(ord(c) - 0x1F1E6 + ord("a")) for c in flags[0])
    return name_tables().countries.get(code)
