"""Candidate pairs of a domain: documents that share rare tokens or have similar URLs; editions of a page."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing import sparse
from bilingual_crawler.pairing.arrays import Floats, Hashes, Matrix, Places
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import lead
from bilingual_crawler.pairing.model import Profile
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.pairing.urls import UrlEvidence, agrees
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import marked_language
from bilingual_crawler.urls.rewriting import rewritten_pairs

BUDGET = 20_000  # maximum products of weights per document; more frequent tokens are left out of the search
BLOCK = 2_000  # documents per block of the search
MAX_EXCHANGES = 2
"""Maximum documents of the other side with which a document exchanges links, that one of them is its translation."""
MIN_NUMBERED = 3  # minimum addresses whose names differ in digits alone for them to be numbered pages
NUMBER = re.compile(r"\d+")
_LAST_DIGIT = re.compile(r"\d\D*$")
_WORD = re.compile(r"[^\W_]+")
ALIKE = 5  # candidates by similar URLs of each document without other evidence
MAX_SAME_KEY = 20  # maximum documents of one side with the same key for all of them to be candidates
SHINGLE = 6  # tags in a row that make one token of page structure
KEPT_SHINGLES = 8  # one shingle in this many is kept, chosen by its hash, so that both sides keep the same ones


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of token: sparse ``(documents, tokens that both sides have)``, rows of length 1."""

    a: Matrix
    b: Matrix

    def cosine(self, a: Places, b: Places) -> Floats:
        """Return the cosine of each pair of rows, 0 to 1; NaN where a document has no shared token."""
        result = row_products(self.a, self.b, a, b)
        empty = (np.diff(self.a.indptr)[a] == 0) | (np.diff(self.b.indptr)[b] == 0)
        result[empty] = np.nan
        return result


def _shingles(profile: Profile) -> Hashes:
    codes = np.frombuffer(profile.tags.encode("utf-32-le"), dtype=np.uint32)
    if len(codes) < SHINGLE:
        return codes[:0]
    mixed = np.zeros(len(codes) - SHINGLE + 1, dtype=np.uint32)
    for shift in range(SHINGLE):
        mixed = mixed * np.uint32(0x9E3779B1) + codes[shift : shift + len(mixed)]
    mixed ^= mixed >> np.uint32(15)
    return np.unique(mixed[mixed % KEPT_SHINGLES == 0])


_FIELDS = ("words", "names", "numbers", "title", "files", "external", "internal")
CHANNELS: dict[str, Callable[[Profile], Hashes]] = {
    **{name: attrgetter(name) for name in _FIELDS},
    "numbers": lambda profile: np.unique(profile.numbers),
    "shingles": _shingles,
}


def channel_of(a: Sequence[Hashes], b: Sequence[Hashes]) -> Channel:
    """Return the channel of two sides, each a set of tokens per document."""
    left, right = (np.concatenate([*side, np.zeros(0, dtype=np.uint32)]) for side in (a, b))
    shared = np.intersect1d(left, right)
    return weighted(incidence(a, shared), incidence(b, shared))


def weighted(a: Matrix, b: Matrix) -> Channel:
    """Return the channel of the counts of tokens of two sides: rare tokens weigh more."""
    weights = np.sqrt(rarity(a) * rarity(b))
    return Channel(normal_rows(a, weights), normal_rows(b, weights))


def incidence(sets: Sequence[Hashes], vocabulary: Hashes) -> Matrix:
    """Return ``(sets, vocabulary)`` with 1 where a set has the token; *vocabulary* is sorted."""
    tokens = np.concatenate([*sets, np.zeros(0, dtype=np.uint32)])
    known = np.isin(tokens, vocabulary)
    columns = np.searchsorted(vocabulary, tokens[known])
    ends = np.cumsum([len(one) for one in sets], dtype=np.int64)
    # how many of the tokens up to the end of each set are known
    indptr = np.concatenate(([0], np.cumsum(known)))[np.concatenate(([0], ends))]
    shape = (len(sets), len(vocabulary))
    return sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, indptr), shape=shape)


def rarity(matrix: Matrix) -> Floats:
    """Return the inverse document frequency of each column; near 0 for tokens of all documents."""
    return np.asarray(np.log(max(matrix.shape[0], 1) / np.maximum(matrix.sum(axis=0), 1)) + 1e-3)


def normal_rows(matrix: Matrix, weights: Floats) -> Matrix:
    """Weight the columns of *matrix*, then scale its rows to length 1."""
    values = weights[matrix.indices].astype(np.float32)
    weighted = sparse.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)
    lengths = np.sqrt(weighted.power(2).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-9)) @ weighted)


def row_products(left: Matrix, right: Matrix, a: Places, b: Places) -> Floats:
    """The products of row *a* of *left* and row *b* of *right*, for each of them."""
    products = np.zeros(len(a))
    for at in range(0, len(a), 10_000):
        block = slice(at, at + 10_000)
        products[block] = np.asarray(left[a[block]].multiply(right[b[block]]).sum(axis=1)).ravel()
    return products


