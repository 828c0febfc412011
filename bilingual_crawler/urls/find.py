"""Language marks in a URL: where they are, and what language they tell (García-Romero et al. 2026 §3.1, widened)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote

from bilingual_crawler.urls.hosts import split_host
from bilingual_crawler.urls.token_tables import (
    AFFIX_CODES,
    ANNOUNCING,
    COMMON_WORDS,
    LANGUAGE_KEYS,
    LIMITED_AFFIX_CODES,
    OPAQUE_KEYS,
    PHRASE_STEMS,
    SUFFIX_LANGUAGES,
)
from bilingual_crawler.urls.tokens import languages_of, usual


class Component(StrEnum):
    """The part of a URL that holds a mark, most telling first."""

    QUERY = "query"
    DIRECTORY = "directory"
    SUFFIX = "suffix"
    """An affix of the file name, or (weakly) the public suffix of the host."""
    SUBDOMAIN = "subdomain"


@dataclass(frozen=True, slots=True)
class Marker:
    """A language mark; ``url[start:end]`` is its token."""

    language: str | None
    """ISO 639-3; None where only the key says that it is a language (``lang=1``)."""
    component: Component
    token: str
    start: int
    end: int
    weak: bool = False
    """A public suffix, or a token that is as often something else."""


_PARTS = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@]*@)?([^/?#:]*)(?::\d*)?([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_ORDER = {component: order for order, component in enumerate(Component)}
_AFFIX = re.compile(r"[a-z]{1,3}(?:[-_][a-z]{2,4})?|[^\W\d_]{4,}", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(?:[a-z]?html?\d?|php\d?|aspx?|jspx?|jsf|cfm|cgi|do|action|pl|py|md|txt|xml|pdf|docx?|odt|epub)$", re.I)


def find_markers(url: str, languages: Collection[str] | None = None) -> list[Marker]:
    """Language marks of *url*, most telling first; only marks of *languages* (ISO 639-3) if given."""
    return list(_find(url, None if languages is None else frozenset(languages)))


def guess_language(url: str, languages: Collection[str] | None = None) -> str | None:
    """ISO 639-3 that the most telling mark of *url* names; None without a mark."""
    found = _find(url, None if languages is None else frozenset(languages))
    return next((marker.language for marker in found if marker.language is not None), None)


@lru_cache(maxsize=65536)
def _find(url: str, languages: frozenset[str] | None) -> tuple[Marker, ...]:
    parts = _PARTS.match(url)
    if parts is None:
        return ()
    found = [
        *_in_query(parts[3] or "", parts.start(3), languages),
        *_in_path(parts[2], parts.start(2), languages),
        *_in_host(parts[1], parts.start(1), languages),
    ]
    # Among marks of one component the first stands, but a token that may be a word yields to one that may not.
    return tuple(sorted(found, key=lambda m: (m.weak and m.component == "suffix", _ORDER[m.component], m.weak)))


def _pick(token: str, languages: frozenset[str] | None, anywhere: bool = True) -> str | None:
    for lang in languages_of(token):
        if lang in languages if languages is not None else (anywhere or usual(token, lang)):
            return lang
    return None


def _in_query(query: str, start: int, languages: frozenset[str] | None) -> Iterator[Marker]:
    for match in re.finditer(r"([^=&;]+)=([^&;]*)", query):
        key = match[1].lower().replace("-", "").replace("_", "").rpartition("[")[2].rstrip("]")
        key = key[3:] if key.startswith("amp") else key
        value = unquote(match[2])
        named = key in LANGUAGE_KEYS
        lang = _pick(value, languages, anywhere=named)
        known = lang is not None and (named or value.lower() not in COMMON_WORDS)
        opaque = key in OPAQUE_KEYS and not languages_of(value) or (key == "l" and value.isdigit() and len(value) < 3)
        if known or opaque:
            at = start + match.start(2)
            yield Marker(lang, Component.QUERY, match[2], at, start + match.end(2), weak=not named)


def _in_path(path: str, start: int, languages: frozenset[str] | None) -> Iterator[Marker]:
    segments = list(re.finditer(r"[^/;&]+", path))
    for number, match in enumerate(segments):
        text = match[0]
        at = start + match.start()
        before = segments[number - 1][0].lower() if number else ""
        key, equals, value = text.partition("=")
        if equals:
            yield from _in_query(text, at, languages)
            continue
        whole = unquote(text)
        lang = _pick(whole, languages, anywhere=number == 0 or before in ANNOUNCING)
        if lang is not None:
            yield Marker(lang, Component.DIRECTORY, text, at, at + len(text), weak=whole.lower() in COMMON_WORDS)
            continue
        affix = _affix(text, languages, last=number == len(segments) - 1)
        if affix is not None:
            lang, first, end = affix
            yield Marker(lang, Component.SUFFIX, text[first:end], at + first, at + end)


def _affix(name: str, languages: frozenset[str] | None, last: bool) -> tuple[str, int, int] | None:
    """Language, start and end of the mark inside a path segment such as ``index.en.html`` or ``page_fr``."""
    extension = _EXTENSION.search(name) if last else None
    stem = name[: extension.start()] if extension else name
    lang = _pick(stem, languages) if extension else None
    if lang is not None and stem.lower() not in COMMON_WORDS:
        return lang, 0, len(stem)
    for cut in re.finditer(r"[._-]", stem):
        token = stem[cut.end() :]
        if cut.start() == 0 or not _AFFIX.fullmatch(token):
            continue
        lang = _pick(token, languages)
        if lang is not None and _affix_fits(stem[: cut.start()], cut[0], token.lower(), extension is not None):
            return lang, cut.end(), len(stem)
    return None


def _affix_fits(stem: str, separator: str, token: str, extension: bool) -> bool:
    if len(token) > 3 or token in AFFIX_CODES:
        return token not in COMMON_WORDS
    if token not in LIMITED_AFFIX_CODES or stem.lower() in PHRASE_STEMS:
        return False
    if separator == "-":
        return extension and "-" not in stem
    return extension or separator == "."


def _in_host(host: str, start: int, languages: frozenset[str] | None) -> Iterator[Marker]:
    subdomain, _, suffix = split_host(host)
    at = start
    for label in subdomain.split("."):
        lang = _pick(label, languages) if label else None
        if lang is not None:
            yield Marker(lang, Component.SUBDOMAIN, host[at - start : at - start + len(label)], at, at + len(label))
        at += len(label) + 1
    last = suffix.rpartition(".")[2]
    lang = SUFFIX_LANGUAGES.get(last)
    if lang is not None and (languages is None or lang in languages):
        end = start + len(host)
        yield Marker(lang, Component.SUFFIX, host[len(host) - len(last) :], end - len(last), end, weak=True)
