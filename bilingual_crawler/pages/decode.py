"""Decode the body of a response to text."""

from __future__ import annotations

import codecs
import re
from urllib.parse import quote

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

from bilingual_crawler.languages.codes import from_bcp47

_LANG = re.compile(rb"""(?i)<html[^>]{0,500}?\blang\s*=\s*["']?([a-z]{2,3})""")
_HEAD = 4096

# Codecs of Python that are no encodings of web pages; punycode takes quadratic time.
_REFUSED = frozenset(
    codecs.lookup(name).name
    for name in ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7")
)
_LABELS = {
    "cn_big5": "big5hkscs", "x_x_big5": "big5hkscs", "dos_874": "cp874", "iso885911": "cp874",
    "windows_949": "cp949", "ks_c_5601_1989": "cp949", "ksc_5601": "cp949", "iso_ir_149": "cp949",
    "x_euc_jp": "euc_jp", "x_gbk": "gb18030", "gb_2312": "gb18030",
    "iso_8859_6_e": "iso8859_6", "iso_8859_6_i": "iso8859_6", "iso_8859_8_e": "iso8859_8", "iso_8859_8_i": "iso8859_8",
    "koi": "koi8_r", "koi8": "koi8_r", "koi8_ru": "koi8_u", "mac": "mac_roman", "x_mac_roman": "mac_roman",
    "x_mac_cyrillic": "mac_cyrillic", "x_mac_ukrainian": "mac_cyrillic", "iso88599": "cp1254",
    **{f"x_cp125{n}": f"cp125{n}" for n in range(9)},
    **{f"iso8859{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15)},
}  # fmt: skip
"""Names of encodings on web pages (WHATWG, Encoding) that Python lacks, with underscores."""
# w3lib knows the names that Python knows
codecs.register(lambda label: codecs.lookup(_LABELS[label]) if label in _LABELS else None)

_LEGACY = {
    "cp1250": "ces hrv bos hun pol ron slk slv sqi",
    "cp1251": "bel bul kaz kir mkd mon rus srp tat tgk ukr",
    "cp1253": "ell",
    "cp1254": "aze tur",
    "cp1255": "heb yid",
    "cp1256": "ara fas pus urd",
    "cp1257": "est lav lit",
    "cp1258": "vie",
    "cp874": "tha",
    "cp932": "jpn",
    "cp949": "kor",
    "gb18030": "zho",
    "iso8859_3": "epo mlt",
}
_OF_LANGUAGE = {lang: encoding for encoding, languages in _LEGACY.items() for lang in languages.split()}

_XHTML = "application/xhtml+xml"
_EMPTY_ELEMENT = re.compile(r"""<([a-zA-Z][\w.:-]*+)((?:[^<>"'/]++|"[^"<]*+"|'[^'<]*+'|/(?!>))*+)/>""")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track")
)
_ADDRESS = re.compile(r"""(?i)\b(?:href|src)\s*+=\s*+(?:"[^"<>]*+|'[^'<>]*+|[^"'<>\s]++)""")
_FRAGMENT = re.compile(r"(?<!&)#|#(?![0-9xX])")
"""What begins a fragment, but no character reference (``&#39;``)."""
_NOT_ASCII = re.compile(r"[^\0-\x7f]+")


def decode_body(body: bytes, content_type: str | None) -> str:
    """The text of an HTML (or other text) body; never raises.

    The byte order mark decides, then the charset of *content_type*, then the page's own declaration. Valid UTF-8 is
    read as UTF-8 even if a single-byte encoding was declared. If UTF-8 was declared but the bytes are not UTF-8, the
    page's declaration counts, then the usual encoding of the language that the page declares.

    What browsers do for links and elements is done here: queries of addresses are escaped in the encoding of the page,
    and if *content_type* is that of XHTML, empty elements get end tags (``<script src="x"/>``).
    """
    text = _read(body, content_type)
    if content_type and content_type.strip().lower().startswith(_XHTML):
        text = _EMPTY_ELEMENT.sub(_with_end, text)
    return text


def _with_end(match: re.Match[str]) -> str:
    name = match[1]
    return match[0] if name.lower() in _VOID else f"<{name}{match[2]}></{name}>"


def _read(body: bytes, content_type: str | None) -> str:
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None:
        return _decode(body[len(mark) :], encoding)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    by_header = http_content_type_encoding(content_type)
    declared = by_header or _by_page(body)
    if text is not None and (declared is None or body.isascii() or not _is_wide(declared)):
        return text if not _is_escaped(declared) else _decode(body, declared or "utf-8")
    if declared is None or declared == "utf-8":
        declared = _without_claim(body)
    return _decode(body, declared)


def _by_page(body: bytes) -> str | None:
    """The encoding that the page declares. UTF-16 counts as UTF-8: in UTF-16, the declaration could not be read."""
    declared = html_body_declared_encoding(body)
    return "utf-8" if declared and declared.startswith(("utf-16", "utf-32")) else declared


def _is_wide(encoding: str) -> bool:
    """Whether text in *encoding* can be valid UTF-8 by chance."""
    return encoding.startswith(("utf-16", "utf-32", "gb", "big5", "euc", "shift", "cp932", "cp949", "hz"))


def _is_escaped(encoding: str | None) -> bool:
    """Whether *encoding* writes other letters in bytes that look like ASCII."""
    return encoding is not None and encoding.startswith(("iso2022", "hz", "utf-16", "utf-32"))


def _without_claim(body: bytes) -> str:
    """Encoding of a body without a declaration, or with a false declaration of UTF-8."""
    if not _mostly_utf8(body):
        by_page = _by_page(body)
        if by_page not in (None, "utf-8"):
            return by_page
        match = _LANG.search(body, 0, _HEAD)
        lang = from_bcp47(match[1].decode("ascii")) if match else None
        return _OF_LANGUAGE.get(lang or "", "cp1252")
    return "utf-8"


def _mostly_utf8(body: bytes) -> bool:
    """Whether most letters are well-formed UTF-8, as on a page with a few broken bytes."""
    text = body.decode("utf-8", "replace")
    wrong = text.count("\N{REPLACEMENT CHARACTER}")
    return sum(not c.isascii() for c in text) > 2 * wrong


def _decode(body: bytes, encoding: str) -> str:
    if encoding not in _REFUSED:
        try:
            text = body.decode(encoding, "replace")
            return text if encoding.startswith("utf") else _ADDRESS.sub(lambda m: _escaped(m[0], encoding), text)
        except (LookupError, ValueError):
            pass
    return body.decode("utf-8", "replace")


def _escaped(attribute: str, encoding: str) -> str:
    """*attribute* with escapes for the letters in the query of its address."""
    if attribute.isascii():
        return attribute
    mark = _FRAGMENT.search(attribute)
    end = mark.start() if mark else len(attribute)
    path, question, query = attribute[:end].partition("?")
    query = _NOT_ASCII.sub(lambda match: quote(match[0], encoding=encoding, errors="replace"), query)
    return f"{path}{question}{query}{attribute[end:]}"
