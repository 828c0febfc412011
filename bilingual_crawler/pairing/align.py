"""Document alignment: from pages to one-to-one pairs, domain by domain."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.documents import Alignment, Pair
from bilingual_crawler.pairing.domain import Domain
from bilingual_crawler.pairing.duplicates import near_duplicates
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.read_pages import read_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Profile
    from bilingual_crawler.pairing.matching import Matching
    from bilingual_crawler.pairing.methods import Candidates, Method

SHORTEST = 200
"""Characters of main text from which documents can be near-duplicates."""


def read_corpus(paths: Sequence[Path], pair: LanguagePair, on_page: Callable[[], None] = lambda: None) -> Corpus:
    """Read all documents of *pair* behind *paths*; ArchiveError if one of them cannot be read."""
    inputs = Inputs(paths)
    corpus = Corpus(pair)
    for read in read_pages(inputs.pages(), pair, corpus.unreadable):
        if read is not None:
            corpus.add(read)
        on_page()
    corpus.redirect(inputs.redirects, inputs.alias_bases)
    return corpus


def align(
    corpus: Corpus,
    method: Method,
    matching: Matching = greedy,
    on_progress: Callable[[str, float], None] = lambda domain, share: None,
) -> Iterator[tuple[Domain, Alignment]]:
    """Pair the documents of each registered domain, in alphabetical order of domains.

    *on_progress* hears which share of the work on a domain is done.
    """
    for name in corpus.domains():
        domain = Domain.of(name, corpus, corpus.profiles(name))
        domain.on_progress = partial(on_progress, name)
        yield domain, align_domain(domain, method, matching)
        del domain  # or two would be in memory at once


def align_domain(domain: Domain, method: Method, matching: Matching = greedy) -> Alignment:
    """One-to-one pairs among the documents of *domain*, and why the others are in none.

    Of near-duplicates only one can be in a pair: the one with the better score, the longer of equals.
    """
    candidates = method(domain)
    group_a, group_b = _groups(domain.a, domain.main_a), _groups(domain.b, domain.main_b)
    order = np.argsort(-_lengths(domain, candidates), kind="stable")
    a, b, scores = group_a[candidates.a[order]], group_b[candidates.b[order]], candidates.scores[order]
    chosen = order[matching(a, b, scores, candidates.threshold)]
    pairs = tuple(
        Pair(
            domain.a[candidates.a[k]].url,
            domain.b[candidates.b[k]].url,
            round(float(candidates.scores[k]), 4),
            candidates.names[k],
        )
        for k in chosen
    )
    good = np.flatnonzero(candidates.scores >= candidates.threshold)
    unpaired: dict[str, str] = {}
    nearest = _nearest(domain, candidates)
    for profiles, places, groups in ((domain.a, candidates.a, group_a), (domain.b, candidates.b, group_b)):
        paired, rivals, seen = set(places[chosen].tolist()), set(places[good].tolist()), set(places.tolist())
        done = set(groups[places[chosen]].tolist())
        for place, profile in enumerate(profiles):
            if place in paired:
                continue
            if int(groups[place]) in done:
                unpaired[profile.url] = "duplicate"
            elif place in rivals:
                unpaired[profile.url] = "taken"
            else:
                unpaired[profile.url] = "low_score" if place in seen else "no_candidate"
    refused = {"low_score": len(candidates.scores) - len(good), "taken": len(good) - len(chosen)}
    return Alignment(
        domain.name,
        pairs,
        unpaired,
        {url: nearest[url] for url in unpaired if url in nearest},
        {reason: count for reason, count in refused.items() if count},
    )


def _nearest(domain: Domain, candidates: Candidates) -> dict[str, tuple[str, float]]:
    """The best candidate of every document that has any, and its score, by URL."""
    nearest: dict[str, tuple[str, float]] = {}
    for k in np.argsort(candidates.scores, kind="stable"):
        a, b, score = (
            domain.a[candidates.a[k]].url,
            domain.b[candidates.b[k]].url,
            round(float(candidates.scores[k]), 4),
        )
        nearest[a], nearest[b] = (b, score), (a, score)
    return nearest


def _groups(profiles: Sequence[Profile], main: Sequence[NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Groups of near-duplicates; documents with next to no main text stand alone."""
    lines = [profile.lines[kept] for profile, kept in zip(profiles, main, strict=True)]
    sizes = [int(profile.lengths[kept].sum()) for profile, kept in zip(profiles, main, strict=True)]
    empty = np.zeros(0, dtype=np.uint32)
    return near_duplicates([one if size >= SHORTEST else empty for one, size in zip(lines, sizes, strict=True)])


def _lengths(domain: Domain, candidates: Candidates) -> NDArray[np.float64]:
    """Characters of both documents of each candidate."""
    a, b = (np.array([profile.lengths.sum() for profile in side], dtype=float) for side in (domain.a, domain.b))
    return np.asarray(a[candidates.a] + b[candidates.b]) if len(candidates.a) else np.zeros(0)
