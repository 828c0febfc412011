"""Languages by ISO 639-3 code, and the pairs of languages of a crawl.

- ``codes``: parse and name a language; BCP 47, CLD2 and country codes; one pair of languages.
- ``scripts``: the script that a text is in.
- ``pairs``: all pairs of languages of a crawl.

The room imports no other room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.languages.codes import (
        LanguageError,
        LanguagePair,
        from_bcp47,
        language_name,
        parse_language,
        to_bcp47,
    )
    from bilingual_crawler.languages.pairs import LanguagePairs
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(
                ("LanguageError", "LanguagePair", "from_bcp47", "language_name", "parse_language", "to_bcp47"), "codes"
            ),
            "LanguagePairs": "pairs",
        },
    )

__all__ = [
    "LanguageError",
    "LanguagePair",
    "LanguagePairs",
    "from_bcp47",
    "language_name",
    "parse_language",
    "to_bcp47",
]
