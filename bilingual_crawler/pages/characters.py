"""Which characters of foreign text are kept, and in what form: none that is invisible, or an HTML entity."""

import re
import unicodedata
from functools import lru_cache
from html import unescape
from html.entities import html5
from itertools import chain, pairwise

from bilingual_crawler.pages.words import is_wide

# Controls except blanks, lone surrogates, noncharacters, and format characters that no script needs.
_INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff"
    "\ufdd0-\ufdef\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]+"
)
# Ligatures, and Arabic letters in the form that they have at their place in a word.
_FORMS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
_SETTLED = bytes(
    {*range(256)} - {3, 6, *range(9, 0x13), 0x1B, 0x1F, 0x21, 0x2A, 0x30, *range(0xD8, 0xE0), *range(0xF9, 0xFF)}
)
"""High bytes of the UTF-16 of characters that have one form, without combining marks."""
_FORMS_BEGIN = 0xFB
_APART = re.compile(" (?=[\u064b-\u0652])")  # the blank that Unicode has below a vowel sign that stands alone
_ENTITY = re.compile(r"&(?:#(?:\d{2,5}|[xX][0-9a-fA-F]{2,5})|[A-Za-z]{2,8}\d{0,2});")
_JOINERS = re.compile("[\u200c\u200d]+")


def collapsed(text: str) -> str:
    """*text* on one line, blanks collapsed; a line break between Chinese or Japanese characters is none.

    As in CSS Text 3, section 4.1.3: who wraps the lines of a source means no blank.
    """
    if text.isascii() or "\n" not in text:
        return " ".join(text.split())
    lines = [line for part in text.split("\n") if (line := " ".join(part.split()))]
    gaps = (" " * (not is_wide(one[-1]) or not is_wide(other[0])) for one, other in pairwise(lines))
    return "".join(chain.from_iterable(zip(lines, (*gaps, ""), strict=True)))


def one_line(text: str) -> str:
    """*text* on one line, blanks collapsed, without invisible characters but the joiners that letters or emoji need."""
    line = collapsed(text)
    if line.isprintable():
        return line
    return " ".join(_JOINERS.sub(_needed_joiner, _INVISIBLE.sub("", line)).split())


def _needed_joiner(match: re.Match[str]) -> str:
    start, end = match.span()
    before, after = match.string[start - 1 : start] or " ", match.string[end : end + 1] or " "
    in_emoji = unicodedata.category(after) == "So" and unicodedata.category(before) in ("So", "Sk")
    return match[0][0] if in_emoji or _takes_joiners(before) or _takes_joiners(after) else ""


@lru_cache(maxsize=4096)
def _takes_joiners(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or unicodedata.bidirectional(character) in ("R", "AL")


def composed(text: str) -> str:
    """*text* in NFC, with letters for ligatures and for Arabic letters in the form of their place in a word.

    >>> composed("ﬁn, \ufefb, e\u0301")
    'fin, لا, é'
    """
    if text.isascii():
        return text
    # a search of the text takes five times as long
    unsettled = text.encode("utf-16-le", "surrogatepass")[1::2].translate(None, _SETTLED)
    if not unsettled:
        return text
    if max(unsettled) >= _FORMS_BEGIN:
        text = _FORMS.sub(lambda forms: _APART.sub("", unicodedata.normalize("NFKC", forms[0])), text)
    return unicodedata.normalize("NFC", text)


def is_escaped_twice(text: str) -> bool:
    """Whether *text* shows an HTML entity, but for ``<`` and ``>``, beside a letter or digit: ``caf&eacute;``."""
    return "&" in text and any(
        any(map(str.isalnum, text[max(0, match.start() - 1) : match.start()] + text[match.end() : match.end() + 1]))
        and _character(match) != match[0]
        for match in _ENTITY.finditer(text)
    )


def unescaped(text: str) -> str:
    """*text* with characters for HTML entities, but for ``<`` and ``>``.

    >>> unescaped("caf&eacute; &amp; th&#233; &lt;b&gt;")
    'café & thé &lt;b&gt;'
    """
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    name = entity[0][1:]
    character = unescape(entity[0]) if name[0] == "#" else html5.get(name, entity[0])
    return entity[0] if character in ("<", ">") else character
