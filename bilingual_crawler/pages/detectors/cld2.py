"""CLD2, and langid if the text is short or CLD2 is unsure: the detector of the paper."""

from copy import copy

import pycld2

from bilingual_crawler.languages.codes import UNKNOWN, from_bcp47
from bilingual_crawler.pages.detectors.base import MAX_CHARACTERS, NOTHING, RANGE, Identification, has_letters, legible
from bilingual_crawler.pages.detectors.langid import load_langid

SHORT = 200  # characters under which langid is preferred (it is more accurate on lines of 30–200 characters)
VERY_SHORT = 60  # characters under which CLD2 counts only if langid agrees (its accuracy alone is 80–91 % there)
CONFIDENT = 0.5  # probability from which langid counts: 96 % are right under 30 characters, over 98 % on longer lines
CONFIDENT_ALONE = 0.95  # the same if CLD2 found no language in a long text, which neither may know
PIECE = 300  # characters of a piece
SURE = 0.8  # share of pieces for an answer against a declaration; `benchmarks/languages.py` measures how often
_DETECTED = [code for name, code in pycld2.LANGUAGES if name in pycld2.DETECTED_LANGUAGES]


class Cld2:
    """Control characters are left out. Mixed texts get the language with the largest share."""

    languages = frozenset(filter(None, map(from_bcp47, _DETECTED)))

    def __init__(self) -> None:
        self._langid = copy(load_langid())
        # zxx, "no language", stays for texts that are in none of them.
        labels = [label for label in self._langid.labels if label == "zxx" or from_bcp47(label) in self.languages]
        self._langid.set_languages(labels)
        self._langid_languages = frozenset(map(from_bcp47, labels))

    def identify(self, text: str) -> Identification:
        text = text[:MAX_CHARACTERS]
        first = _cld2(text)
        if len(text) >= SHORT and (first.reliable or first.language != UNKNOWN):
            return first
        return self._second_opinion(text[:RANGE], first) if has_letters(text) else NOTHING

    def confirms(self, text: str, language: str) -> bool:
        """CLD2 is sure of *text* and its pieces, as not of Asturian, and langid agrees if it knows *language*."""
        text = text[:MAX_CHARACTERS]
        starts = range(0, max(len(text) - PIECE, 0) + 1, PIECE)
        pieces = [_cld2(text), *(_cld2(text[start : start + PIECE]) for start in starts)]
        sure = [piece.reliable and piece.language == language for piece in pieces]
        if not sure[0] or sum(sure) < SURE * len(sure):
            return False
        return language not in self._langid_languages or self._classify(text[:RANGE])[0] == language

    def _second_opinion(self, text: str, first: Identification) -> Identification:
        lang, probability = self._classify(text)
        knows_first = first.language in self._langid_languages
        confident = CONFIDENT if len(text) < SHORT else CONFIDENT_ALONE
        if probability >= confident and (knows_first or not first.reliable):
            shares = ((lang, 100),) if lang != UNKNOWN else ()
            return Identification(lang, shares, lang != UNKNOWN)
        trusted = first.reliable and len(text) >= VERY_SHORT
        return first if trusted or first.language == lang else NOTHING

    def _classify(self, text: str) -> tuple[str, float]:
        """Language of *text* by langid, and its probability."""
        label, probability = self._langid.classify(legible(text))
        return from_bcp47(label) or UNKNOWN, float(probability)


def _cld2(text: str) -> Identification:
    try:
        reliable, _, details = pycld2.detect(text, isPlainText=True)
    except (pycld2.error, UnicodeEncodeError):
        readable = legible(text)
        return _cld2(readable) if readable != text else NOTHING
    shares: dict[str, int] = {}
    for _, code, percent, _ in details:
        lang = from_bcp47(code)
        if lang and percent:
            shares[lang] = shares.get(lang, 0) + percent
    ranked = tuple(sorted(shares.items(), key=lambda share: -share[1]))
    return Identification(ranked[0][0], ranked, bool(reliable)) if ranked else NOTHING
