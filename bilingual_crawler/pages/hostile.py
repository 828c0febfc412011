"""Markup for which the HTML parser would take more than linear time."""

from __future__ import annotations

import re

from bilingual_crawler.pages.tables import SELF_CLOSING_TAGS

_DEEP = 5000
_LONG = 100_000

_LONG_TAG = re.compile(rf"<[a-zA-Z/][^<>]{{{_LONG},}}>?")
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")


def tame(html: str) -> str:
    """*html* without tags of 100,000 characters, cut where more than 5,000 elements are open.

    lexbor takes time in the square of the tree's depth and of the number of attributes of a tag.
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