def overlaps(a: Sequence[Hashes], b: Sequence[Hashes], i: Places, j: Places) -> Floats:
    """Share of what *a[i]* or *b[j]* has that both have (Jaccard), ``(candidates,)``; NaN where both are empty."""
    tokens = np.unique(np.concatenate([np.zeros(0, dtype=np.uint32), *a, *b]))
    shared = row_products(incidence(a, tokens), incidence(b, tokens), i, j)
    union = np.array([len(one) for one in a])[i] + np.array([len(one) for one in b])[j] - shared
    return np.where(union > 0, shared / np.maximum(union, 1), np.nan)


def nearest(
    channels: Sequence[Channel], count: int, on_progress: Callable[[float], None] = lambda share: None
) -> Matrix:
    """For each document of both sides its *count* most similar ones of the other; similarities summed over channels."""
    left = sparse.csr_array(sparse.hstack([channel.a for channel in channels]))
    right = sparse.csr_array(sparse.hstack([channel.b for channel in channels]))
    # the rarest columns, as many as the budget allows
    cost = np.diff(left.tocsc().indptr).astype(np.int64) * np.diff(right.tocsc().indptr)
    order = np.argsort(cost, kind="stable")
    kept = np.sort(order[np.cumsum(cost[order]) <= BUDGET * (left.shape[0] + right.shape[0])])
    left, right = left[:, kept], right[:, kept]
    forward = _search(left, right, count, lambda share: on_progress(share / 2))
    backward = _search(right, left, count, lambda share: on_progress((1 + share) / 2)).T.tocsr()
    return sparse.csr_array(forward.maximum(backward))


def _search(left: Matrix, right: Matrix, count: int, on_progress: Callable[[float], None]) -> Matrix:
    transposed = right.T.tocsr()
    rows, columns, values = [], [], []
    for start in range(0, left.shape[0], BLOCK):
        product = (left[start : start + BLOCK] @ transposed).tocsr()
        for row in range(product.shape[0]):
            begin, end = product.indptr[row], product.indptr[row + 1]
            found, near = product.indices[begin:end], product.data[begin:end]
            if len(near) > count:
                best = np.argpartition(-near, count)[:count]
                found, near = found[best], near[best]
            rows.append(np.full(len(found), start + row))
            columns.append(found)
            values.append(near)
        on_progress(min(1.0, (start + BLOCK) / left.shape[0]))
    shape = (left.shape[0], right.shape[0])
    if not rows:
        return sparse.csr_array(shape, dtype=np.float32)
    places = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(values), places), shape=shape)


Found: TypeAlias = "Mapping[tuple[int, int], UrlEvidence]"
"""The evidence of the candidates of a domain, places in *a* and in *b*, that have any."""


@dataclass(frozen=True, slots=True)
class Editions:
    """Which documents are the same page: those that the same translations announce, and that announce them.

    One-sided announcements do not count, as many sites announce their home page as the translation of every page. Those
    of one language with equal addresses but for marks, such as ``/en-gb/`` and ``/en-us/``, are the same page, too.
    """

    a: Places
    """Number of the page of each document in ``domain.a``; editions, and their translations, share a number."""
    b: Places

    @classmethod
    def from_evidence(cls, domain: Domain, found: Found, with_copies: bool = False) -> "Editions":
        """Group documents into pages by the evidence *found*, or each by itself; *with_copies*: near-duplicates too."""
        announced = [places for places, evidence in found.items() if evidence.hreflang == 2]
        i, j = np.array(announced, dtype=np.intp).reshape(-1, 2).T
        first: dict[tuple[str, str], int] = {}
        alike = [first.setdefault((p.language, p.key), place) for place, p in enumerate((*domain.a, *domain.b))]
        size = len(alike)
        one, other = np.concatenate((i, np.arange(size))), np.concatenate((len(domain.a) + j, alike))
        if with_copies:
            one = np.concatenate((one, np.arange(size)))
            other = np.concatenate((other, domain.alike_a, len(domain.a) + domain.alike_b))
        # as scipy.sparse
        from scipy.sparse.csgraph import connected_components

        links = sparse.coo_array((np.ones(len(one)), (one, other)), shape=(size, size))
        _, pages = connected_components(links, directed=False)
        return cls(*np.split(pages.astype(np.intp), [len(domain.a)]))

    def leads(self, scores: Floats, i: Places, j: Places) -> tuple[Floats, Floats]:
        """The :func:`.matching.lead` of the candidates *i*, *j* for the first and for the second document."""
        return lead(scores, i, self.b[j]), lead(scores, j, self.a[i])


def hashed_redirects(domain: Domain) -> dict[int, int]:
    """Return the redirects of *domain* as they stand in :attr:`.Profile.internal`."""
    return {hash_text(key): hash_text(target) for key, target in domain.corpus.redirects.items()}


