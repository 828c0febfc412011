"""Which URLs get the same record from an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from w3lib.url import safe_url_string

from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Mapping


def record_url(url: str) -> str:
    """The canonical form of *url* as Scrapy asks for it, without the fragment; *url* itself if it has none.

    Scrapy escapes more than a canonical URL does (``[``, ``'``), other archivers less.
    """
    try:
        asked = safe_url_string(url.partition("#")[0])
    except ValueError:
        return url
    return canonicalise(asked) or url


def bare_url(url: str, aliases: Mapping[str, str]) -> str:
    """Drop the scheme and ``www.`` from a canonical URL and replace the start that is an alias of another."""
    bare = url.partition("://")[2].removeprefix("www.")
    for alias, base in aliases.items():
        if bare.startswith(alias):
            return base + bare[len(alias) :]
        if bare == alias[:-1]:
            return base
    return bare
