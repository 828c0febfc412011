"""All pairs of languages of a crawl."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from bilingual_crawler.languages import codes
from bilingual_crawler.languages.codes import DEFAULT_EQUIVALENTS, LanguageError, LanguagePair, base_of

MAX_PAIRS = 15  # all pairs among six languages; each pair knows every queued URL by itself, in some 1.6 kB


@dataclass(frozen=True)
class LanguagePairs:
    """One pair of languages or several, in the user's order. A page counts as one language, in all of its pairs."""

    pairs: tuple[LanguagePair, ...]

    def __post_init__(self) -> None:
        """Refuse a pair or language given twice; drop classes that hold two languages of the pairs."""
        for names, count in Counter(frozenset((one.a, one.b)) for one in self.pairs).items():
            if count > 1:
                raise LanguageError(f"the pair {'-'.join(sorted(names))} is given twice; give it once")
        for language in self.languages:
            if (base := base_of(language)) != language and base in self.languages:
                raise LanguageError(f"{base} includes {language}: give {base} alone, or each script that you want")
        given = frozenset(map(base_of, self.languages))
        kept = (frozenset(group for group in one.equivalents if group & given <= one.bases) for one in self.pairs)
        apart = (replace(one, equivalents=groups) for one, groups in zip(self.pairs, kept, strict=True))
        object.__setattr__(self, "pairs", tuple(apart))

    @classmethod
    def parse(cls, text: str, equivalents: Iterable[str | Collection[str]] = DEFAULT_EQUIVALENTS) -> "LanguagePairs":
        """The pair of ``eng-mlt`` or ``English,Maltese``, or those of ``eng-isl,eng-dan``; raises LanguageError."""
        parts = text.split(",")
        if all(map(codes.split_pair, parts)) and any(map(_is_pair, parts)):
            return cls._of_a_crawl([LanguagePair.parse(part, equivalents) for part in parts])
        if len(parts) > 2:
            raise LanguageError(
                f"{text!r} is no list of pairs: write it like eng-isl,eng-dan, "
                f"or give languages={text} for all pairs among these languages"
            )
        return cls((LanguagePair.parse(text, equivalents),))

    @classmethod
    def among(cls, text: str, equivalents: Iterable[str | Collection[str]] = DEFAULT_EQUIVALENTS) -> "LanguagePairs":
        """All pairs among the languages of ``eng,isl,dan``; raises LanguageError."""
        parts = text.split(",")
        if all(map(_is_pair, parts)):
            raise LanguageError(
                f"{text!r} names pairs: give pair={text} for these pairs, or single languages, like eng,isl,dan"
            )
        languages = [codes.parse_language(part) for part in parts]
        if len(languages) < 2:
            raise LanguageError(f"{text!r} is one language: give at least two, like eng,isl,dan")
        language, count = Counter(map(base_of, languages)).most_common(1)[0]
        if count > 1:
            raise LanguageError(f"{codes.language_name(language)} is given twice; give it once")
        classes = codes.parse_equivalents(equivalents)
        return cls._of_a_crawl([LanguagePair(a, b, classes) for a, b in combinations(languages, 2)])

    @classmethod
    def _of_a_crawl(cls, pairs: Sequence[LanguagePair]) -> "LanguagePairs":
        if len(pairs) > MAX_PAIRS:
            raise LanguageError(f"{len(pairs)} pairs are too many for one crawl: give at most {MAX_PAIRS}")
        return cls(tuple(pairs))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of all pairs, in the order of the pairs."""
        return tuple(dict.fromkeys(language for pair in self.pairs for language in (pair.a, pair.b)))

    @property
    def equivalents(self) -> frozenset[str]:
        """The languages of all pairs, and those that count as one of them, without scripts."""
        return frozenset().union(*(pair.languages for pair in self.pairs))

    @property
    def max_partners(self) -> int:
        """Maximum number of pairs that one document is in."""
        return max(len(self.others(language)) for language in self.languages)

    def side(self, language: str) -> str | None:
        """The language of the pairs that *language* counts as; None if it is in no pair."""
        return next((side for pair in self.pairs if (side := pair.side(language))), None)

    def others(self, side: str) -> tuple[str, ...]:
        """The languages that *side*, one of :attr:`languages`, has a pair with."""
        return tuple(pair.other(side) for pair in self.pairs if side in (pair.a, pair.b))

    def is_other(self, language: str | None, side: str) -> bool:
        """Whether *language* counts as one that *side* has a pair with; False if it is unknown."""
        return language is not None and self.side(language) in self.others(side)

    def __iter__(self) -> Iterator[LanguagePair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return ",".join(map(str, self.pairs))


def _is_pair(text: str) -> bool:
    """Whether *text* names two languages, and is not one with its script or country, such as ``en-GB``."""
    try:
        LanguagePair.parse(text)
    except LanguageError:
        return False
    return True
