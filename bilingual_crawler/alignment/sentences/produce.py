"""Bitext of document pairs: sentences aligned, cleaned for training a translation model, and passed to exports."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from bilingual_crawler.alignment.sentences.align import SentenceAligner
from bilingual_crawler.alignment.sentences.exports import DocumentPair
from bilingual_crawler.alignment.sentences.personal import PersonalData
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.origin import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bilingual_crawler.alignment.encoders.base import Encoder
    from bilingual_crawler.alignment.sentences.align import SentencePair
    from bilingual_crawler.alignment.sentences.exports import Sink
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.origin import Origin

MIN_SCORE = 0.5
MAX_RATIO = 3.0
"""Maximum ratio of the lengths in characters, beyond `SLACK` characters."""
SLACK = 15
MIN_LETTERS = 2
LEGIBLE = 40
"""Minimum characters for the language of a sentence to be identified."""


class Seen:
    """The sentence pairs so far, as 8-byte digests."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def is_new(self, a: str, b: str) -> bool:
        """Tell whether the pair of *a* and *b* is new, ignoring case and blanks; it is not new again."""
        digest = blake2b(f"{_normal(a)}\t{_normal(b)}".encode(errors="replace"), digest_size=8).digest()
        new = digest not in self._digests
        self._digests.add(digest)
        return new


class Cleaner:
    """Filters sentence pairs and counts the dropped ones by reason. Each pair is kept once.

    `dropped` counts by reason: ``score``, ``letters``, ``equal``, ``length``, ``language``, ``duplicate``.
    """

    def __init__(self, pair: LanguagePair, detection: Detection = BY_DEFAULT) -> None:
        self._pair = pair
        self._detection = detection
        self._seen = Seen()
        self.dropped: Counter[str] = Counter()

    def keeps(self, found: SentencePair) -> bool:
        """Tell whether *found* belongs in the bitext."""
        reason = self._objection(found.text_a, found.text_b, found.score)
        if reason:
            self.dropped[reason] += 1
        return reason is None

    def _objection(self, a: str, b: str, score: float) -> str | None:
        if score < MIN_SCORE:
            return "score"
        if min(sum(map(str.isalpha, text)) for text in (a, b)) < MIN_LETTERS:
            return "letters"
        if a.casefold() == b.casefold():
            return "equal"
        shorter, longer = sorted((len(a), len(b)))
        if longer > MAX_RATIO * shorter + SLACK:
            return "length"
        if not (self._may_be(a, self._pair.a) and self._may_be(b, self._pair.b)):
            return "language"
        return None if self._seen.is_new(a, b) else "duplicate"

    def _may_be(self, text: str, language: str) -> bool:
        if len(text) < LEGIBLE:
            return True
        identified = self._detection.identify(text, (language,))
        return not identified.reliable or self._pair.side(identified.language) == language


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


TEACHERS = 1000
"""Maximum document pairs of a domain that teach the lexicon."""


class BitextProducer:
    """Aligns the sentences of paired documents, cleans them and hands them to the exports, domain by domain.

    Attributes: ``counts`` (documents, aligned, kept sentence pairs), ``dropped`` (sentence pairs by reason).
    """

    def __init__(
        self, pair: LanguagePair, detection: Detection, exports: Iterable[Sink], encoder: Encoder | None = None
    ) -> None:
        self._personal = PersonalData((pair.a, pair.b))
        self._exports = list(exports)
        self._aligner = SentenceAligner(pair.a, pair.b, encoder)
        self._cleaner = Cleaner(pair, detection)
        self.counts: Counter[str] = Counter()
        self.dropped = self._cleaner.dropped

    def add(
        self,
        pairs: Sequence[Pair],
        main: Callable[[str], list[str]],
        origin: Callable[[str], Origin] = lambda url: UNKNOWN,
    ) -> None:
        """Add the document pairs of a domain or group, best first.

        *main* returns the main text of a URL, in lines, *origin* what it declares about where it comes from.
        """
        read = self._aligner.read
        self._aligner.learn_lexicon(read(main(pair.url_a), main(pair.url_b)) for pair in pairs[:TEACHERS])
        for pair in pairs:
            a, b = main(pair.url_a), main(pair.url_b)
            found = self._aligner.align(*read(a, b))
            kept = [self._flagged(sentences) for sentences in found if self._cleaner.keeps(sentences)]
            self.counts.update(documents=1, aligned=len(found), kept=len(kept))
            origins = origin(pair.url_a), origin(pair.url_b)
            documents = DocumentPair(
                pair.url_a, pair.url_b, "\n".join(a), "\n".join(b), pair.score, pair.method, *origins
            )
            for export in self._exports:
                export.add(documents, found, kept)

    def _flagged(self, found: SentencePair) -> SentencePair:
        kinds = self._personal.kinds(f"{found.text_a}\n{found.text_b}")
        return replace(found, personal=kinds) if kinds else found

    def close(self) -> None:
        """Complete all files."""
        with ExitStack() as stack:
            for export in self._exports:
                stack.callback(export.close)
