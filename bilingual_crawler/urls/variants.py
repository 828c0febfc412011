"""Language variants of an address: what a site answers to other request headers and cookies.

A document is an address and, where the site has several documents under one address, the language in which it was asked
for. This language is a part of its URL, in the form of a fragment: ``https://example.org/page#!lang=spa``. No server
sees a fragment, and an address with one variant has none. So frontier, files and evidence know a variant as one more
URL, whose mark names its language.

A page with the same text in two languages is two documents, too: ``https://example.org/page#!part=spa``. A part is
never requested.
"""

from __future__ import annotations

import re

_LEAD, _PART = "#!lang=", "#!part="
_VARIANT = re.compile(rf"{_LEAD}([a-z]{{3}})\Z")
_OF_PART = re.compile(rf"{_PART}([a-z]{{3}})\Z")


def variant(url: str, language: str) -> str:
    """Return the variant of *url* in *language* (ISO 639-3), without another fragment."""
    return f"{url.partition('#')[0]}{_LEAD}{language}"


def asked_language(url: str) -> str | None:
    """Return the language in which the variant *url* is asked for (ISO 639-3); None if it is no variant."""
    found = _VARIANT.search(url)
    return found[1] if found else None


def bare(url: str) -> str:
    """Return the address of *url*, which all its variants share."""
    return _VARIANT.sub("", url)


def part(url: str, language: str) -> str:
    """Return the URL of the text in *language* (ISO 639-3) of a page with the same text in two languages."""
    return f"{url.partition('#')[0]}{_PART}{language}"


def part_language(url: str) -> str | None:
    """Return the language of the part of a page that *url* stands for (ISO 639-3); None for a whole page."""
    found = _OF_PART.search(url)
    return found[1] if found else None
