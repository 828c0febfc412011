"""`python -m training.prepare.names`: the names of languages and countries that the package reads, from CLDR.

Writes `bilingual_crawler/languages/names.json`.
"""

from __future__ import annotations

from pathlib import Path

import langcodes
import msgspec
from language_data.names import code_to_names

from bilingual_crawler.languages import codes
from bilingual_crawler.languages.codes import (
    CLD2_ONLY,
    URL_LABELS,
    NameTables,
    country_names,
    fold,
    from_bcp47,
    names_of,
    to_bcp47,
    two_names,
)
from bilingual_crawler.pages.labels import COMMON

INFLECTED_NAMES = {
    "eng": "englanniksi ingelesez ensku ensk englantina angolul anglicky angliški engelska inglesa anglaise "
           "angličtina bl-ingliż 英文 英文版 英語版 영문 ภาษาอังกฤษ अंग्रेजी",
    "fin": "suomeksi finnish suomen", "swe": "ruotsiksi svensk svenska", "rus": "venäjäksi русский по-русски oroszul",
    "deu": "saksaksi alemanez németül deutsche niemiecku", "fra": "frantsesez ranskaksi française franciául",
    "spa": "castellano castellà castelán castillan gaztelania gaztelaniaz gaztelera gazteleraz castilian "
           "espanjaksi española",
    "eus": "euskaraz vasco vascuence euskeraz basca baskisch baskiska", "cat": "valencià valenciano valencian",
    "cym": "gymraeg", "gle": "ghaeilge", "hin": "हिंदी", "heb": "בעברית",
    "mlt": "malti bil-malti maltija maltisch maltais maltés", "isl": "íslenskur íslensku isländska", "hun": "magyarul",
    "ces": "česky čeština", "slk": "slovensky slovenčina", "pol": "polsku", "ara": "عربية العربي عربي بالعربية",
    "tha": "ภาษาไทย", "kat": "ქართული ქართულად", "mya": "မြန်မာဘာသာ", "ita": "italiana italienne", "nno": "nynorsk",
    "nor": "bokmål bokmaal", "lav": "latviski", "lit": "lietuviškai", "hrv": "hrvatska", "srp": "ћирилица",
    "zho": "简体中文 繁體中文 繁体中文 简体 繁體 简 繁 中 简中 繁中 汉语 中文版 正體中文 華語", "jpn": "日 日本語版",
    "kor": "한 한국어판 국문",
}  # fmt: skip
"""Names of languages that CLDR has not: inflected, colloquial or regional."""

DISPLAY_LANGUAGES = """
    en es fr de it pt nl ca eu gl oc is mt fi sv da nb fo et lv lt pl cs sk sl hr sr bs mk bg ro hu el ru uk be tr sq ga
    cy he ar fa hi zh ja ko th vi id sw af
"""
"""Languages in which sites name other languages."""


def labels() -> dict[str, str]:
    """Names of languages in many languages, in lower case with and without diacritics, to ISO 639-3."""
    names: dict[str, str] = {}
    for lang in (*URL_LABELS, *CLD2_ONLY):
        for name in (*names_of(lang), *INFLECTED_NAMES.get(lang, "").split()):
            names.setdefault(name.casefold(), lang)
    for lang in COMMON:
        known = langcodes.Language.get(to_bcp47(lang))
        # language_name looks for the nearest language that has a name, which takes ten times as long
        by_language = code_to_names(known.language)
        for display in DISPLAY_LANGUAGES.split():
            names.setdefault((by_language.get(display) or known.language_name(display)).casefold(), lang)
    for name in list(names):
        if len(name) < 3 and name.isascii():
            del names[name]
        elif len(folded := fold(name)) > 3:
            names.setdefault(folded, names[name])
    return names


def countries() -> dict[str, str]:
    """Country codes and English names in lower case to the main language of the country."""
    found: dict[str, str] = {}
    for code, name in country_names().items():
        language = langcodes.Language.get(f"und-{code}").maximize().language
        if language and (lang := from_bcp47(language)):
            found[code.lower()] = found[name] = lang
    return found


def tables() -> NameTables:
    """All tables of the file."""
    languages = {lang: two_names(lang) for lang in sorted((*URL_LABELS, *CLD2_ONLY))}
    return NameTables(languages, dict(sorted(labels().items())), dict(sorted(countries().items())))


if __name__ == "__main__":
    content = msgspec.json.format(msgspec.json.encode(tables()), indent=1) + b"\n"
    Path(codes.__file__).with_name(codes.NAMES_FILE).write_bytes(content)
