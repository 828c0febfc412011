"""A URL as the models read it: the reference pre-processing of García-Romero et al. 2026, exactly."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

_TOKEN = re.compile(r"[^\W_0-9]+|[^\w\s]+|_+|\s+|[0-9]+")
_BLANKS = re.compile(r"\s+")


@lru_cache(maxsize=65536)
def model_text(url: str) -> str:
    """*url* without scheme and trailing slashes, percent-decoded, split into letters, digits and signs by blanks.

    Keeps case, ``www.``, query, fragment and punycode; HTML entities are not decoded.
    """
    text = url.rstrip("/")
    _, separator, rest = text.partition("://")
    text = unquote(rest if separator else text, errors="backslashreplace")
    return " ".join(tokenise(_BLANKS.sub(" ", text).strip()))


def tokenise(text: str) -> list[str]:
    """Runs of letters, of signs, of underscores and of digits in *text*; blanks are dropped."""
    return [token for token in _TOKEN.findall(text) if not token.isspace()]