def links_between(sources: Sequence[Profile], targets: Sequence[Profile], redirects: Mapping[int, int]) -> Matrix:
    """Return which of *sources* link to which of *targets*, ``(sources, targets)`` of 1; no page links to itself."""
    places = {hash_text(link_key(profile.url)): place for place, profile in enumerate(targets)}
    rows, columns = [], []
    for row, profile in enumerate(sources):
        for target in profile.internal.tolist():
            place = places.get(redirects.get(target, target))
            if place is not None and targets[place] is not profile:
                rows.append(row)
                columns.append(place)
    ones = np.ones(len(rows), dtype=np.float32)
    links = sparse.csr_array((ones, (rows, columns)), shape=(len(sources), len(targets)))
    links.data[:] = 1  # of repeated links
    return links


def exchanged(domain: Domain) -> list[tuple[int, int]]:
    """Return the documents of both sides that link to each other and to few others that do, unlike home pages."""
    redirects = hashed_redirects(domain)
    there = links_between(domain.a, domain.b, redirects)
    i, j = sparse.coo_array(there.multiply(links_between(domain.b, domain.a, redirects).T)).coords
    for most in (MAX_EXCHANGES, 1):
        partners = np.bincount(i, minlength=len(domain.a))[i], np.bincount(j, minlength=len(domain.b))[j]
        few = np.maximum(*partners) <= most
        i, j = i[few], j[few]
    return list(zip(i.tolist(), j.tolist(), strict=True))


def url_evidence(domain: Domain) -> dict[tuple[int, int], UrlEvidence]:
    """Return the evidence of each pair (place in *a*, place in *b*) that has any."""
    found: defaultdict[tuple[int, int], UrlEvidence] = defaultdict(UrlEvidence)
    for i, profile in enumerate(domain.a):
        for j in domain.targets(profile.claims, domain.places_b):
            found[i, j].hreflang += 1
        for j in domain.targets(profile.switches, domain.places_b):
            found[i, j].switcher += 1
    for j, profile in enumerate(domain.b):
        for i in domain.targets(profile.claims, domain.places_a):
            found[i, j].hreflang += 1
        for i in domain.targets(profile.switches, domain.places_a):
            found[i, j].switcher += 1
    for places in exchanged(domain):
        found[places].linked = True
    groups = _numbered([profile.key for profile in (*domain.a, *domain.b)])
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for j, profile in enumerate(domain.b):
        by_key[profile.key].append(j)
    for i, profile in enumerate(domain.a):
        for j in by_key.get(profile.key, ())[:MAX_SAME_KEY]:
            agree = all(agrees(one.marked, one.language, domain.pair) for one in (profile, domain.b[j]))
            claim = found[i, j]
            claim.key, claim.refused = agree, not agree
            claim.numbered = 0 if claim.hreflang or claim.switcher or claim.linked else groups[profile.key]
    if len(domain.group) > 1:
        domains_a, domains_b = ([registered_domain(profile.url) for profile in side] for side in (domain.a, domain.b))
        for (i, j), evidence in found.items():
            if domains_a[i] != domains_b[j]:
                evidence.need_both_sides()
    return dict(found)


def _numbered(keys: Sequence[str]) -> dict[str, int]:
    """Return the group of numbered pages of each of *keys*, from 1: names alike but for digits; 0 for none."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for key in keys:
        path = key.partition("/")[2]
        if last := _LAST_DIGIT.search(path):
            # the last folder or file with a number, and what follows
            named[NUMBER.sub("#", path[path.rfind("/", 0, last.start()) + 1 :])].add(key)
    large = (group for group in named.values() if len(group) >= MIN_NUMBERED)
    return dict.fromkeys(keys, 0) | {key: number for number, group in enumerate(large, 1) for key in group}


def alike_urls(domain: Domain, known: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return pairs of documents with similar URLs, without documents in *known* pairs or marked otherwise."""
    left, right = _undecided(domain, known)
    if not left or not right:
        return []
    words = ([_url_words(domain.a[i].url) for i in left], [_url_words(domain.b[j].url) for j in right])
    rows, columns = nearest([channel_of(*words)], ALIKE).nonzero()
    return [(left[i], right[j]) for i, j in zip(rows, columns, strict=True)]


def rewritten_urls(domain: Domain, known: set[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """Return the pairs that a rewriting of the site leads to, with its reliability; as :func:`alike_urls`."""
    left, right = _undecided(domain, known)
    found = rewritten_pairs([domain.a[i].url for i in left], [domain.b[j].url for j in right])
    return [(left[i], right[j], reliability) for i, j, reliability in found]


def _undecided(domain: Domain, known: set[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The documents of both sides that are in no *known* pair and whose URLs name no other language."""

    def undecided(side: Sequence[Profile], taken: set[int]) -> Iterator[int]:
        for place, profile in enumerate(side):
            marked = marked_language(profile.url)
            if place not in taken and (marked is None or domain.pair.side(marked) == profile.language):
                yield place

    return list(undecided(domain.a, {i for i, _ in known})), list(undecided(domain.b, {j for _, j in known}))


def _url_words(url: str) -> Hashes:
    return np.unique(np.array([hash_text(word) for word in _WORD.findall(url.lower())], dtype=np.uint32))
