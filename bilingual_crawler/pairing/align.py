"""Document alignment: from pages to one-to-one pairs, domain by domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.documents import Alignment
from bilingual_crawler.pairing.domain import Domain
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.reading import read_page
from bilingual_crawler.pairing.tracker import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.methods import Method


def read_corpus(paths: Sequence[Path], pair: LanguagePair, on_page: Callable[[], None] = lambda: None) -> Corpus:
    """Read all documents of *pair* behind *paths*; ArchiveError if one of them cannot be read."""
    inputs = Inputs(paths)
    corpus = Corpus(pair)
    for raw in inputs.pages():
        read = read_page(raw, pair)
        if read is not None:
            corpus.add(*read)
        on_page()
    corpus.redirect(inputs.redirects, inputs.alias_bases)
    return corpus


def align(corpus: Corpus, method: Method) -> Iterator[Alignment]:
    """Pair the documents of each registered domain, in alphabetical order of domains."""
    for name in corpus.domains():
        yield align_domain(Domain.of(name, corpus, corpus.profiles(name)), method)


def align_domain(domain: Domain, method: Method) -> Alignment:
    """One-to-one pairs among the documents of *domain*, and why the others are in none."""
    candidates = method(domain)
    chosen = greedy(candidates.a, candidates.b, candidates.scores, candidates.threshold)
    pairs = tuple(
        Pair(
            domain.a[candidates.a[k]].url,
            domain.b[candidates.b[k]].url,
            round(float(candidates.scores[k]), 4),
            candidates.names[k],
        )
        for k in chosen
    )
    good = candidates.scores >= candidates.threshold
    reasons: dict[str, str] = {}
    for side, places in ((domain.a, candidates.a), (domain.b, candidates.b)):
        paired, rivals, seen = (set(map(int, places[rows])) for rows in (chosen, good, np.arange(len(places))))
        for place, profile in enumerate(side):
            if place not in paired:
                reasons[profile.url] = "taken" if place in rivals else "low_score" if place in seen else "no_candidate"
    return Alignment(domain.name, pairs, reasons)
