"""When two URLs ask an archive for the same record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from collections.abc import Mapping

_NORMAL = re.compile(r"https?://[a-z0-9.\-]+/[A-Za-z0-9\-._~!$&'()*+,;=:@/]*(\?[A-Za-z0-9\-._~!$&'()*+,;=:@/?]+)?")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PORTS = {"http": ":80", "https": ":443"}


def normal_url(url: str) -> str:
    """Spell an http(s) URL in one way: RFC 3986 case, port and escapes; no fragment, no user information."""
    if _NORMAL.fullmatch(url):
        return url
    try:
        scheme, host, path, query, _ = urlsplit(safe_url_string(url))
    except ValueError:
        return url
    host = host.rpartition("@")[2].lower().removesuffix(_PORTS.get(scheme, ":"))
    query = query and f"?{query}"
    return f"{scheme}://{host}{_ESCAPE.sub(_respell, path) or '/'}{_ESCAPE.sub(_respell, query)}"


def _respell(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def bare_url(url: str, aliases: Mapping[str, str]) -> str:
    """Drop the scheme and ``www.`` from a normal URL and replace the start that is an alias of another."""
    bare = url.partition("://")[2].removeprefix("www.")
    for alias, base in aliases.items():
        if bare.startswith(alias):
            return base + bare[len(alias) :]
        if bare == alias[:-1]:
            return base
    return bare
