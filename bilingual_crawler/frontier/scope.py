"""Which links belong to the crawl."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError

from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable

SCOPES = ("site", "host", "web")
MAX_SEGMENTS = 20
MAX_REPEATS = 2


class Scope:
    """Decides by host, and by path against endless paths (Heritrix's limits in García-Romero 2026).

    *name* is ``site`` (registered domains of the seeds), ``host`` (their hosts) or ``web`` (everything);
    *aliases* are other names of those hosts. *prefixes*, if there are any, decide instead: a URL must start with one
    of them, scheme and ``www.`` apart. Raises UsageError for another name.
    """

    def __init__(
        self, name: str, seeds: Iterable[str], *, aliases: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> None:
        if name not in SCOPES:
            raise UsageError(f"scope={name}: choose one of {', '.join(SCOPES)}", print_help=False)
        self._name = name
        self._aliases = frozenset(aliases)
        self._prefixes = tuple(map(_bare, prefixes))
        self._allowed = {self._area(urlsplit(seed).hostname or "") for seed in seeds}

    def _area(self, host: str) -> str:
        return registered_domain(host) if self._name == "site" else host

    def admits(self, url: str) -> bool:
        if self._prefixes:
            return _bare(url).startswith(self._prefixes) and not _endless(url)
        if self._name != "web":
            host = urlsplit(url).hostname or ""
            if self._area(host) not in self._allowed and host not in self._aliases:
                return False
        return not _endless(url)


def _bare(url: str) -> str:
    return url.split("://", 1)[-1].removeprefix("www.")


def _endless(url: str) -> bool:
    """More than 20 path segments, or one segment repeated more than twice in a row."""
    segments = [segment for segment in url.split("?", 1)[0].split("/")[3:] if segment]
    if len(segments) > MAX_SEGMENTS:
        return True
    repeats = 1
    for before, segment in pairwise(segments):
        repeats = repeats + 1 if segment == before else 1
        if repeats > MAX_REPEATS:
            return True
    return False
