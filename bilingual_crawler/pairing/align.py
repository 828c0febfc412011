"""Document alignment of a corpus, domain by domain, or of a crawl that was aligned before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.items import Pair
from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pairing.candidates import Editions, url_evidence
from bilingual_crawler.pairing.corpus import Corpus, Domain
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.model import LABELLED, Alignment, as_in, read_pairs
from bilingual_crawler.pairing.reading import OTHER_LANGUAGE, PackedDocument, read_pages
from bilingual_crawler.pairing.resemblance import SHORTEST
from bilingual_crawler.storage.records import PAIRS, UNPAIRED, read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pairing.methods import Candidates, Method
    from bilingual_crawler.pairing.model import Profile


NEARLY_BEST = 0.1
"""Distance to the best score of near-duplicates, 0 to 1, within which an article is preferred to a list."""

SAID = ("hreflang", "switcher", "url")
"""Methods by which a site itself says that two documents are a pair."""


def read_corpus(
    paths: Sequence[Path],
    pairs: LanguagePairs,
    on_page: Callable[[], None] = lambda: None,
    formats: Collection[str] = ONLY_HTML,
    detection: Detection = BY_DEFAULT,
) -> Corpus:
    """Read all documents of *pairs* in *paths* (see :class:`.inputs.Inputs`); raises ArchiveError.

    *on_page* is called after each page. Archives give documents in *formats*; a crawl gives the documents it kept, and
    pages in other languages of *pairs* from its archive.
    """
    inputs = Inputs(paths, pairs, formats, detection)
    corpus = Corpus(pairs)
    for read in read_pages(inputs.pages(), pairs, detection, corpus.unreadable):
        if isinstance(read, PackedDocument):
            corpus.add(read)
        elif side := pairs.side(read.language or ""):
            corpus.leave_out(read.url, side, read.reason)
        elif read.reason == OTHER_LANGUAGE:
            corpus.others[read.language or ""] += 1
        on_page()
    corpus.unreadable.update(inputs.damaged)
    corpus.redirect(inputs.redirects, inputs.alias_bases)
    corpus.announced.update(inputs.announced)
    return corpus


def align(
    corpus: Corpus,
    method: Method,
    on_progress: Callable[[tuple[str, ...], float], None] = lambda group, share: None,
    editions: str = "best",
) -> Iterator[tuple[Domain, Alignment]]:
    """Align the documents of each language pair, group by group of registered domains, in alphabetical order.

    *on_progress* takes the group and the share (0 to 1) of its work that is done. *editions* as in
    :func:`align_domain`.
    """
    for domain in domains(corpus):
        domain.on_progress = partial(on_progress, domain.group)
        alignment = align_domain(domain, method, editions)
        yield domain, replace(alignment, unpaired={**_left_out(domain), **alignment.unpaired})
        del domain  # or two would be in memory at once


def as_aligned(corpus: Corpus, folder: Path) -> Iterator[tuple[Domain, Alignment]]:
    """Yield as :func:`align` does, with the pairs and reasons in the files of the crawl in *folder*.

    Pairs whose documents the corpus lacks are left out, and counted in its ``unreadable``.
    """
    pairs: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    names = set(map(str, corpus.pairs))
    for pair in read_pairs(folder / PAIRS, corpus.pairs):
        if pair.pair in names:
            pairs[pair.pair, pair.url_a].append(pair)
    lacking = sum(map(len, pairs.values()))
    # older crawls had one pair of languages, and did not name it
    one = str(corpus.pairs)
    rows = read_tsv(folder / UNPAIRED)
    left_over = {(as_in(corpus.pairs, row.get("pair", one)), row["url"]): row for row in rows}
    for domain in domains(corpus):
        name = str(domain.pair)
        # an edition of a page may be in a pair with each edition of the other
        listed = (pair for profile in domain.a for pair in pairs.get((name, profile.url), ()))
        found = sorted((pair for pair in listed if pair.url_b in domain.main), key=lambda pair: -pair.score)
        lacking -= len(found)
        urls = (*domain.main, *domain.copies, *_left_out(domain))
        left = {url: left_over[name, url] for url in urls if (name, url) in left_over}
        reasons = {url: row["reason"] for url, row in left.items()}
        nearest = {url: (row["nearest"], float(row["score"])) for url, row in left.items() if row["nearest"]}
        yield domain, Alignment(domain.group, tuple(found), reasons, nearest)
        del domain
    if lacking:
        corpus.unreadable["pairs_without_document"] += lacking


def domains(corpus: Corpus, *, labelled: bool = False) -> Iterator[Domain]:
    """Yield the documents of each group in each language pair; with *labelled* of groups with labels only."""
    groups = [group for group in corpus.groups() if not labelled or corpus.labels(group)]
    for pair in corpus.pairs:
        for group in groups:
            yield Domain(group, corpus, pair, corpus.profiles(group))


def _left_out(domain: Domain) -> dict[str, str]:
    """Return URL and reason of the excluded documents, unless another input has a document at the same URL."""
    left_out = domain.corpus.left_out(domain.group, domain.pair)
    return {url: reason for url, reason in left_out.items() if url not in domain.main and url not in domain.copies}


def align_domain(domain: Domain, method: Method, editions: str = "best") -> Alignment:
    """Pair the documents of *domain* one-to-one, and give each unpaired document a reason.

    Of near-duplicates one is paired: an article before the lists that show nothing else, then the better score, then
    the longer text. The others are paired with what the site says is their translation, if that is a near-duplicate of
    the partner, too. *editions*: pair the ``best`` edition of a page, or ``all``, which makes every good candidate
    between the pages of a pair a pair. Pairs that a person has labelled are given, or not, whatever speaks against it.
    """
    proposed = _with_labelled(domain, method(domain))
    candidates, objections = _without_objections(domain, proposed)
    group_a, group_b = domain.alike_a, domain.alike_b
    lengths = _of_both(domain, candidates, lambda one: one.lengths.sum())
    # the title of an article is a line of its own text
    headed = _of_both(domain, candidates, lambda one: one.headings[domain.main[one.url]].any())
    given = np.flatnonzero(np.array(candidates.names, dtype=object) == LABELLED)
    order = np.lexsort((-lengths, -candidates.scores, -headed))
    a, b = group_a[candidates.a], group_b[candidates.b]
    free = order[~(np.isin(a, a[given]) | np.isin(b, b[given]))[order]]
    scores = _best_first(a[free], b[free], candidates.scores[free], candidates.threshold)
    chosen = np.concatenate((given, free[greedy(a[free], b[free], scores, candidates.threshold)]))
    chosen = _with_copies(chosen, domain, candidates, order)
    if editions == "all":
        chosen = _with_editions(chosen, domain, candidates)
    pairs = tuple(
        Pair(
            domain.a[candidates.a[k]].url,
            domain.b[candidates.b[k]].url,
            round(float(candidates.scores[k]), 4),
            candidates.names[k],
            str(domain.pair),
        )
        for k in chosen
    )
    good = np.flatnonzero(candidates.scores >= candidates.threshold)
    unpaired = dict.fromkeys(domain.copies, "copy")
    nearest = _nearest(domain, proposed)
    untranslated = _untranslated(domain)
    for profiles, places, groups in ((domain.a, candidates.a, group_a), (domain.b, candidates.b, group_b)):
        paired, rivals, seen = set(places[chosen].tolist()), set(places[good].tolist()), set(places.tolist())
        done = set(groups[places[chosen]].tolist())
        for place, profile in enumerate(profiles):
            if place in paired:
                continue
            if int(groups[place]) in done:
                unpaired[profile.url] = "copy"
            elif profile.url in objections:
                unpaired[profile.url] = objections[profile.url]
            elif place in rivals:
                unpaired[profile.url] = "taken"
            elif profile.url in untranslated:
                unpaired[profile.url] = "untranslated"
                nearest[profile.url] = untranslated[profile.url], 0.0
            else:
                unpaired[profile.url] = "low_score" if place in seen else "no_candidate"
    nearest = {url: nearest[url] for url in unpaired if url in nearest}
    refused = {"low_score": len(candidates.scores) - len(good), "taken": len(good) - len(chosen)}
    return Alignment(
        domain.group, pairs, unpaired, nearest, {reason: count for reason, count in refused.items() if count}
    )


def _untranslated(domain: Domain) -> dict[str, str]:
    """Return the documents that are announced as translations of one in their language, or announce such, by URL.

    The value is the other document.
    """
    found: dict[str, str] = {}
    for profiles, places in ((domain.a, domain.places_a), (domain.b, domain.places_b)):
        for place, profile in enumerate(profiles):
            for target in domain.targets(profile.claims, places) - {place}:
                found.setdefault(profile.url, profiles[target].url)
                found.setdefault(profiles[target].url, profile.url)
    return found


def _with_labelled(domain: Domain, candidates: Candidates) -> Candidates:
    """The *candidates* with those that a person has labelled as translations: score 1, method :data:`LABELLED`."""
    right = [places for places, label in domain.labelled.items() if label]
    if not right:
        return candidates
    a, b = np.array(right, dtype=np.intp).T
    width = max(len(domain.b), 1)
    others = np.flatnonzero(~np.isin(candidates.a * width + candidates.b, a * width + b))
    return replace(
        candidates,
        a=np.concatenate((a, candidates.a[others])),
        b=np.concatenate((b, candidates.b[others])),
        scores=np.concatenate((np.ones(len(right)), candidates.scores[others])),
        names=[LABELLED] * len(right) + [candidates.names[k] for k in others],
    )


def _without_objections(domain: Domain, candidates: Candidates) -> tuple[Candidates, dict[str, str]]:
    """Candidates that are no pairs whatever their score get the score 0.

    Returns also, for documents whose best candidate is one of these, the reason by URL.
    """
    scores = candidates.scores.copy()
    reasons: dict[str, str | None] = {}
    order = np.argsort(scores, kind="stable")
    for k in order[scores[order] >= max(candidates.threshold, 1e-9)]:
        i, j = candidates.a[k], candidates.b[k]
        label = domain.labelled.get((int(i), int(j)))
        reason = domain.objection(i, j) if label is None else None if label else LABELLED
        if reason:
            scores[k] = 0.0
        reasons |= {domain.a[i].url: reason, domain.b[j].url: reason}
    return replace(candidates, scores=scores), {url: reason for url, reason in reasons.items() if reason}


def _with_copies(
    chosen: NDArray[np.intp], domain: Domain, candidates: Candidates, order: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Add to *chosen* the near-duplicates of both documents of a pair of which the site says that they are one.

    *order*: of equal scores the first wins. Short ones, as pages that are missing, stay copies.
    """
    said = order[np.isin(candidates.names, SAID)[order]]
    a, b = candidates.a[said], candidates.b[said]
    cell = domain.alike_a[candidates.a] * len(domain.b) + domain.alike_b[candidates.b]
    free = np.isin(cell[said], cell[chosen]) & ~np.isin(a, candidates.a[chosen]) & ~np.isin(b, candidates.b[chosen])
    long_a, long_b = (
        np.array([domain.own_length(one) >= SHORTEST for one in side], dtype=bool) for side in (domain.a, domain.b)
    )
    said = said[free & long_a[a] & long_b[b]]
    added = said[greedy(candidates.a[said], candidates.b[said], candidates.scores[said], candidates.threshold)]
    return np.concatenate((chosen, added))


