"""The formats of documents: what addresses and media types say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.pages.tables import NOT_PAGES

if TYPE_CHECKING:
    from collections.abc import Collection

HTML, PDF = "html", "pdf"
FORMATS = (HTML, PDF)  # formats that can be read
ONLY_HTML = frozenset((HTML,))
_MEDIA_TYPES = {HTML: ("text/html", "application/xhtml+xml"), PDF: ("application/pdf", "application/x-pdf")}
_ANY_FILE = ("application/octet-stream", "binary/octet-stream", "application/force-download")


def ending_of(url: str) -> str:
    """The ending of the file name in a canonical URL, in lower case; empty if it has none."""
    stem, dot, ending = url.partition("#")[0].partition("?")[0].rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and stem else ""


def is_page(url: str) -> bool:
    """Whether a canonical URL may lead to an HTML page, by its ending."""
    return ending_of(url) not in NOT_PAGES


def may_hold(url: str, formats: Collection[str]) -> bool:
    """Whether a canonical URL may lead to a document in one of *formats*, by its ending."""
    ending = ending_of(url)
    return ending not in NOT_PAGES or ending in formats


def format_of(content_type: str | None, url: str) -> str | None:
    """The format of a response by its ``Content-Type``, or its URL if that may be any file; None if unreadable."""
    given = content_type.lower() if content_type else "text/html"
    if given.startswith(_ANY_FILE):
        return PDF if ending_of(url) == PDF else None
    return next((name for name, types in _MEDIA_TYPES.items() if given.startswith(types)), None)
