"""``--pairs``: the pairs of languages that are mined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.language_pairs import LanguagePairs
from bilingual_crawler.languages import LanguageError, LanguagePair, parse_equivalents, parse_language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_ALL = "-*"


class AskedPairs:
    """The pairs of ``eng-mlt,eng-isl``, or of ``eng-*``: one language with every other that the tables have.

    Raises LanguageError.
    """

    def __init__(self, text: str, equivalents: Iterable[str | Collection[str]]) -> None:
        parts = text.split(",")
        self._equivalents = parse_equivalents(equivalents)
        self._hubs = [parse_language(part.removesuffix(_ALL)) for part in parts if part.endswith(_ALL)]
        named = ",".join(part for part in parts if not part.endswith(_ALL))
        self._named = LanguagePairs.parse(named, equivalents).pairs if named else ()

    @property
    def is_open(self) -> bool:
        """Whether the tables decide what the pairs are."""
        return bool(self._hubs)

    def among(self, languages: Iterable[str]) -> LanguagePairs:
        """The pairs, where the tables have pages in *languages* (ISO 639-3). LanguageError if there is none."""
        pairs = {frozenset((pair.a, pair.b)): pair for pair in self._named}
        for language in sorted(languages):
            for hub in self._hubs:
                if language != hub and _is_language(language):
                    pairs.setdefault(frozenset((hub, language)), LanguagePair(hub, language, self._equivalents))
        if not pairs:
            raise LanguageError(f"the tables have no language beside {', '.join(self._hubs)}")
        return LanguagePairs(tuple(pairs.values()))


def _is_language(code: str) -> bool:
    try:
        return parse_language(code) == code
    except LanguageError:
        return False
