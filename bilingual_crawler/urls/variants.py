"""Variants of an address by request header or cookie: their URLs end in a fragment, as in ``/page#!lang=spa``.

No server sees a fragment, so frontier, files and evidence know a variant as one more URL, whose mark is its language.
"""

from __future__ import annotations

import re

from bilingual_crawler.urls.canonical import canonicalise

_FRAGMENT = re.compile(r"#!lang=([a-z]{3}(?:_[A-Z][a-z]{3})?)\Z")


def variant(url: str, language: str) -> str:
    """Return the variant of *url* in *language* (ISO 639-3), without another fragment."""
    return f"{url.partition('#')[0]}#!lang={language}"


def asked_language(url: str) -> str | None:
    """Return the language in which the variant *url* is asked for (ISO 639-3); None if *url* is no variant."""
    found = _FRAGMENT.search(url)
    return found[1] if found else None


def bare(url: str) -> str:
    """Return the address of *url*, which all its variants share."""
    return _FRAGMENT.sub("", url)


def linked(href: str, base: str) -> str | None:
    """Return the canonical http(s) URL, never a variant, to which *href* leads from *base*; or None."""
    url = canonicalise(href, base)
    return bare(url) if url else None
