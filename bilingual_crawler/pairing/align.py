"""Document alignment of a corpus, domain by domain, or of a crawl that was aligned before."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from bilingual_crawler.items import Pair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pairing.arrays import Floats, Places
from bilingual_crawler.pairing.candidates import Editions, url_evidence
from bilingual_crawler.pairing.copies import own_length
from bilingual_crawler.pairing.corpus import Corpus, Domain
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.pairing.matching import greedy, highest
from bilingual_crawler.pairing.methods import Candidates, Method
from bilingual_crawler.pairing.model import LABELLED, Alignment, Nearest, Profile, as_in, read_pairs, read_unpaired
from bilingual_crawler.pairing.reading import OTHER_LANGUAGE, PackedDocument, read_pages
from bilingual_crawler.pairing.resemblance import SHORTEST
from bilingual_crawler.storage.records import PAIRS, UNPAIRED
from bilingual_crawler.urls.marks import marked_language

NEARLY_BEST = 0.1
"""Distance to the best score of near-duplicates, 0 to 1, within which an article is preferred to a list."""

SAID = ("hreflang", "switcher", "url")  # methods by which a site itself says that two documents are a pair


def read_corpus(
    paths: Sequence[Path],
    pairs: LanguagePairs,
    on_page: Callable[[], None] = lambda: None,
    formats: Collection[str] = ONLY_HTML,
    detection: Detection = BY_DEFAULT,
) -> Corpus:
    """Read all documents of *pairs* in *paths* (see :class:`.inputs.Inputs`); raises ArchiveError.

    *on_page* is called after each page. Archives give documents in *formats*, a crawl also pages that it did not keep.
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

    *on_progress* takes a group and the share of its work done, 0 to 1. *editions* as in :func:`align_domain`.
    """
    for domain in domains(corpus):
        domain.on_progress = partial(on_progress, domain.group)
        alignment = align_domain(domain, method, editions)
        yield domain, replace(alignment, unpaired={**_left_out(domain), **alignment.unpaired})
        del domain  # or two would be in memory at once


def as_aligned(corpus: Corpus, folder: Path) -> Iterator[tuple[Domain, Alignment]]:
    """Yield as :func:`align` does, by the files of the crawl in *folder*; *corpus* counts pairs without documents."""
    pairs: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    names = set(map(str, corpus.pairs))
    for pair in read_pairs(folder / PAIRS, corpus.pairs):
        if pair.pair in names:
            pairs[pair.pair, pair.url_a].append(pair)
    lacking = sum(map(len, pairs.values()))
    # older crawls had one pair of languages, and did not name it
    unnamed, rows = str(corpus.pairs), read_unpaired(folder / UNPAIRED)
    left_over = {(as_in(corpus.pairs, row.pair or unnamed), row.url): row for row in rows}
    for domain in domains(corpus):
        name = str(domain.pair)
        # an edition of a page may be in a pair with each edition of the other
        listed = (pair for profile in domain.a for pair in pairs.get((name, profile.url), ()))
        found = sorted((pair for pair in listed if pair.url_b in domain.main), key=lambda pair: -pair.score)
        lacking -= len(found)
        urls = (*domain.main, *domain.copies, *_left_out(domain))
        left = {url: left_over[name, url] for url in urls if (name, url) in left_over}
        reasons = {url: row.reason for url, row in left.items()}
        nearest = {url: (row.nearest, row.score) for url, row in left.items() if row.nearest}
        misses = _near_misses(domain, reasons, nearest)
        yield domain, Alignment(domain.group, tuple(found), reasons, nearest, near_misses=misses)
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

    Of near-duplicates an article is paired before the lists that show nothing else, then the better score, then the
    longer text; others with a near-duplicate of the partner that the site says is their translation. *editions*: pair
    the ``best`` edition of a page, or ``all`` good candidates between the pages of a pair. What a person has labelled
    is given, or not.
    """
    proposed = _with_labelled(domain, method(domain))
    candidates, objections = _without_objections(domain, proposed)
    group_a, group_b = domain.alike_a, domain.alike_b
    lengths = _of_both(domain, candidates, lambda one: one.lengths.sum())
    # the title of an article is a line of its own text
    headed = _of_both(domain, candidates, lambda one: float(one.headings[domain.main[one.url]].any()))
    given = np.flatnonzero(np.array(candidates.names, dtype=object) == LABELLED)
    # the address of a third language may show a page that is not translated yet
    side = domain.pair.side
    foreign = _of_both(domain, candidates, lambda one: side(marked_language(one.url) or one.language) is None)
    order = np.lexsort((-lengths, -candidates.scores, -headed, foreign))
    a, b = group_a[candidates.a], group_b[candidates.b]
    free = order[~(np.isin(a, a[given]) | np.isin(b, b[given]))[order]]
    scores = candidates.scores.copy()
    scores[free] = _best_first(a[free], b[free], scores[free], foreign[free], candidates.threshold)
    candidates = replace(candidates, scores=scores)
    chosen = np.concatenate((given, free[greedy(a[free], b[free], scores[free], candidates.threshold)]))
    chosen = _with_copies(chosen, domain, candidates, order)
    if editions == "all":
        page_of = Editions.from_evidence(domain, url_evidence(domain))
        pages = page_of.a[candidates.a] * (len(domain.a) + len(domain.b)) + page_of.b[candidates.b]
        again = np.flatnonzero(np.isin(pages, pages[chosen]) & (candidates.scores >= candidates.threshold))
        chosen = again[np.argsort(-candidates.scores[again], kind="stable")]
    found = zip(candidates.a[chosen], candidates.b[chosen], candidates.scores[chosen].tolist(), chosen, strict=True)
    pairs = tuple(
        Pair(domain.a[i].url, domain.b[j].url, round(score, 4), candidates.names[k], str(domain.pair))
        for i, j, score, k in found
    )
    good = np.flatnonzero(candidates.scores >= candidates.threshold)
    unpaired = dict.fromkeys(domain.copies, "copy")
    nearest: dict[str, tuple[str, float]] = {}
    for k in np.argsort(proposed.scores, kind="stable"):
        one, two = domain.a[proposed.a[k]].url, domain.b[proposed.b[k]].url
        score = round(float(proposed.scores[k]), 4)
        nearest[one], nearest[two] = (two, score), (one, score)
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
    refused = +Counter(low_score=len(candidates.scores) - len(good), taken=len(good) - len(chosen))
    misses = _near_misses(domain, unpaired, nearest)
    return Alignment(domain.group, pairs, unpaired, nearest, refused, misses)


