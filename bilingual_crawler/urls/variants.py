"""Language variants of an address: what a site answers to other request headers and cookies.

The language in which an address was asked for is a fragment, ``https://example.org/page#!lang=spa``, which no server
sees: so frontier, files and evidence know a variant as one more URL, whose mark names its language.
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
