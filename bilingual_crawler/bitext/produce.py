"""Turn paired documents into files of bitext."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.align import SentenceAligner
from bilingual_crawler.bitext.clean import Cleaner
from bilingual_crawler.bitext.exports.base import DocumentPair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bilingual_crawler.bitext.exports.base import Sink
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.language import Detection
    from bilingual_crawler.pairing.documents import Alignment
    from bilingual_crawler.pairing.embeddings import Encoder

TEACHERS = 1000
"""Document pairs of a domain from which the lexicon is learnt."""


class BitextProducer:
    """Aligns the sentences of paired documents, cleans them and hands them to the exports, domain by domain.

    Attributes: ``counts`` (documents, aligned, kept sentence pairs), ``dropped`` (sentence pairs by reason).
    """

    def __init__(
        self, pair: LanguagePair, detection: Detection, exports: Iterable[Sink], encoder: Encoder | None = None
    ) -> None:
        self._exports = list(exports)
        self._aligner = SentenceAligner(pair.a, pair.b, encoder)
        self._cleaner = Cleaner(pair, detection)
        self.counts: Counter[str] = Counter()
        self.dropped = self._cleaner.dropped

    def add(self, alignment: Alignment, main: Callable[[str], list[str]]) -> None:
        """Add the document pairs of one domain or group. *main* gives the main text of a URL, in lines."""
        read = self._aligner.read
        self._aligner.learn(read(main(pair.url_a), main(pair.url_b)) for pair in alignment.pairs[:TEACHERS])
        for pair in alignment.pairs:
            a, b = main(pair.url_a), main(pair.url_b)
            found = self._aligner.align(*read(a, b))
            kept = [sentences for sentences in found if self._cleaner.keeps(sentences)]
            self.counts.update(documents=1, aligned=len(found), kept=len(kept))
            documents = DocumentPair(pair.url_a, pair.url_b, "\n".join(a), "\n".join(b), pair.score, pair.method)
            for export in self._exports:
                export.add(documents, found, kept)

    def close(self) -> None:
        """Complete all files."""
        with ExitStack() as stack:
            for export in self._exports:
                stack.callback(export.close)
