"""A URL as the pair model reads it: host, tokens with their zones, and the language that a token may stand for.

Part of the model's pre-processing: after a change here the parallelness model must be trained again. The table has more
tokens than the rules of :mod:`bilingual_crawler.urls.marks`. Single letters and common words count too, because the
model weights them itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from bilingual_crawler.languages.tables import by_word, read_tables, words
from bilingual_crawler.urls.hosts import split_host, url_cache

_TABLES = read_tables(__name__)
LANGUAGE_OF = by_word({lang: f"{lang} {tokens}" for lang, tokens in _TABLES["pair_model_languages"].items()})
"""Lower-case token to ISO 639-3."""
AMBIGUOUS = words(_TABLES["pair_model_common"])  # language tokens with another meaning: words, ordinals, …

MAX_URL = 800
MAX_TOKENS = 60
MAX_PIECES = 4
SIGNS = "._-"
INSIDE = "i"

_LOCALE = re.compile(r"([a-z]{2,3})[-_](?:[a-z]{2}|[0-9]{3}|hans|hant|latn|cyrl)(?:[.@][a-z]+-?8?)?")
_SEPARATED = re.compile(r"(?<![\W_])([\W_]*+)([^\W_]++)")
_PIECES = re.compile(r"\d+|[^\d]+")


class UrlParts(NamedTuple):
    """Host in three parts (no ``www``), tokens of the rest with their zones, and the form of the rest.

    Zones: 1 first directory, d directory, f last segment, k query key, q value, l value of a language key, x fragment;
    upper case if the token fills its part, else followed by the sign before it. The sign is ``i`` for a word in the
    middle of others that looks like a language, and ``^`` inside a run of letters and digits. A run with many changes
    between letters and digits, such as a hexadecimal number, stays whole. *Nested*: two language directories in a row.
    *Name*: tokens of the last segment, without languages and names of index pages. *Query*: as a whole.
    *Odd*: segments that start or end with a sign, as truncated ones do.
    """

    subdomain: str
    label: str
    suffix: str
    texts: list[str]
    zones: list[str]
    segments: int
    extension: str
    shape: str
    nested: bool
    name: str
    query: str
    odd: frozenset[str]


@url_cache(65536)
def url_parts(url: str) -> UrlParts:
    """Cut *url*: without scheme, lower case, percent-decoded; only the first 800 characters and 60 tokens count."""
    rest = url[:MAX_URL]
    rest = rest.partition("://")[2] or rest
    if "%" in rest:
        rest = unquote(rest, errors="replace")
    rest = rest.lower().rstrip("/")
    rest, _, fragment = rest.partition("#")
    path, _, query = rest.partition("?")
    authority, _, path = path.partition("/")
    subdomain, label, suffix = split_host(authority)
    if subdomain.startswith("www"):
        subdomain = subdomain.partition(".")[2]
    texts: list[str] = []
    zones: list[str] = []
    segments = [segment for segment in path.split("/") if segment]
    extension = ""
    nested = False
    odd = set()
    languages = 0
    for position, segment in enumerate(segments, 1):
        zone = "1" if position == 1 else "d"
        if len(segment) > 1 and (segment[0] in SIGNS or segment[-1] in SIGNS):
            odd.add(segment)
        languages = languages + 1 if language_of(segment) else 0
        nested = nested or languages > 1
        if position == len(segments):
            zone = "f"
            stem, dot, last = segment.rpartition(".")
            if dot and last.isalnum() and len(last) <= 5 and last not in LANGUAGE_OF:
                segment, extension = stem, last
        _add(segment, zone, texts, zones)
    for part in query.split("&") if query else ():
        key, _, value = part.partition("=")
        _add(key, "k", texts, zones)
        _add(value, "l" if key in TRAINED_LANGUAGE_KEYS or "lang" in key else "q", texts, zones)
    if fragment:
        _add(fragment, "x", texts, zones)
    shape = "".join(char for char in path + query if not char.isalnum())
    del texts[MAX_TOKENS:], zones[MAX_TOKENS:]
    named = [(text, zone) for text, zone in zip(texts, zones, strict=True) if zone[0] in "fF" and text not in INDEX]
    name = " ".join(text for text, zone in named if not language_in_zone(text, zone))
    form = len(segments), extension, shape, nested, name, query, frozenset(odd)
    return UrlParts(subdomain, label, suffix, texts, zones, *form)


def language_of(token: str) -> str | None:
    """ISO 639-3 that a token or locale (``pt-br``) may stand for."""
    lang = LANGUAGE_OF.get(token)
    if lang is None and len(token) > 4 and (match := _LOCALE.fullmatch(token)):
        return LANGUAGE_OF.get(match[1])
    return lang


def language_in_zone(token: str, zone: str) -> str | None:
    """`language_of`; None for a word in the middle of other words."""
    return None if zone[-1] == INSIDE else language_of(token)


def _is_word(token: str, position: int, last: int) -> bool:
    """Whether a language token among other words is a word.

    Of two tokens only the first is a word, if it is common and has three letters or more (``nor-gara``). Of three or
    more, a token is a word if it has four letters or more (``finnish-history-of…``), or if it is common and first, in
    the middle, or of three letters. In the middle of five or more every token is a word.
    """
    common = token in AMBIGUOUS
    if last == 1:
        return position == 0 and common and len(token) > 2
    if 0 < position < last:
        return common or last > 3 or len(token) > 3
    return (position == 0 and common) or len(token) > 3 or (len(token) == 3 and common)


def _add(part: str, zone: str, texts: list[str], zones: list[str]) -> None:
    if not part:
        return
    if part.isalpha() or part.isdecimal() or (("_" in part or "-" in part) and language_of(part)):
        texts.append(part)
        zones.append(zone.upper())
        return
    found = _SEPARATED.findall(part)
    last = len(found) - 1
    for position, (separator, word) in enumerate(found):
        sign = separator[-1:]
        if last > 0 and word in LANGUAGE_OF and sign not in (".", ":") and _is_word(word, position, last):
            sign = INSIDE
        if word.isalpha() or word.isdecimal():
            texts.append(word)
            zones.append(zone + sign)
            continue
        pieces = _PIECES.findall(word)
        if len(pieces) > MAX_PIECES:
            pieces = [word]
        texts += pieces
        zones.append(zone + sign)
        zones += [zone + "^"] * (len(pieces) - 1)


TRAINED_LANGUAGE_KEYS = words(_TABLES["pair_model_keys"])  # query keys of languages, as in training
INDEX = frozenset(("index", "default", "home", "main", "start", "welcome", "inicio", "accueil", "homepage"))
"""Names of the page that a server gives for a directory."""
