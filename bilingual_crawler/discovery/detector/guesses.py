"""Addresses at which a site may have a page in another language though no link leads there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import langcodes

from bilingual_crawler.languages import language_name, own_name, to_bcp47
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.markers import Component, Marker, find_markers

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEPARATORS = ("-", "_")
_REGIONS = {"zho": "zh-cn", "por": "pt-br"}
"""Languages of which sites often name the region."""


def rewritten(url: str, language: str) -> Iterator[str]:
    """*url* with its language mark replaced by one of *language* (ISO 639-3), likeliest spelling first."""
    marker = _mark(url)
    if marker is None or marker.language is None:
        return
    for token in _spellings(marker.token, marker.language, language):
        guess = canonicalise(url[: marker.start] + token + url[marker.end :])
        if guess is not None and guess != url:
            yield guess


def without_folder(url: str) -> str | None:
    """*url* without the folder that names its language, as of a site whose first language has none; None if none."""
    marker = _mark(url)
    if marker is None or marker.component is not Component.DIRECTORY:
        return None
    return canonicalise(url[: marker.start] + url[marker.end :].removeprefix("/"))


def _mark(url: str) -> Marker | None:
    start = url.find("://") + len("://")
    marks = (marker for marker in find_markers(url) if marker.language and not marker.is_country)
    # a label inside the host is rarely replaced: 2017.es.example.org
    return next((one for one in marks if one.component is not Component.SUBDOMAIN or one.start == start), None)


def folder_of(url: str, language: str) -> str:
    """The folder of *language* beside *url*, as ``https://example.com/fr/``."""
    parts = urlsplit(url)
    folder = parts.path[: parts.path.rfind("/") + 1] or "/"
    return f"{parts.scheme}://{parts.netloc}{folder}{to_bcp47(language)}/"


def _spellings(token: str, old: str, new: str) -> Iterator[str]:
    """How a site that writes *token* for the language *old* writes *new*."""
    code = to_bcp47(new)
    separator = next((sign for sign in _SEPARATORS if sign in token), None)
    lower = token.lower()
    if separator is not None:
        region = token.partition(separator)[2]
        territory = langcodes.Language.get(code).maximize().territory or ""
        yield f"{code}{separator}{territory if region.isupper() else territory.lower()}"
        yield code
    elif lower == to_bcp47(old):
        yield _cased(code, token)
        if new in _REGIONS:
            yield _cased(_REGIONS[new], token)
    elif len(token) == 3:
        yield _cased(new, token)
    elif lower == own_name(old).lower():
        yield _cased(own_name(new), token)
    elif lower == language_name(old).lower():
        yield _cased(language_name(new), token)
    else:
        yield _cased(code, token)


def _cased(text: str, like: str) -> str:
    if like.isupper():
        return text.upper()
    return text.title() if like.istitle() else text.lower()
