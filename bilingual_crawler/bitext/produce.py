"""From paired documents to bitext in files."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from itertools import compress
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.align import SentenceAligner
from bilingual_crawler.bitext.clean import Cleaner
from bilingual_crawler.bitext.exports.base import DocumentPair
from bilingual_crawler.pairing.main_text import main_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from bilingual_crawler.bitext.align import Encoder
    from bilingual_crawler.bitext.exports.base import Export
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.documents import Alignment


TEACHERS = 1000
"""Document pairs of a domain from which words are learnt."""


class BitextProducer:
    """Aligns the sentences of paired documents, cleans them and hands them to the exports, domain by domain.

    Attributes: ``counts`` (documents, aligned, kept sentence pairs), ``dropped`` (sentence pairs by reason).
    """

    def __init__(self, corpus: Corpus, exports: Iterable[Export], encoder: Encoder | None = None) -> None:
        self._corpus = corpus
        self._exports = list(exports)
        self._aligner = SentenceAligner(corpus.pair.a, corpus.pair.b, encoder)
        self._cleaner = Cleaner(corpus.pair)
        self.counts: Counter[str] = Counter()
        self.dropped = self._cleaner.dropped

    def add(self, alignment: Alignment) -> None:
        """Take in the document pairs of one registered domain."""
        main = self._main_text(alignment)
        self._aligner.learn((main(pair.url_a), main(pair.url_b)) for pair in alignment.pairs[:TEACHERS])
        for pair in alignment.pairs:
            a, b = main(pair.url_a), main(pair.url_b)
            found = self._aligner.align(a, b)
            kept = [sentences for sentences in found if self._cleaner.keeps(sentences)]
            self.counts.update(documents=1, aligned=len(found), kept=len(kept))
            documents = DocumentPair(pair.url_a, pair.url_b, "\n".join(a), "\n".join(b), pair.score, pair.method)
            for export in self._exports:
                export.add(documents, found, kept)

    def _main_text(self, alignment: Alignment) -> Callable[[str], list[str]]:
        """How to get the lines of a document that its site does not repeat on every page."""
        paired = {url for pair in alignment.pairs for url in (pair.url_a, pair.url_b)}
        masks: dict[str, NDArray[np.bool_]] = {}
        profiles = self._corpus.profiles(alignment.domain)
        for language in (self._corpus.pair.a, self._corpus.pair.b):
            side = [profile for profile in profiles if profile.language == language]
            masks |= {p.url: mask for p, mask in zip(side, main_lines(side), strict=True) if p.url in paired}
        return lambda url: list(compress(self._corpus.document(url).lines, masks[url]))

    def close(self) -> None:
        """Complete all files."""
        with ExitStack() as stack:
            for export in self._exports:
                stack.callback(export.close)
