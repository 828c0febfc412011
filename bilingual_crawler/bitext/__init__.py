"""From document pairs to sentence pairs and the files of other tools.

- ``splitting.py``: lines to sentences
- ``evidence.py``: log-odds of beads by length, numbers, names, a learnt lexicon and sentence vectors
- ``beads.py``: the best sequence of beads, by dynamic programming
- ``align.py``: the aligner of a site, which learns its lexicon
- ``produce.py``: sentence pairs aligned, cleaned and passed to exports
- ``exports.py``: Bitextor, TMX, Moses, JSON Lines and Parquet files, and whole documents
- ``monolingual.py``: documents of one language

May import: encoders, scoring, storage, options, items, pages, urls, languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.bitext.align import SentenceAligner, SentencePair
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("SentenceAligner", "SentencePair"), "align"),
        },
    )

__all__ = ["SentenceAligner", "SentencePair"]
