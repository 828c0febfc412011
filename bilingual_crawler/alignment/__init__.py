"""Document and sentence alignment: while a crawl runs and at its end.

- ``documents/``: which documents are translations of each other
- ``sentences/``: which of their sentences are, and the bitext in the formats of other tools
- ``encoders/``: sentence encoders, for both
- ``at_end.py``: the alignment that ends a crawl, in a process of its own

May import: items, policies, frontier, scoring, storage, options, pages, urls, languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.alignment.documents.align import align, read_corpus
    from bilingual_crawler.alignment.documents.ledger import PairLedger
    from bilingual_crawler.alignment.documents.methods import make_method
    from bilingual_crawler.alignment.documents.model import Alignment
    from bilingual_crawler.alignment.sentences.align import SentenceAligner, SentencePair
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("align", "read_corpus"), "documents.align"),
            "PairLedger": "documents.ledger",
            "make_method": "documents.methods",
            "Alignment": "documents.model",
            **dict.fromkeys(("SentenceAligner", "SentencePair"), "sentences.align"),
        },
    )


__all__ = [
    "Alignment",
    "PairLedger",
    "SentenceAligner",
    "SentencePair",
    "align",
    "make_method",
    "read_corpus",
]
