"""Language marks in a URL: their places and their languages (García-Romero et al. 2026 §3.1, extended)."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from urllib.parse import unquote

from bilingual_crawler.languages.codes import base_of
from bilingual_crawler.urls import tokens
from bilingual_crawler.urls.canonical import asked_language
from bilingual_crawler.urls.hosts import split_host, url_cache


class Component(StrEnum):
    """The part of a URL that holds a mark, strongest evidence first."""

    QUERY = "query"
    DIRECTORY = "directory"
    SUFFIX = "suffix"
    """An affix of the file name, or (weakly) the public suffix of the host."""
    SUBDOMAIN = "subdomain"


@dataclass(frozen=True, slots=True)
class Marker:
    """A language mark; ``url[start:end]`` is its token."""

    language: str | None
    """ISO 639-3; None if unclear: only the key shows a language (``lang=1``), or the code rarely means one."""
    component: Component
    token: str
    start: int
    end: int
    weak: bool = False
    """The mark is a public suffix, or a token that often has another meaning."""

    @property
    def is_country(self) -> bool:
        """The mark is the public suffix of a country, which names no language."""
        return self.weak and self.component is Component.SUFFIX


_PARTS = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@]*@)?([^/?#:]*)(?::\d*)?([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_ORDER = {component: order for order, component in enumerate(Component)}
_AFFIX = re.compile(r"[a-z]{1,3}(?:[-_][a-z]{2,4})?|[^\W\d_]{4,}", re.IGNORECASE)
# begins where a name begins, so that a query without "=" is read once and not from each of its characters
_PARAMETER = re.compile(r"(?<![^=&;?/])([^=&;?/]++)=([^&;]*+)")
_SEPARATOR = re.compile(r"[._-]")
_PREFIX = re.compile(r"([a-z]{2,3})([._])")
_PROJECT_HOSTS = (".github.io", ".gitlab.io", ".codeberg.page", ".sourceforge.io")
_EXTENSION = re.compile(
    r"\.(?:[a-z]?html?\d?|php\d?|aspx?|jspx?|jsf|cfm|cgi|do|action|pl|py|md|txt|xml|pdf|docx?|odt|epub)$", re.IGNORECASE
)


def find_markers(url: str, languages: Collection[str] | None = None) -> list[Marker]:
    """Language marks of *url*, strongest first; only marks of *languages* (ISO 639-3) if given."""
    return list(_find(url, None if languages is None else frozenset(languages)))


def marked_language(url: str, languages: Collection[str] | None = None) -> str | None:
    """ISO 639-3 that the strongest mark of *url* names; None without a mark. Country suffixes do not count."""
    found = _find(url, None if languages is None else frozenset(languages))
    return next((marker.language for marker in found if marker.language is not None and not marker.is_country), None)


def coded_language(url: str) -> str | None:
    """ISO 639-3 of the code that is a directory of *url*, a parameter, or between points in its file name; or None."""
    for mark in find_markers(url):
        between_points = mark.component is Component.SUFFIX and url[mark.start - 1] == "." and not mark.is_country
        if between_points or mark.component in (Component.DIRECTORY, Component.QUERY):
            return mark.language if len(mark.token) <= len("pt-br") else None
    return None


@url_cache(16384)
def _find(url: str, languages: frozenset[str] | None) -> tuple[Marker, ...]:
    parts = _PARTS.match(url)
    assert parts is not None  # all of it is optional
    query = parts[3]
    asked = asked_language(url)
    if asked and languages is not None and base_of(asked) not in languages:
        asked = None
    found = [
        *([Marker(asked, Component.QUERY, asked, len(url) - len(asked), len(url))] if asked else ()),
        *(_in_query(query, parts.start(3), languages) if query else ()),
        *_in_path(parts[2], parts.start(2), languages, project=parts[1].endswith(_PROJECT_HOSTS)),
        *_moved(_in_host(parts[1], languages), parts.start(1)),
    ]
    if len(found) < 2:
        return tuple(found)
    # Among marks of one component the first wins, but a token that may be a word comes after one that may not.
    return tuple(sorted(found, key=lambda m: (m.weak and m.component == "suffix", _ORDER[m.component], m.weak)))


def _moved(markers: Iterable[Marker], by: int) -> list[Marker]:
    return [Marker(m.language, m.component, m.token, m.start + by, m.end + by, m.weak) for m in markers]


def _in_query(query: str, start: int, languages: frozenset[str] | None) -> Iterator[Marker]:
    for match in _PARAMETER.finditer(query):
        key = match[1].lower().replace("-", "").replace("_", "").rpartition("[")[2].rstrip("]").removeprefix("amp;")
        value = unquote(match[2])
        named = key in tokens.LANGUAGE_KEYS
        lang = tokens.pick(value, languages, first=True)
        if lang is None and named and languages is None:
            lang = next(iter(tokens.languages_of(value)), None)
        known = lang is not None and (named or value.lower() not in tokens.COMMON_WORDS)
        opaque = key in tokens.OPAQUE_KEYS and not tokens.languages_of(value)
        if known or opaque or (key == "l" and value.isdigit() and len(value) < 3):
            yield Marker(lang, Component.QUERY, match[2], start + match.start(2), start + match.end(2), not named)


def _in_path(path: str, start: int, languages: frozenset[str] | None, project: bool) -> list[Marker]:
    found: list[Marker] = []
    segments = path.replace(";", "/").replace("&", "/").rstrip("/").split("/")
    at, number, before, end = start, 0, "", len(segments) - 1
    for place, text in enumerate(segments):
        if text:
            leading = number <= project
            first = leading or before.lower() in tokens.ANNOUNCING
            if markers := _in_segment(text, languages, leading, first, place == end):
                found += _moved(markers, at)
            number, before = number + 1, text
        at += len(text) + 1
    return found


@url_cache(16384)
def _in_segment(
    text: str, languages: frozenset[str] | None, leading: bool, first: bool, last: bool
) -> tuple[Marker, ...]:
    """*leading*: it is where a path begins; *first*: it is where sites name languages; *last*: it is the file name."""
    if "=" in text:
        return tuple(_in_query(text, 0, languages))
    whole = unquote(text) if "%" in text else text
    lang = tokens.pick(whole, languages, first)
    if lang is not None:
        return (Marker(lang, Component.DIRECTORY, text, 0, len(text), weak=whole.lower() in tokens.COMMON_WORDS),)
    if leading and languages is None and whole.lower() in tokens.NEVER_ALONE and len(whole) == 2:
        return (Marker(None, Component.DIRECTORY, text, 0, 2, weak=True),)
    affix = _affix(text, languages, first, last)
    if affix is None:
        return ()
    lang, begin, end = affix
    return (Marker(lang, Component.SUFFIX, text[begin:end], begin, end),)


def _affix(name: str, languages: frozenset[str] | None, first: bool, last: bool) -> tuple[str, int, int] | None:
    """Language, start and end of the mark inside a path segment such as ``index.en.html`` or ``page_fr``."""
    extension = _EXTENSION.search(name) if last else None
    stem = name[: extension.start()] if extension else name
    if extension and stem.lower() not in tokens.COMMON_WORDS:
        lang = tokens.pick(stem, languages, first)
        if lang is not None:
            return lang, 0, len(stem)
    for cut in _SEPARATOR.finditer(stem):
        token = stem[cut.end() :]
        if cut.start() and _AFFIX.fullmatch(token):
            lang = tokens.pick(token, languages, first=True) or _only_after_sign(token, languages)
            if lang is not None and _affix_fits(stem[: cut.start()], cut[0], token.lower(), extension is not None):
                return lang, cut.end(), len(stem)
    prefix = _PREFIX.match(stem)
    if prefix and prefix[1] in tokens.AFFIX_CODES and (prefix[2] == "." or prefix[1] not in tokens.COMMON_WORDS):
        lang = tokens.pick(prefix[1], languages, first=True)
        return (lang, 0, prefix.end(1)) if lang is not None else None
    return None


def _only_after_sign(token: str, languages: frozenset[str] | None) -> str | None:
    """Language of a code that names a language in file names only."""
    token = token.lower()
    if token in tokens.LIMITED_AFFIX_CODES or token in tokens.AFFIX_CODES:
        return next((lang for lang in tokens.languages_of(token) if languages is None or lang in languages), None)
    lang = tokens.LETTERS.get(token)
    return lang if lang and languages and languages.issuperset(tokens.LETTERS.values()) else None


def _affix_fits(stem: str, separator: str, token: str, extension: bool) -> bool:
    phrase = stem.lower() in tokens.PHRASE_STEMS
    alone = separator != "-" or ("-" not in stem and not phrase)
    if len(token) > 3:
        return "-" in token or "_" in token or (alone and extension and not phrase)
    if token in tokens.LETTERS:
        return extension
    if token in tokens.AFFIX_CODES and token not in tokens.COMMON_WORDS:
        return True
    if token not in tokens.AFFIX_CODES and token not in tokens.LIMITED_AFFIX_CODES:
        return False
    return alone and (extension or separator == ".")


@url_cache(4096)
def _in_host(host: str, languages: frozenset[str] | None) -> tuple[Marker, ...]:
    found = []
    subdomain, _, suffix = split_host(host)
    at = 0
    for label in subdomain.split("."):
        lang = tokens.pick(label, languages, first=True) if label else None
        if lang is not None and (languages is not None or label not in tokens.NEVER_SUBDOMAIN):
            found.append(Marker(lang, Component.SUBDOMAIN, host[at : at + len(label)], at, at + len(label)))
        at += len(label) + 1
    last = suffix.rpartition(".")[2]
    lang = tokens.SUFFIX_LANGUAGES.get(last)
    if lang is not None and (languages is None or lang in languages):
        begin = len(host) - len(last)
        found.append(Marker(lang, Component.SUFFIX, host[begin:], begin, len(host), weak=True))
    return tuple(found)


_MARK = "\0"
_INDEX = re.compile(r"(?:index|default|home)(?:\.[a-z]{2,5}\d?)?$", re.IGNORECASE)
_IN_NAME = re.compile(rf"(?<![-_.])[-_.]++{_MARK}|{_MARK}[-_.]++")


def strip_language(url: str, languages: Collection[str] | None = None) -> str:
    """*url* without scheme, ``www.``, marks (of *languages*, if given), index page, last slash: same for versions."""
    return _strip(url, None if languages is None else frozenset(languages))


@url_cache(16384)
def _strip(url: str, languages: frozenset[str] | None) -> str:
    for marker in sorted(find_markers(url, languages), key=attrgetter("start"), reverse=True):
        if not marker.is_country:
            url = url[: marker.start] + _MARK + url[marker.end :]
    rest = url.partition("#")[0]
    rest = rest.partition("://")[2] or rest
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    host = ".".join(label for label in host.lower().split(".") if label not in (_MARK, "www"))
    segments: list[str] = []
    for segment in path.replace(";", "/").split("/"):
        if segment == _MARK:
            if segments and segments[-1].lower() in tokens.ANNOUNCING:
                segments.pop()
        elif segment:
            segments.append(segment)
    if segments and "&" in segments[-1]:
        name, *appended = segments[-1].split("&")
        segments[-1] = name
        query = "&".join(filter(None, (*appended, query)))
    segments = [_IN_NAME.sub("", s).replace(_MARK, "") if _MARK in s else s for s in segments]
    if segments and _INDEX.fullmatch(segments[-1]):
        segments.pop()
    key = "/".join((host, *filter(None, segments)))
    if parameters := [part for part in query.split("&") if part and part.rpartition("=")[2] != _MARK]:
        key += f"?{'&'.join(parameters)}"
    plain = unquote(key) if "%" in key else key
    # bytes that are not UTF-8 stay escaped: all of them would be one replacement character
    return plain if "\N{REPLACEMENT CHARACTER}" not in plain else key