def _with_editions(chosen: NDArray[np.intp], domain: Domain, candidates: Candidates) -> NDArray[np.intp]:
    """Add the good candidates between other editions of the same two pages to *chosen*, best first."""
    editions = Editions.from_evidence(domain, url_evidence(domain))
    pages = editions.a[candidates.a] * (len(domain.a) + len(domain.b)) + editions.b[candidates.b]
    good = np.flatnonzero(np.isin(pages, pages[chosen]) & (candidates.scores >= candidates.threshold))
    return np.asarray(good[np.argsort(-candidates.scores[good], kind="stable")], dtype=np.intp)


def _nearest(domain: Domain, candidates: Candidates) -> dict[str, tuple[str, float]]:
    """Return the best candidate (URL, score) of each document with candidates, by URL."""
    nearest: dict[str, tuple[str, float]] = {}
    for k in np.argsort(candidates.scores, kind="stable"):
        a, b = domain.a[candidates.a[k]].url, domain.b[candidates.b[k]].url
        score = round(float(candidates.scores[k]), 4)
        nearest[a], nearest[b] = (b, score), (a, score)
    return nearest


def _best_first(
    a: NDArray[np.intp], b: NDArray[np.intp], scores: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """*scores* where of each two groups of near-duplicates, *a* and *b*, the first of the best has the best of all."""
    cells = list(zip(a.tolist(), b.tolist(), strict=True))
    best: dict[tuple[int, int], float] = {}
    for cell, score in zip(cells, scores.tolist(), strict=True):
        best[cell] = max(score, best.get(cell, 0.0))
    raised = scores.copy()
    for k, cell in enumerate(cells):
        if cell in best and scores[k] >= max(threshold, best[cell] - NEARLY_BEST):
            raised[k] = best.pop(cell)
    return raised


def _of_both(domain: Domain, candidates: Candidates, measure: Callable[[Profile], float]) -> NDArray[np.float64]:
    """Return the sum of *measure* over both documents of each candidate, ``(candidates,)``."""
    a, b = (np.array(list(map(measure, side)), dtype=float) for side in (domain.a, domain.b))
    return np.asarray(a[candidates.a] + b[candidates.b]) if len(candidates.a) else np.zeros(0)
