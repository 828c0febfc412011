"""Marks that machine-translation plugins leave in a page."""

from __future__ import annotations

_MARKS = {
    "translate.google": "google-translate",
    "google_translate_element": "google-translate",
    "translate.goog": "google-translate",
    "gtranslate": "gtranslate",
    "weglot": "weglot",
    "conveythis": "conveythis",
    "localizejs.com": "localizejs",
    "bablic.com": "bablic",
    "linguise": "linguise",
    "transposh": "transposh",
    "translatepress": "translatepress",
    "trp-language-switcher": "translatepress",
    "microsofttranslator": "microsoft-translator",
    "translate.yandex": "yandex-translate",
}


def find_translator(html: str) -> str | None:
    """Name of a plugin whose mark is in *html*: it may have translated the page, or may offer to."""
    lower = html.lower()
    return next((name for mark, name in _MARKS.items() if mark in lower), None)
