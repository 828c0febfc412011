"""Decode the body of a response to text, and judge whether it is text for people in the letters of its language."""

import codecs
import json
import re
import string
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, resolve_encoding

from bilingual_crawler.languages.codes import base_of, from_bcp47
from bilingual_crawler.pages.sandbox.jobs import ContentError
from bilingual_crawler.pages.tables import ENCODINGS, LABELS_OF_ENCODINGS, LETTERS, VOID_TAGS

_HEAD = 1 << 16  # bytes in which declarations of charset and language count
_CHARSET = re.compile(r"""(?i)(?:^|[;,\s])charset\s*+=\s*+["']?\s*+([\w-]+)""")
_NO_MARKUP = re.compile(rb"(?is)<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1|\Z)")
_META = re.compile(rb"(?i)<meta\s[^<>]*+>")
_LANG = re.compile(
    rb"""(?i)<(?:html|body)\b[^<>]{0,500}?\blang\s*=\s*["']?([a-z]{2,3})\b"""
    rb"""|<meta\s[^<>]{0,200}?\bcontent-language\b[^<>]{0,200}?\bcontent\s*=\s*["']?\s*([a-z]{2,3})\b"""
)
_JAPANESE = (b"\x1b$B", b"\x1b$@")  # escapes of ISO-2022-JP
_UTF16_HEAD = 1 << 12
_TAGS = re.compile(_NO_MARKUP.pattern + rb"|<[^<>]*+>?")
_READ = 1 << 20  # maximum bytes whose text tells their encoding
_SAMPLE, _JUDGED = 1 << 14, 1 << 11  # bytes of lines beside ASCII from which an encoding is guessed; that are judged
_IN_WORD = re.compile(rb"[A-Za-z\x80-\xff][\x80-\xff]|(?<![0-9])[\x80-\xff][A-Za-z]")
_CONTROLS = re.compile(rb"[\x80-\x9f]")  # control characters of ISO 8859, letters or quotation marks elsewhere
_WITHOUT_ISO_8859 = [encoding for encoding in ENCODINGS if not encoding.startswith("iso8859")]
_CODECS = {"euc_jis_2004": "euc_jp"}
_LANGUAGES = {encoding: frozenset(languages.split()) for encoding, languages in ENCODINGS.items()}
_DEFAULT = "cp1252"
# Text in these can be valid UTF-8 by chance.
_WIDE = ("utf-16", "utf-32", "gb", "big5", "euc", "shift", "cp932", "cp949", "hz")
_MISPLACED = re.compile(
    "(?<=[alwyz])[LWYZ]"  # a capital in a word
    "|(?<=[aAlLwW])[yYzZ]|[yYzZ](?=[aAlLwW])"  # two scripts in a word
    "|(?<=[aAlLwWyYzZx])[$](?=[aAlLwWyYzZx])"  # a symbol in a word
    "|(?<=0)[lLwWyYzZ]|[lLwWyYzZ](?=0)"  # a letter beside a digit
    "|(?<![aAlLwWyYzZm])[lLyY](?![aAlLwWyYzZm])"  # a letter alone
)
"""What is rare in text that was decoded rightly, in letters of :func:`_kind`."""
_WORDS = frozenset("àèéòóìíáâåöøæőавеиійкосуяєџήόο")  # letters that are words

# Codecs of Python that are no encodings of web pages; punycode takes quadratic time.
_REFUSED = frozenset(
    codecs.lookup(name).name
    for name in ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7")
)
# w3lib knows the names that Python knows
codecs.register(lambda label: codecs.lookup(LABELS_OF_ENCODINGS[label]) if label in LABELS_OF_ENCODINGS else None)

_EMPTY_ELEMENT = re.compile(r"""<([a-zA-Z][\w.:-]*+)((?:[^<>"'/]++|"[^"<]*+"|'[^'<]*+'|/(?!>))*+)/>""")
_ADDRESS = re.compile(r"""(?i)\b(?:href|src)\s*+=\s*+(?:"[^"<>]*+|'[^'<>]*+|[^"'<>\s]++)""")
_FRAGMENT = re.compile(r"(?<!&)#|#(?![0-9xX])")  # what begins a fragment, but no character reference (`&#39;`)
_NOT_ASCII = re.compile(r"[^\0-\x7f]+")


def decode_body(body: bytes, content_type: str | None, languages: Iterable[str | None] = ()) -> str:
    """The text of an HTML (or other text) body; never raises.

    The byte order mark decides, then *content_type*, then the page, except where the bytes are valid UTF-8. Without
    these a later declaration counts, then what the bytes look like, rather in *languages* (ISO 639-3) than in others.
    As browsers do, queries of addresses are escaped in the page's encoding, and empty elements of XHTML closed.
    """
    text = _read(body, content_type, languages)
    if content_type and content_type.strip().lower().startswith("application/xhtml+xml"):
        text = _EMPTY_ELEMENT.sub(lambda m: m[0] if m[1].lower() in VOID_TAGS else f"<{m[1]}{m[2]}></{m[1]}>", text)
    return text


