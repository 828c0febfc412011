"""The alignment of everything that a crawl has fetched, when it ends."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bilingual_crawler.options import Options
from bilingual_crawler.pairing.align import align, read_corpus
from bilingual_crawler.pairing.methods import method_of
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.tracker import Pair


def align_crawl(
    folder: Path, pair: LanguagePair, found: Iterable[Pair], settings: BaseSettings
) -> tuple[list[Pair], Counter[str]]:
    """Pairs among the documents in the output *folder* of a crawl, best first, and why the others are in none.

    The method is ``BILINGUAL_ALIGN``. Pairs across registered domains stay as the crawl has *found* them.
    """
    corpus = read_corpus([folder], pair)
    alignments = [alignment for _, alignment in align(corpus, method_of(Options.of(settings).align, settings))]
    pairs = [one for alignment in alignments for one in alignment.pairs]
    unpaired = {url: reason for alignment in alignments for url, reason in alignment.unpaired.items()}
    for one in found:
        across = registered_domain(one.url_a) != registered_domain(one.url_b)
        if across and one.url_a in unpaired and one.url_b in unpaired:
            pairs.append(one)
            del unpaired[one.url_a], unpaired[one.url_b]
    return sorted(pairs, key=lambda one: -one.score), Counter(unpaired.values())
