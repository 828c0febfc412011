"""Shapes: groups of URLs that one program of a site answers."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

MAX_FOLDERS = 3

_DIGITS = re.compile(r"\d+")
_ID_LENGTH = 10
_ID_DIGITS = 3


def shapes(url: str) -> tuple[str, ...]:
    """The groups that *url* belongs to, the smallest first.

    Its path with numbers and ids masked and the names of its parameters; the same with any parameters; everything in
    its folder. ``/calendar/2031/5?view=day`` is in ``/calendar/0/0?view``, ``/calendar/0/0?*`` and ``/calendar/0/*``.
    """
    parts = urlsplit(url)
    path = parts.netloc + "/".join(map(_mask, parts.path.split("/")))
    folder = path.rpartition("/")[0] + "/*"
    if not parts.query:
        return path, folder
    names = "&".join(sorted({_DIGITS.sub("0", part.partition("=")[0]) for part in parts.query.split("&")}))
    return f"{path}?{names}", f"{path}?*", folder


def folders(url: str) -> list[str]:
    """The host of *url* and the first three folders of its path."""
    parts = urlsplit(url)
    names = parts.path.split("/")[1:-1][:MAX_FOLDERS]
    return ["/".join((parts.netloc, *names[:depth])) + "/" for depth in range(len(names) + 1)]


def _mask(segment: str) -> str:
    digits = sum(map(str.isdigit, segment))
    if not digits:
        return segment
    if len(segment) >= _ID_LENGTH and _ID_DIGITS <= digits < len(segment) and "." not in segment:
        return "x"
    return _DIGITS.sub("0", segment)