def _read(body: bytes, content_type: str | None, languages: Iterable[str | None]) -> str:
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None:
        return _decode(body[len(mark) :], encoding)
    if encoding := _utf16(body):
        return _decode(body, encoding)
    text = None
    with suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
    charset = _CHARSET.search(content_type or "")  # also with blanks around `=` and in any quotes
    by_header = http_content_type_encoding(content_type) or (resolve_encoding(charset[1]) if charset else None)
    declared = by_header or _by_page(body)
    if text is not None and (declared is None or body.isascii() or not declared.startswith(_WIDE)):
        # these write other letters in bytes that look like ASCII
        if not (declared or "").startswith(("iso2022", "hz", "utf-16", "utf-32")):
            # one byte is found ten times as fast as three
            is_japanese = b"\x1b" in body and body.isascii() and any(escape in body for escape in _JAPANESE)
            declared = "iso2022_jp" if is_japanese else None
        return _decode(body, declared) if declared else text
    if declared is not None and declared != "utf-8" and not _is_misread(read := _decode(body, declared)):
        return read
    if not _is_misread(body.decode("utf-8", "replace")):
        return _decode(body, "utf-8")
    # a `meta` element may declare it anywhere in the first 64 KB
    late = map(_by_page, _META.findall(_NO_MARKUP.sub(b"", body[:_HEAD])))
    declared = next((encoding for encoding in late if encoding not in (None, "utf-8")), None)
    return _decode(body, declared or _guessed(body, languages))


def _by_page(body: bytes) -> str | None:
    """The encoding that the page declares. UTF-16 counts as UTF-8: in UTF-16, the declaration could not be read."""
    declared = html_body_declared_encoding(body)
    return "utf-8" if declared and declared.startswith(("utf-16", "utf-32")) else declared


