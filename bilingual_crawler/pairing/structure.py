"""Features by page structure, text and links. Pairs support each other: translations link to translations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein
from rapidfuzz.process import cpdist
from scipy import sparse

from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.candidates import CHANNELS, Channel, channels, nearest, normal_rows, rarity
from bilingual_crawler.pairing.matching import greedy, lead
from bilingual_crawler.pairing.reading import link_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pairing.candidates import Editions
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.model import Profile


@dataclass(slots=True)
class Links:
    """Links among the documents of each side of a domain, sparse ``(documents, documents)``."""

    a: sparse.csr_array
    b: sparse.csr_array

    @classmethod
    def from_domain(cls, domain: Domain) -> Links:
        """Links of *domain*, redirects followed."""
        redirects = {hash_text(key): hash_text(target) for key, target in domain.corpus.redirects.items()}
        return cls(_links(domain.a, redirects), _links(domain.b, redirects))

    def channels(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> dict[str, Channel]:
        """Links out and in, given that documents *i* and *j* are pairs: those to the same pair are the same token."""
        pairs = np.arange(len(i))
        one = np.ones(len(i), dtype=np.float32)
        to_pair_a = sparse.csr_array((one, (i, pairs)), shape=(self.a.shape[0], len(i)))
        to_pair_b = sparse.csr_array((one, (j, pairs)), shape=(self.b.shape[0], len(i)))
        return {
            "outlinks": _channel(self.a @ to_pair_a, self.b @ to_pair_b),
            "inlinks": _channel(self.a.T @ to_pair_a, self.b.T @ to_pair_b),
        }


def _links(profiles: Sequence[Profile], redirects: dict[int, int]) -> sparse.csr_array:
    places = {hash_text(link_key(profile.url)): place for place, profile in enumerate(profiles)}
    rows, columns = [], []
    for row, profile in enumerate(profiles):
        for target in profile.internal.tolist():
            place = places.get(redirects.get(target, target))
            if place is not None and place != row:
                rows.append(row)
                columns.append(place)
    size = (len(profiles), len(profiles))
    links = sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=size)
    links.data[:] = 1
    return links


def _channel(a: sparse.csr_array, b: sparse.csr_array) -> Channel:
    left, right = sparse.csr_array(a), sparse.csr_array(b)
    weights = np.sqrt(rarity(left) * rarity(right))
    return Channel(normal_rows(left, weights), normal_rows(right, weights))


NEAREST = 8
"""Candidates per document."""
MAX_NUMBERS = 400
MAX_LINES = 400

PAPER_FEATURES = ("word_ratio", "byte_ratio", "tags", "word_overlap")
"""The four features of PPLocator; ratios are a logarithm of first to second."""
STRUCTURE_FEATURES = (
    *CHANNELS,
    "outlinks",
    "inlinks",
    "total",
    "tags",
    "word_overlap",
    "number_order",
    "paragraphs",
    "verbatim",
    "word_ratio",
    "byte_ratio",
    "text_ratio",
    "line_ratio",
    "word_residual",
    "text_residual",
    "shorter",
    "share_a",
    "share_b",
    "declared_a",
    "declared_b",
    "held_a",
    "held_b",
    "linked_a",
    "linked_b",
    "lead_a",
    "lead_b",
    "tag_lead_a",
    "tag_lead_b",
)


@dataclass(slots=True)
class Side:
    """Values derived from the profiles of one side, ``(documents,)``."""

    profiles: Sequence[Profile]
    main: list[NDArray[np.bool_]]
    words: NDArray[np.float64]
    sizes: NDArray[np.float64]
    text: NDArray[np.float64]
    """Characters of main text."""
    lines: NDArray[np.float64]

    @classmethod
    def from_profiles(cls, profiles: Sequence[Profile], main: list[NDArray[np.bool_]]) -> Side:
        """Measure *profiles*."""

        def each(measure: Callable[[int], float]) -> NDArray[np.float64]:
            return np.array([measure(place) for place in range(len(profiles))], dtype=np.float64)

        return cls(
            profiles,
            main,
            each(lambda i: profiles[i].word_count),
            each(lambda i: profiles[i].size or np.nan),
            each(lambda i: int(profiles[i].lengths[main[i]].sum())),
            each(lambda i: int(main[i].sum())),
        )


class StructureMethod:
    """Candidates of a domain and their features."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.a, self.b = Side.from_profiles(domain.a, domain.main_a), Side.from_profiles(domain.b, domain.main_b)
        self.channels: dict[str, Channel] = channels(domain)
        self.links = Links.from_domain(domain)
        self.index: sparse.csr_array = nearest(
            list(self.channels.values()), NEAREST, lambda share: domain.on_progress(share / 2)
        )

    def candidates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of the candidates in *a* and in *b*."""
        rows, columns = self.index.nonzero()
        return rows.astype(np.intp), columns.astype(np.intp)

    def features(self, i: NDArray[np.intp], j: NDArray[np.intp], editions: Editions) -> dict[str, NDArray[np.float32]]:
        """Return the columns of :data:`STRUCTURE_FEATURES`, ``(candidates,)``; NaN where a page lacks the value."""
        pages_a, pages_b = editions.a[i], editions.b[j]
        a, b, pair = self.a, self.b, self.domain.pair
        similar = {name: channel.cosine(i, j) for name, channel in self.channels.items()}
        quality = {}
        for side, places, links, name in ((a, i, self.links.a, "a"), (b, j, self.links.b, "b")):
            quality[f"share_{name}"] = np.array([profile.share for profile in side.profiles])[places]
            quality[f"declared_{name}"] = np.array([_declares(profile, pair) for profile in side.profiles])[places]
            quality[f"held_{name}"] = _held(side, links)[places]
        whole = np.sum([np.nan_to_num(column, nan=0.5) for column in quality.values()], axis=0)
        pairs = greedy(i, j, np.nansum(list(similar.values()), axis=0) + whole)
        linked = self.links.channels(i[pairs], j[pairs])
        columns = similar | {name: channel.cosine(i, j) for name, channel in linked.items()}
        columns["total"] = np.nansum(list(columns.values()), axis=0) + whole
        columns |= quality
        columns["linked_a"] = np.log1p(self.links.a.sum(axis=0))[i]
        columns["linked_b"] = np.log1p(self.links.b.sum(axis=0))[j]
        columns["tags"] = _similarity(
            [p.tags for p in a.profiles], [p.tags for p in b.profiles], i, j, Levenshtein.normalized_similarity
        )
        columns["number_order"] = _similarity(
            [_as_text(p.numbers[:MAX_NUMBERS]) for p in a.profiles],
            [_as_text(p.numbers[:MAX_NUMBERS]) for p in b.profiles],
            i,
            j,
            Indel.normalized_similarity,
        )
        columns["paragraphs"] = _similarity(_paragraphs(a), _paragraphs(b), i, j, Levenshtein.normalized_similarity)
        columns["word_overlap"], columns["verbatim"] = _overlaps(a, b, i, j)
        columns["word_ratio"] = _log_ratio(a.words[i], b.words[j])
        columns["byte_ratio"] = _log_ratio(a.sizes[i], b.sizes[j])
        columns["text_ratio"] = _log_ratio(a.text[i], b.text[j])
        columns["line_ratio"] = _log_ratio(a.lines[i], b.lines[j])
        best = lead(columns["total"], i, pages_b) >= 0
        best &= lead(columns["total"], j, pages_a) >= 0
        columns["word_residual"] = _residual(columns["word_ratio"], best)
        columns["text_residual"] = _residual(columns["text_ratio"], best)
        columns["shorter"] = np.log1p(np.minimum(a.text[i], b.text[j]))
        columns["lead_a"] = lead(columns["total"], i, pages_b)
        columns["lead_b"] = lead(columns["total"], j, pages_a)
        tags = np.nan_to_num(columns["tags"], nan=0.0)
        columns["tag_lead_a"], columns["tag_lead_b"] = lead(tags, i, pages_b), lead(tags, j, pages_a)
        return {name: columns[name].astype(np.float32) for name in STRUCTURE_FEATURES}


def _declares(profile: Profile, pair: LanguagePair) -> float:
    """1 if the page declares its language, 0 if another one, NaN without a declaration."""
    return np.nan if profile.declared is None else float(pair.side(profile.declared) == profile.language)


def _held(side: Side, links: sparse.csr_array) -> NDArray[np.float64]:
    """Share of the links inside the site that lead to documents of the same language."""
    known = np.array([max(1, len(profile.internal)) for profile in side.profiles], dtype=np.float64)
    return np.asarray(links.sum(axis=1)) / known


def _similarity(
    left: Sequence[str],
    right: Sequence[str],
    i: NDArray[np.intp],
    j: NDArray[np.intp],
    scorer: Callable[..., float],
) -> NDArray[np.float64]:
    """Return the normalised similarity of the texts of each candidate, 0 to 1; NaN where one is empty."""
    queries, choices = [left[k] for k in i], [right[k] for k in j]
    result = cpdist(queries, choices, scorer=scorer, workers=-1, dtype=np.float64)
    empty = [not (query and choice) for query, choice in zip(queries, choices, strict=True)]
    result[np.array(empty, dtype=bool)] = np.nan
    return np.asarray(result, dtype=np.float64)


def _as_text(hashes: NDArray[np.uint32]) -> str:
    """A character for each hash."""
    return (hashes % np.uint32(0xD000) + np.uint32(0x20)).astype("<u4").tobytes().decode("utf-32-le")


def _paragraphs(side: Side) -> list[str]:
    """The lengths of the main lines of each document, as characters of half an octave."""
    texts = []
    for profile, main in zip(side.profiles, side.main, strict=True):
        lengths = profile.lengths[main][:MAX_LINES].astype(np.float64)
        texts.append(_as_text(np.round(2 * np.log2(np.maximum(lengths, 1))).astype(np.uint32)))
    return texts


def _overlaps(
    a: Side, b: Side, i: NDArray[np.intp], j: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of common words, and of main text that is the same word for word, in the shorter document."""
    words, verbatim = np.zeros(len(i)), np.zeros(len(i))
    for row, (x, y) in enumerate(zip(i, j, strict=True)):
        one, other = a.profiles[x], b.profiles[y]
        common = len(np.intersect1d(one.words, other.words, assume_unique=True))
        words[row] = common / max(1, min(len(one.words), len(other.words)))
        main = a.main[x]
        same = np.isin(one.lines[main], other.lines)
        verbatim[row] = one.lengths[main][same].sum() / max(1.0, min(a.text[x], b.text[y]))
    return words, np.minimum(verbatim, 1.0)


def _log_ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log((a + 1) / (b + 1))


def _residual(ratio: NDArray[np.float64], best: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Distance of a logarithm of ratios from what is usual among the best candidates of the domain."""
    usual = ratio[best & np.isfinite(ratio)]
    return np.abs(ratio - np.median(usual)) if len(usual) else np.abs(ratio)
