"""Identify the language of a text: by detectors, and by declarations for languages that no detector knows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from bilingual_crawler import to_install
from bilingual_crawler.languages.codes import UNKNOWN, macrolanguage
from bilingual_crawler.pages.detectors import CLD2, load_detector
from bilingual_crawler.pages.detectors.base import RANGE, Identification
from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError
from bilingual_crawler.pages.sandbox.pool import submit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from typing import Any

    from bilingual_crawler.languages.pairs import LanguagePairs

REMEDY = (
    "BILINGUAL_DETECTORS=cld2,heliport or cld2,fasttext:FILE may know it; they are the extra languages: "
    f"{to_install('languages')}; docs/languages.md says which detector knows which language."
)


MAX_RANGES = 20
"""Ranges of a page that vote on its language."""


class PageLanguage(NamedTuple):
    """The language of a page by the vote of its ranges (CCAligned 2020, section 3.2.2)."""

    identification: Identification
    """Language of the page; shares are those of the whole text."""
    ranges: tuple[str, ...]
    """Languages of contiguous ranges of the text, ISO 639-3 or ``un``, in order."""


class LanguageDetectorError(ValueError):
    """A detector cannot be loaded; the message names it and the reason."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The detectors of a crawl by name, and the languages of its pairs that no detector knows."""

    detectors: tuple[str, ...] = (CLD2,)
    undetectable: frozenset[str] = frozenset()

    @classmethod
    def for_pairs(cls, detectors: tuple[str, ...], pairs: LanguagePairs) -> Detection:
        """Return the detection of the languages of *pairs*; raises LanguageDetectorError if one cannot be loaded."""
        sides = set(map(pairs.side, known_languages(detectors)))
        return cls(detectors, frozenset(lang for lang in pairs.equivalents if pairs.side(lang) not in {None, *sides}))

    def __str__(self) -> str:
        """The setting that names the detectors."""
        return f"BILINGUAL_DETECTORS={','.join(self.detectors)}"

    def load(self) -> None:
        """Load the detectors now instead of at the first call of :meth:`identify`."""
        load_detector(self.detectors)

    def identify(self, text: str, declared: Iterable[str | None] = ()) -> Identification:
        """The language of *text*; never raises.

        If one of the languages that are *declared* for it is undetectable, it is that, unless a detector is sure of
        another language. Sorani that is taken for Kurdish is not another language.
        """
        detector = load_detector(self.detectors)
        found = detector.identify(text)
        announced = next((lang for lang in declared if lang in self.undetectable), None)
        if announced is None:
            return found
        other = found.reliable and found.language != macrolanguage(announced)
        if other and detector.confirms(text, found.language):
            return found
        return Identification(announced, ((announced, 100),), False)

    def confirms(self, text: str, language: str) -> bool:
        """Whether *text*, which was identified as *language*, cannot well be in another one; never raises."""
        return load_detector(self.detectors).confirms(text, language)

    def identify_page(self, text: str, declared: Iterable[str | None] = ()) -> PageLanguage:
        """The language of a page with this *text*, for a crawl and for the alignment; never raises.

        It is the language of most ranges. The whole text decides where no two ranges agree.
        """
        declared = tuple(declared)
        whole = self.identify(text, declared)
        ranges = tuple(self.identify(one, declared).language for one in ranges_of(text)) if len(text) >= RANGE else ()
        language = majority(whole.language, ranges)
        agreed = whole.reliable and language == whole.language
        return PageLanguage(Identification(language, whole.shares, agreed), ranges or (whole.language,))


def ranges_of(text: str) -> Iterator[str]:
    """Yield contiguous ranges of *text*, about 1,000 characters each, at most 20 spread over the text."""
    count = max(1, min(MAX_RANGES, len(text) // RANGE))
    step = max(1, -(-len(text) // count))
    return (text[at : at + step][:RANGE] for at in range(0, max(len(text), 1), step))


def majority(whole: str, ranges: Sequence[str]) -> str:
    """Return the language of most *ranges*, the first of equals; of the *whole* text where no two ranges agree.

    A range without a language, such as a table of numbers, does not vote.
    """
    [(language, votes)] = Counter(one for one in ranges if one != UNKNOWN).most_common(1) or [(whole, 0)]
    return language if votes > 1 else whole


BY_DEFAULT = Detection()
"""The detectors of the paper: CLD2 and langid."""


@dataclass(frozen=True)
class KnownLanguagesJob(Job[frozenset[str]]):
    """Load detectors and ask which languages they know."""

    returns: ClassVar[Any] = frozenset[str]
    detectors: tuple[str, ...]

    @property
    def limits(self) -> Limits:
        return Limits(1, 100)

    def prepare(self) -> None:
        load_detector(self.detectors)

    def run(self) -> frozenset[str]:
        return load_detector(self.detectors).languages


@lru_cache
def ask_languages(detectors: tuple[str, ...]) -> Future[frozenset[str]]:
    """Begin to ask for the :func:`known_languages`: a helper process takes half a second to start and to load them."""
    return submit(KnownLanguagesJob(detectors))


def known_languages(detectors: tuple[str, ...]) -> frozenset[str]:
    """The languages that one of *detectors* knows; raises LanguageDetectorError if one cannot be loaded.

    A helper process loads them, so that they take no memory here.
    """
    try:
        return ask_languages(detectors).result()
    except (ContentError, SandboxError) as error:
        raise LanguageDetectorError(f"{Detection(detectors)}: {error}") from error
