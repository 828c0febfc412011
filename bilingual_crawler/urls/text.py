"""A URL as model input: exactly the reference pre-processing of García-Romero et al. 2026."""

from __future__ import annotations

import re
from urllib.parse import unquote

from bilingual_crawler.urls.cache import url_cache

_TOKEN = re.compile(r"[^\W_0-9]+|[^\w\s]+|_+|\s+|[0-9]+")
_BLANKS = re.compile(r"\s+")


@url_cache(65536)
def model_text(url: str) -> str:
    """*url* as `plain_text`, its tokens joined by blanks; a blank inside the URL is a token and so becomes three."""
    return " ".join(tokenise(plain_text(url)))


def plain_text(url: str) -> str:
    r"""*url* without scheme and trailing slashes, percent-decoded once, with single blanks.

    Case, ``www.``, query, fragment and punycode stay; HTML entities are not decoded. Bytes that are no UTF-8 read
    ``\xe9``.
    """
    text = url.rstrip("/")
    _, separator, rest = text.partition("://")
    text = unquote(rest if separator else text, errors="backslashreplace")
    return _BLANKS.sub(" ", text).strip()


def tokenise(text: str) -> list[str]:
    """Runs of letters, of punctuation, of underscores, of blanks and of digits; joined they give *text*."""
    return _TOKEN.findall(text)
