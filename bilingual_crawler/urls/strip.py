"""Comparison keys of URLs: equal for URLs that differ by language marks only (CCAligned §3.2.3)."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bilingual_crawler.urls.cache import url_cache
from bilingual_crawler.urls.find import find_markers
from bilingual_crawler.urls.token_tables import ANNOUNCING

if TYPE_CHECKING:
    from collections.abc import Collection

_MARK = "\0"
_INDEX = re.compile(r"(?:index|default|home)(?:\.[a-z]{2,5}\d?)?$", re.IGNORECASE)
_start = attrgetter("start")
_IN_NAME = re.compile(rf"(?<![-_.])[-_.]++{_MARK}|{_MARK}[-_.]++")


def strip_language(url: str, languages: Collection[str] | None = None) -> str:
    """*url* without scheme, ``www.``, language marks (only those of *languages*, if given), index page and last slash.

    Two URLs of one site with the same key are most likely one document in two languages.
    """
    return _strip(url, None if languages is None else frozenset(languages))


@url_cache(16384)
def _strip(url: str, languages: frozenset[str] | None) -> str:
    for marker in sorted(find_markers(url, languages), key=_start, reverse=True):
        if not marker.is_country:
            url = url[: marker.start] + _MARK + url[marker.end :]
    rest = url.partition("#")[0]
    rest = rest.partition("://")[2] or rest
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    host = _bare_host(host)
    segments: list[str] = []
    for segment in path.replace(";", "/").split("/"):
        if segment == _MARK:
            if segments and segments[-1].lower() in ANNOUNCING:
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
    parameters = [part for part in query.split("&") if part and not part.endswith("=" + _MARK)] if query else ()
    key = f"{key}?{'&'.join(parameters)}" if parameters else key
    return unquote(key) if "%" in key else key


@url_cache(4096)
def _bare_host(host: str) -> str:
    return ".".join(label for label in host.lower().split(".") if label not in (_MARK, "www"))