def _near_misses(domain: Domain, unpaired: Mapping[str, str], nearest: Nearest) -> tuple[Pair, ...]:
    low = {url for url, reason in unpaired.items() if reason == "low_score" and url in nearest}
    found: dict[tuple[str, str], float] = {}
    for profile in (*domain.a, *domain.b):
        if profile.url in low and nearest[profile.url][0] in low:
            other, score = nearest[profile.url]
            found[(profile.url, other) if profile.language == domain.pair.a else (other, profile.url)] = score
    return tuple(Pair(*urls, score, "", str(domain.pair)) for urls, score in found.items())


def _untranslated(domain: Domain) -> dict[str, str]:
    """URL of each document that claims, or is claimed by, one in its own language -> URL of the other."""
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
    """*candidates* with the score 0 for those with an objection, and the reasons of documents whose best one it was."""
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


def _with_copies(chosen: Places, domain: Domain, candidates: Candidates, order: Places) -> Places:
    """Add to *chosen* the long near-duplicates of both documents of a pair that the site claims, best first."""
    said = order[np.isin(candidates.names, SAID)[order]]
    a, b = candidates.a[said], candidates.b[said]
    cell = domain.alike_a[candidates.a] * len(domain.b) + domain.alike_b[candidates.b]
    free = np.isin(cell[said], cell[chosen]) & ~np.isin(a, candidates.a[chosen]) & ~np.isin(b, candidates.b[chosen])
    sides = domain.a, domain.b
    long_a, long_b = (np.array([own_length(one, domain.main) >= SHORTEST for one in side], bool) for side in sides)
    said = said[free & long_a[a] & long_b[b]]
    added = said[greedy(candidates.a[said], candidates.b[said], candidates.scores[said], candidates.threshold)]
    return np.concatenate((chosen, added))


def _best_first(a: Places, b: Places, scores: Floats, foreign: Floats, threshold: float) -> Floats:
    """*scores* where of each two groups of near-duplicates, *a* and *b*, the first of the best has the best of all.

    The best are among the least *foreign* ones, by the number of their addresses that name a third language.
    """
    _, cells = np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)
    fits = scores >= threshold
    top = highest(scores, cells)
    fits &= foreign == -highest(np.where(fits, -foreign, -np.inf), cells)[cells]
    fits &= scores >= highest(np.where(fits, scores, -np.inf), cells)[cells] - NEARLY_BEST
    cell, first = np.unique(cells[fits], return_index=True)
    raised = scores.copy()
    raised[np.flatnonzero(fits)[first]] = top[cell]
    return raised


def _of_both(domain: Domain, candidates: Candidates, measure: Callable[[Profile], float]) -> Floats:
    """The sum of *measure* over both documents of each candidate, ``(candidates,)``."""
    a, b = (np.array(list(map(measure, side)), dtype=float) for side in (domain.a, domain.b))
    return np.asarray(a[candidates.a] + b[candidates.b])