def _utf16(body: bytes) -> str | None:
    """The UTF-16 that *body* is in without a mark: every other byte of markup is 0. None if it is in neither."""
    head = body[:_UTF16_HEAD]
    at_odd = head[1::2].count(0)
    at_even = head.count(0) - at_odd
    if max(at_odd, at_even) <= max(len(head) // 8, 9 * min(at_odd, at_even)):
        return None
    encoding = "utf-16-le" if at_odd > at_even else "utf-16-be"
    return encoding if "<".encode(encoding) in head else None


def _is_misread(text: str) -> bool:
    """Whether most bytes beside ASCII could not be decoded, more than a few broken ones."""
    wrong = text.count("\N{REPLACEMENT CHARACTER}")
    return wrong > 0 and sum(not c.isascii() for c in text) <= 2 * wrong


def _guessed(body: bytes, languages: Iterable[str | None]) -> str:
    """The encoding in which the text of *body* reads best."""
    import chardet  # its models take 40 MB, and few pages need them

    sample = _beside_ascii(_TAGS.sub(b"\n", body[:_READ])) or _beside_ascii(body)
    if not _IN_WORD.search(sample):
        return _DEFAULT
    match = _LANG.search(body, 0, _HEAD)
    declared = from_bcp47((match[1] or match[2]).decode("ascii")) if match else None
    expected = {base_of(lang) for lang in (*languages, declared) if lang}
    candidates = _WITHOUT_ISO_8859 if _CONTROLS.search(sample) else ENCODINGS
    found = chardet.detect_all(sample, ignore_threshold=True, compat_names=False, include_encodings=candidates)
    odds = {one["encoding"]: one["confidence"] for one in found if one["encoding"] is not None}
    least = max(odds.values(), default=0.0) / 8
    likely = {one: chance * _fit(sample[:_JUDGED], one, expected) for one, chance in odds.items() if chance >= least}
    best = max(likely, key=likely.__getitem__, default=_DEFAULT)
    return _CODECS.get(best, best)


def _fit(sample: bytes, encoding: str, expected: set[str]) -> float:
    """How plausible *sample* is in *encoding*, 0 to 2: 2 if all is in the letters of an expected language."""
    text = sample.decode(_CODECS.get(encoding, encoding), "replace")
    letters = "".join(filter(str.isalpha, "".join(_NOT_ASCII.findall(text))))
    known = max((share_of_own(letters, lang) for lang in expected & _LANGUAGES[encoding]), default=0.0)
    kinds = "".join(map(_kind, text))
    misplaced = len(_MISPLACED.findall(kinds)) / max(1, sum(map(kinds.count, "lLwWyYzZx$.")))
    return (1 - misplaced) * (1 + known)


def share_of_own(letters: str, language: str) -> float:
    """The share of *letters* beside ASCII that *language* is written with; 1 if these are unknown."""
    own = LETTERS.get(language)
    return sum(map(letters.count, own + own.upper())) / (len(letters) or 1) if own else 1.0


def _beside_ascii(text: bytes) -> bytes:
    """The first lines of *text* that are not ASCII."""
    return b"\n".join(line for line in text.split(b"\n") if not line.isascii())[:_SAMPLE]


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    """The kind of *character*.

    ``a``: letter of ASCII, ``l``: other Latin one, ``w``: one that is a word, ``y`` and ``z``: of other scripts;
    all in upper case for capitals. ``x``: without case, ``m``: mark, ``0``: digit, ``.``: punctuation, ``$``: others.
    """
    category = unicodedata.category(character)
    if character.isascii():
        kind = "0" if character.isdigit() else "a" if character.isalpha() else " "
    elif category in ("Lu", "Ll"):
        latin = unicodedata.name(character, "").startswith("LATIN")
        kind = ("lw" if latin else "yz")[character.lower() in _WORDS]
    else:
        kind = {"L": "x", "M": "m", "Z": " ", "P": "."}.get(category[0], "$")
    return kind.upper() if category == "Lu" else kind


def _decode(body: bytes, encoding: str) -> str:
    if encoding not in _REFUSED:
        with suppress(LookupError, ValueError):
            text = body.decode(encoding, "replace")
            return text if encoding.startswith("utf") else _ADDRESS.sub(lambda m: _escaped(m[0], encoding), text)
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


ILLEGIBLE = "illegible"  # how pages are counted that are not

_SEEN, _SPELT = 100_000, 10_000  # characters that are looked at, and whose letters are
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_MAX_REPLACED, _MAX_BROKEN = 0.1, 0.01  # share of them in text, and in text of a sure language
_LATIN = re.compile(r"[À-ÖØ-öø-ɏḀ-ỿ]|(?<=[^\W\d_])[¡-©¬®-¶¸¹¼-¿×÷](?=[^\W\d_])")  # also symbols in words
_MIN_LETTERS, _MIN_OWN = 20, 0.75  # letters that tell whether they are of a language, and their least share
_MIN = 200  # characters as which shorter texts count, so that a few signs are no reason
_BINARY = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 0.02  # share of control characters; binary data has .1, with or without compression
_ENCODED = re.compile(r"(?<!\S)(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[\w+/=-]{60,}", re.ASCII)  # unlike addresses
_MAX_ENCODED = 0.6
_DUMP = re.compile(r"\b(?:[0-9a-f]{2,8}[\s:]+){8,}+", re.ASCII | re.IGNORECASE)
_MAX_DUMPED, _MIN_HEXADECIMAL = 0.5, 0.1  # share of hexadecimal numbers in a row, and of letters among their digits
_CODE = re.compile(r"[{};]")
_MAX_CODE = 0.015  # share of braces and semicolons without markup; scripts, style sheets have .01 to .06, READMEs less


def check_legible(html: str, text: str) -> None:
    """Raise ContentError if *html* with this *text* is binary or encoded data, JSON, or program code alone."""
    if why := _objection(html, text[:_SEEN]):
        raise ContentError(ILLEGIBLE, f"it is no text for people: {why}")


def has_wrong_letters(text: str, language: str) -> bool:
    """Whether *text* was read in another charset than it was written in, by the letters of *language*."""
    text = text[:_SPELT]
    if text.isascii():
        return False
    if text.count(_REPLACED) > _MAX_BROKEN * len(text):
        return True
    letters = "".join(_LATIN.findall(text))
    enough = language != "eng" and len(letters) >= _MIN_LETTERS
    return enough and share_of_own(letters, language) < _MIN_OWN


def _objection(html: str, text: str) -> str | None:
    start = html[:_SEEN]
    # what is fast to count comes first: ordinary pages have no null, and words shorter than ten letters
    if "\0" in start and len(_BINARY.findall(start)) > _MAX_CONTROLS * max(len(start), _MIN):
        return "binary data"
    length = max(len(text), _MIN)
    if text.count(_REPLACED) > _MAX_REPLACED * length:
        return "bytes in no charset"
    blanks = text.count(" ") + text.count("\n")
    if 10 * blanks < length and sum(map(len, _ENCODED.findall(text))) > _MAX_ENCODED * length:
        return "encoded data"
    if 4 * sum(map(text.count, string.digits)) > length:
        dumped = "".join(_DUMP.findall(text))
        letters = sum(map(str.isalpha, dumped))
        if len(dumped) > _MAX_DUMPED * len(text) and letters > _MIN_HEXADECIMAL * len(dumped):
            return "a hexadecimal dump"
    first = start.lstrip()[:1]
    if first != "<" and len(_CODE.findall(text)) > _MAX_CODE * length:
        return "program code"
    if first in ("{", "["):
        with suppress(ValueError, RecursionError):
            json.loads(html)
            return "JSON"
    return None
