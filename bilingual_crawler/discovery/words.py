"""Words of links for the classifiers: folded, without stop words, stemmed (Barbosa 2011, section 2.3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import snowballstemmer
import stop_words

from bilingual_crawler.languages import language_name

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = re.compile(r"[^\W\d_]{2,40}")


def words(text: str, language: str = "un") -> list[str]:
    """The words of *text*, in order and with repetitions, by the stop words and the stemmer of *language* (ISO 639-3).

    A language without a stemmer or without a list of stop words keeps its words.

    >>> words("The hotels of Málaga", "eng")
    ['hotel', 'málaga']
    """
    unwanted, stem = _tools(language)
    return [stem(word) for word in _WORD.findall(text.casefold()) if word not in unwanted]


@lru_cache(maxsize=64)
def _tools(language: str) -> tuple[frozenset[str], Callable[[str], str]]:
    name = language_name(language).casefold()
    unwanted = stop_words.get_stop_words(name) if name in stop_words.AVAILABLE_LANGUAGES else ()
    if name not in snowballstemmer.algorithms():
        return frozenset(unwanted), str
    return frozenset(unwanted), lru_cache(maxsize=65536)(snowballstemmer.stemmer(name).stemWord)
