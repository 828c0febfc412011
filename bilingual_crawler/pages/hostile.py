"""Markup that would cost the HTML parser more than linear time."""

from __future__ import annotations

import re

from bilingual_crawler.pages.tables import SELF_CLOSING_TAGS

_DEEP = 5000
_LONG = 100_000

_LONG_TAG = re.compile(rf"<[a-zA-Z/][^<>]{{{_LONG},}}>?")
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")


def tame(html: str) -> str:
    """*html* without tags of 100,000 characters and cut where over 5,000 elements are left open.

    lexbor takes quadratic time for the depth of the tree and for the number of attributes of one tag.
    """
    if len(html) > _LONG:
        html = _LONG_TAG.sub("", html)
    if html.count("<") - 2 * html.count("</") <= _DEEP:
        return html
    depth = 0
    for match in _TAG.finditer(html):
        if match[2].lower() not in SELF_CLOSING_TAGS:
            depth += -1 if match[1] else 1
            if depth > _DEEP:
                return html[: match.start()]
    return html
