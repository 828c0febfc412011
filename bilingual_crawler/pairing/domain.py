"""The cleaned documents of one registered domain, or of several that announce each other, ready to be compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.main_text import main_lines
from bilingual_crawler.pairing.reading import link_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.documents import Profile


@dataclass(slots=True)
class Domain:
    """Documents of both languages of a pair; candidates are pairs of places in *a* and *b*."""

    group: tuple[str, ...]
    """The registered domains."""
    corpus: Corpus
    pair: LanguagePair
    a: list[Profile] = field(default_factory=list)
    """Documents in the first language of the pair."""
    b: list[Profile] = field(default_factory=list)
    places_a: dict[str, int] = field(default_factory=dict)
    """Link key of a document to its place in *a*."""
    places_b: dict[str, int] = field(default_factory=dict)
    main_a: list[NDArray[np.bool_]] = field(default_factory=list)
    """Which lines of each document in *a* are main text."""
    main_b: list[NDArray[np.bool_]] = field(default_factory=list)
    main: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    """The same for both sides, by URL."""
    on_progress: Callable[[float], None] = lambda share: None
    """Hears which share of the work is done, 0 to 1."""

    @classmethod
    def of(cls, group: tuple[str, ...], corpus: Corpus, pair: LanguagePair, profiles: Iterable[Profile]) -> Domain:
        """Sort those of *profiles* that are in a language of *pair* into the two sides."""
        domain = cls(group, corpus, pair)
        sides = {pair.a: (domain.a, domain.places_a), pair.b: (domain.b, domain.places_b)}
        for profile in profiles:
            if profile.language in sides:
                side, places = sides[profile.language]
                places[link_key(profile.url)] = len(side)
                side.append(profile)
        domain.main_a, domain.main_b = main_lines(domain.a), main_lines(domain.b)
        urls = (profile.url for profile in (*domain.a, *domain.b))
        domain.main = dict(zip(urls, (*domain.main_a, *domain.main_b), strict=True))
        return domain

    def main_text(self, url: str) -> list[str]:
        """The main text of a document of this domain, in lines."""
        return list(compress(self.corpus.document(url).lines, self.main[url]))

    def targets(self, urls: Iterable[str], places: dict[str, int]) -> set[int]:
        """Places of the documents that *urls* lead to, redirects followed."""
        keys = (self.corpus.resolve(link_key(url)) for url in urls)
        return {places[key] for key in keys if key in places}
