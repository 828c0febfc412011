"""Identify the language of a text: by detectors, and by declarations for languages that no detector knows."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nlargest
from typing import Any, ClassVar

from bilingual_crawler import to_install
from bilingual_crawler.languages.codes import UNKNOWN, base_of, macrolanguage
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.languages.scripts import script_of
from bilingual_crawler.pages.decode import has_wrong_letters
from bilingual_crawler.pages.detectors.base import MAX_CHARACTERS, SHOWN, Identification, has_letters, load_detector
from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError
from bilingual_crawler.pages.sandbox.pool import submit
from bilingual_crawler.pages.words import width_of

REMEDY = (
    "BILINGUAL_DETECTORS=cld2,heliport or cld2,fasttext:FILE may know it; they are the extra languages: "
    f"{to_install('languages')}; docs/languages.md says which detector knows which language."
)

SHORT = 200  # letters of own text under which what is declared decides, unless a detector is sure
MIN_LETTERS = 20  # letters of a line that votes
MAX_CODE = 0.06  # maximum share of a line of prose in ASCII that are signs of code
MAX_VOTES = 30  # lines of a page that vote on its language, the longest ones

_SIGN_OF_CODE = re.compile(r"[][{}()=;<>*&|_/\\$#@+~^%-]")
_SERBO_CROATIAN = frozenset(("bos", "cnr", "hbs", "hrv", "srp"))
# Languages that detectors take for each other.
_CONFUSED = (_SERBO_CROATIAN, {"ind", "msa", "zsm"}, {"dan", "nno", "nob", "nor"}, {"ces", "slk"}, {"glg", "por"})


class LanguageDetectorError(ValueError):
    """A detector cannot be loaded; the message names it and the reason."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The detectors of a crawl by name, and what its pairs ask of them."""

    detectors: tuple[str, ...] = ("cld2",)
    undetectable: frozenset[str] = frozenset()
    """Languages of the pairs that no detector knows."""
    languages: frozenset[str] = frozenset()
    """Languages of the pairs, and those that count as one of them, without scripts."""
    in_scripts: frozenset[str] = frozenset()
    """Languages of which the pairs have one script: the identified language has the script of the text."""

    @classmethod
    def for_pairs(cls, detectors: tuple[str, ...], pairs: LanguagePairs) -> "Detection":
        """Return the detection of the languages of *pairs*; raises LanguageDetectorError if one cannot be loaded."""
        sides = set(map(pairs.side, known_languages(detectors)))
        undetectable = frozenset(lang for lang in pairs.equivalents if pairs.side(lang) not in {None, *sides})
        in_scripts = frozenset(lang for lang in pairs.equivalents if "_" in (pairs.side(lang) or ""))
        return cls(detectors, undetectable, pairs.equivalents, in_scripts)

    def __str__(self) -> str:
        """The setting that names the detectors."""
        return f"BILINGUAL_DETECTORS={','.join(self.detectors)}"

    def load(self) -> None:
        """Load the detectors now instead of at the first call of :meth:`identify`."""
        load_detector(self.detectors)

    def identify(self, text: str, declared: Iterable[str | None] = ()) -> Identification:
        """The language of *text*, or an undetectable one *declared*, unless a detector is sure; never raises."""
        return self._in_script(self._identify(text, [lang and base_of(lang) for lang in declared]), text)

    def _identify(self, text: str, declared: Iterable[str | None] = ()) -> Identification:
        detector = load_detector(self.detectors)
        found = detector.identify(text)
        announced = next((lang for lang in declared if lang in self.undetectable), None)
        is_other = announced and found.reliable and found.language != macrolanguage(announced)
        if announced is None or (is_other and detector.confirms(text, found.language)):
            return found
        return Identification(announced, ((announced, 100),), False)

    def _in_script(self, found: Identification, text: str) -> Identification:
        """*found* with the script of *text* if the pairs have one script of its language: ``zho_Hant``."""
        script = script_of(text[:MAX_CHARACTERS]) if found.language in self.in_scripts else None
        if script is None:
            return found
        written = f"{found.language}_{script}"
        shares = tuple((written if lang == found.language else lang, share) for lang, share in found.shares)
        return replace(found, language=written, shares=shares)

    def confirms(self, text: str, language: str) -> bool:
        """Whether *text*, which was identified as *language*, cannot well be in another one; never raises."""
        return load_detector(self.detectors).confirms(text, base_of(language))

    def identify_page(self, lines: Sequence[str], declared: Sequence[str | None] = ()) -> Identification:
        """The language of a page by the vote of its own text, *lines*, and by what is *declared*; never raises.

        *declared*: ISO 639-3, the most direct first, None if a declaration names no language. It decides where the text
        is short, or its lines and the whole, without code, disagree, and among languages that detectors confuse.
        """
        text = "\n".join(lines)
        names = [lang and base_of(lang) for lang in declared]
        whole = self._identify(text, names)
        # the first of equals
        named = next((language for language, _ in Counter(filter(None, names)).most_common(1)), None)
        found = replace(self._vote(lines, text, whole), declared=named)
        prose = "\n".join(line for line in lines if not _is_code(line))
        is_tie = found.language != whole.language == named == self._identify(prose).language
        if named and named != found.language and (is_tie or self._decides(named, text, found)):
            found = replace(found, language=named, reliable=False)
        if found.reliable and has_wrong_letters(text, found.language):
            found = replace(found, reliable=False)
        return self._in_script(found, text)

    def _vote(self, lines: Sequence[str], text: str, whole: Identification) -> Identification:
        """*whole*, or the vote of the lines of a text that is in several languages or too long, by their width.

        Lines of code, which reads as English, vote only if there are no others.
        """
        if len(text) <= MAX_CHARACTERS and whole.is_unmixed:
            return whole
        voters = [line for line in lines if sum(map(str.isalpha, line)) >= MIN_LETTERS]
        prose = [line for line in voters if not _is_code(line)]
        votes: Counter[str] = Counter()
        for line in nlargest(MAX_VOTES, prose or voters, key=width_of):
            votes[self._identify(line).language] += width_of(line)
        votes.pop(UNKNOWN, None)
        if not votes:
            return whole
        shares = tuple((language, 100 * size // votes.total()) for language, size in votes.most_common(SHOWN))
        return Identification(shares[0][0], shares, whole.reliable and shares[0][0] == whole.language)

    def _decides(self, named: str, text: str, found: Identification) -> bool:
        """Whether the declared language *named* decides about *text*, which was *found* to be in another one."""
        if found.language == UNKNOWN:
            return has_letters(text)
        if {named, found.language} <= _SERBO_CROATIAN:
            return True
        if named == macrolanguage(found.language):
            return False
        is_short = sum(map(str.isalpha, text[: 10 * SHORT])) < SHORT
        doubtful = is_short or any({named, found.language} <= kind for kind in _CONFUSED)
        return doubtful and not (found.reliable and self.confirms(text, found.language))


def _is_code(line: str) -> bool:
    return line.isascii() and len(_SIGN_OF_CODE.findall(line)) > MAX_CODE * len(line)


BY_DEFAULT = Detection()  # the detectors of the paper: CLD2 and langid


@dataclass(frozen=True)
class KnownLanguagesJob(Job[frozenset[str]]):
    """Load detectors and ask which languages they know."""

    returns: ClassVar[Any] = frozenset[str]
    limits = Limits(1, 100)
    detectors: tuple[str, ...]

    def prepare(self) -> None:
        load_detector(self.detectors)

    def run(self) -> frozenset[str]:
        return load_detector(self.detectors).languages


@lru_cache
def ask_languages(detectors: tuple[str, ...]) -> Future[frozenset[str]]:
    """Begin to ask for the :func:`known_languages`: a helper process takes half a second to start and to load them."""
    return submit(KnownLanguagesJob(detectors))


def known_languages(detectors: tuple[str, ...]) -> frozenset[str]:
    """The languages that one of *detectors*, loaded in a helper process, knows; LanguageDetectorError."""
    try:
        return ask_languages(detectors).result()
    except ContentError as error:
        raise LanguageDetectorError(f"{Detection(detectors)}: {error}") from error
    except SandboxError as error:
        why = "see to memory, disk and limits of this machine (df /tmp; ulimit -a)"
        raise LanguageDetectorError(f"a helper process, which reads pages, failed: {error}; {why}") from error
