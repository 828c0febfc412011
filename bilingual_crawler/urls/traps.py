"""URLs of traps: links that grow with every page, and the groups of URLs that one script or template makes."""

import re
from collections import Counter
from itertools import groupby
from urllib.parse import urlsplit

from bilingual_crawler.urls.hosts import registered_domain, split_host
from bilingual_crawler.urls.marks import Component, find_markers
from bilingual_crawler.urls.tokens import languages_of

MAX_SEGMENTS = 20  # segments of a path (Heritrix's limit in García-Romero 2026)
MAX_REPEATS = 2  # occurrences of one path segment or one `key=value`
MAX_PARAMETERS = 20
MAX_LANGUAGES = 2  # consecutive language codes in a path; two are a country and its language

_LETTER = re.compile(r"[^\W\d_]")
_CODES = re.compile(rf"(?:/[a-z]{{2}}(?:[-_][A-Za-z]{{2,4}})?(?![^/])){{{MAX_LANGUAGES + 1},}}")


def grown(url: str) -> str | None:
    """The kind of trap by which *url* has grown, in two words; None if it has not."""
    address, _, query = url.partition("?")
    path = address[address.find("/", 8) :]
    segments = path.split("/")[1:]
    if len(segments) > MAX_REPEATS:
        segments = [segment for segment in segments if segment]
        if len(segments) > MAX_SEGMENTS:
            return "deep-path"
        if len(segments) - len(set(segments)) >= MAX_REPEATS and _repeats(segments):
            return "repeated-segment"
        if path.count("/www.") > 1:
            return "nested-host"
        codes = _CODES.search(path)
        runs = groupby(codes[0].split("/")[1:], lambda code: bool(languages_of(code))) if codes else ()
        if any(named and len(list(run)) > MAX_LANGUAGES for named, run in runs):
            return "nested-language"
    parameters = query.split("&")
    if len(parameters) > MAX_PARAMETERS:
        return "long-query"
    if len(parameters) > MAX_REPEATS and max(Counter(parameters).values()) > MAX_REPEATS:
        return "repeated-query"
    return None


def _repeats(segments: list[str]) -> bool:
    """Whether a word occurs more than twice, or any other segment more than twice in a row."""
    if any(count > MAX_REPEATS and _LETTER.search(segment) for segment, count in Counter(segments).items()):
        return True
    return any(len(list(run)) > MAX_REPEATS for _, run in groupby(segments))


_DIGITS = re.compile(r"\d+")
_ID_LENGTH, _ID_DIGITS, _ID = 10, 3, "x"  # least characters and digits of an id, and what stands for one


def shapes(url: str) -> tuple[str, ...]:
    """The groups that *url* belongs to, the smallest first.

    ``/calendar/2031/5?view=day`` is in ``/calendar/0/0?view``, ``/calendar/0/0?*`` and ``/calendar/0/*``.
    """
    parts = urlsplit(url)
    path = parts.netloc + "/".join(map(_mask, parts.path.split("/")))
    folder = path.rpartition("/")[0] + "/*"
    if not parts.query:
        return path, folder
    return f"{path}?{parameters(url)}", f"{path}?*", folder


def parameters(url: str) -> str:
    """The names of the parameters of *url*, sorted, with numbers masked; empty without any."""
    query = urlsplit(url).query
    return "&".join(sorted({_DIGITS.sub("0", part.partition("=")[0]) for part in query.split("&")}))


MAX_TREES = 3  # levels of folders whose trees are groups


def trees(url: str) -> tuple[str, ...]:
    """The wider groups that *url* belongs to, the smallest first.

    ``a.is/en/shop/red/s/`` is in ``a.is/en/shop/**`` and ``a.is/en/**``, ``x.a.is/shop/7`` in ``*.a.is/shop/0``.
    """
    parts = urlsplit(url)
    masked = [_mask(segment) for segment in parts.path.split("/")[1:]]
    depth = min(MAX_TREES, len(masked) - 3)
    found = [f"{'/'.join((parts.netloc, *masked[:level]))}/**" for level in range(depth, 0, -1)]
    if split_host(url)[0] not in ("", "www"):
        found.append(f"*.{registered_domain(url)}/{'/'.join(masked)}")
    return tuple(found)


IN_ANOTHER_ORDER = "words in another order"


def addresses(url: str) -> tuple[tuple[str, str], ...]:
    """The ways in which *url* may be one of many addresses of a page, each with what these have in common."""
    parts = urlsplit(url)
    segments = parts.path.split("/")[1:]
    end = f"?{parts.query}#{parts.fragment}"
    found = []
    words = sorted(segment for segment in segments if segment and not _DIGITS.search(segment))
    if len(words) > 1:
        numbers = "/".join(segment if _DIGITS.search(segment) else "" for segment in segments)
        found.append((f"{parts.netloc}: {IN_ANOTHER_ORDER}", f"{parts.netloc}/{numbers} {' '.join(words)}{end}"))
    for place, segment in enumerate(segments):
        if _mask(segment) == _ID:
            common = "/".join((parts.netloc, *segments[:place], _ID, *segments[place + 1 :]))
            found.append((f"{parts.netloc}: another id in place {place + 1}", f"{common}{end}"))
    # a language in the path as well is that of the page
    if {marker.component for marker in find_markers(url)} - {Component.SUFFIX} != {Component.QUERY}:
        what = f"{parts.netloc}: other parameters {parameters(url)}"
        found.append((what, f"{parts.netloc}{parts.path}#{parts.fragment}"))
    return tuple(found)


def _mask(segment: str) -> str:
    digits = sum(map(str.isdigit, segment))
    if not digits:
        return segment
    if len(segment) >= _ID_LENGTH and _ID_DIGITS <= digits < len(segment) and "." not in segment:
        return _ID
    return _DIGITS.sub("0", segment)
