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

from bilingual_crawler.urls.canonical import canonicalise

_FRAGMENT = re.compile(r"#!(lang|post)=([a-z]{3}(?:_[A-Z][a-z]{3})?)\Z")


def variant(url: str, language: str) -> str:
    """Return the variant of *url* in *language* (ISO 639-3), without another fragment."""
    return _with(url, "lang", language)


def posting(url: str, language: str) -> str:
    """Return the URL of posting a form that chooses *language* (ISO 639-3) to *url*."""
    return _with(url, "post", language)


def is_posting(url: str) -> bool:
    """Return whether *url* is one of :func:`posting`."""
    return _language(url, "post") is not None


def asked_language(url: str) -> str | None:
    """Return the language in which the variant *url* is asked for, or that it posts (ISO 639-3); else None."""
    return _language(url, "lang", "post")


def bare(url: str) -> str:
    """Return the address of *url*, which all its variants share."""
    return _FRAGMENT.sub("", url)


def linked(href: str, base: str) -> str | None:
    """Return the canonical URL to which *href* leads from *base*; None if it is no http(s) URL.

    Variants and postings are made by the crawl alone: of such a link the address is taken.
    """
    url = canonicalise(href, base)
    return bare(url) if url else None


def _with(url: str, kind: str, language: str) -> str:
    return f"{url.partition('#')[0]}#!{kind}={language}"


def _language(url: str, *kinds: str) -> str | None:
    found = _FRAGMENT.search(url)
    return found[2] if found and found[1] in kinds else None
