"""Language variants of an address: what a site answers to other request headers and cookies.

A document is an address and, where the site has several documents under one address, the language in which it was asked
for. This language is a part of its URL, in the form of a fragment: ``https://example.org/page#!lang=spa``. No server
sees a fragment, and an address with one variant has none. So frontier, files and evidence know a variant as one more
URL, whose mark names its language.

The address to which a form that chooses a language is posted has a fragment, too:
``https://example.org/set-language#!post=spa``.
"""

from __future__ import annotations

import re

_VARIANT = re.compile(r"#!(lang|post)=([a-z]{3})\Z")


def variant(url: str, language: str) -> str:
    """Return the variant of *url* in *language* (ISO 639-3), without another fragment."""
    return f"{url.partition('#')[0]}#!lang={language}"


def posting(url: str, language: str) -> str:
    """Return the URL of posting a form that chooses *language* (ISO 639-3) to *url*."""
    return f"{url.partition('#')[0]}#!post={language}"


def is_posting(url: str) -> bool:
    """Return whether *url* is one of :func:`posting`."""
    found = _VARIANT.search(url)
    return found is not None and found[1] == "post"


def asked_language(url: str) -> str | None:
    """Return the language in which the variant *url* is asked for, or that it posts (ISO 639-3); else None."""
    found = _VARIANT.search(url)
    return found[2] if found else None


def bare(url: str) -> str:
    """Return the address of *url*, which all its variants share."""
    return _VARIANT.sub("", url)
