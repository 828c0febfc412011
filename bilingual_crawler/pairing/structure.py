"""Features by page structure, text and links. Pairs support each other: translations link to translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein
from rapidfuzz.process import cpdist

from bilingual_crawler.pairing import candidates, sparse
from bilingual_crawler.pairing.arrays import Floats, Floats32, Hashes, Mask, Places
from bilingual_crawler.pairing.candidates import Editions, Found
from bilingual_crawler.pairing.copies import own_length
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.model import Profile

NEAREST = 8  # candidates per document
MAX_NUMBERS = 400
MAX_LINES = 400
COUNTED_ALIKE = 0.9  # mean overlap of the numbers of sections in claimed pairs from which they are evidence

STRUCTURE_FEATURES = (
    *(*candidates.CHANNELS, "outlinks", "inlinks", "total"),
    *("tags", "word_overlap", "number_order", "paragraphs", "verbatim"),
    *("word_ratio", "byte_ratio", "text_ratio", "line_ratio", "word_residual", "text_residual", "shorter"),
    *(f"{name}_{side}" for name in ("share", "declared", "held", "linked", "lead", "tag_lead") for side in "ab"),
)


def _link_channels(a: Side, b: Side, i: Places, j: Places) -> dict[str, candidates.Channel]:
    """Links out and in, given that documents *i* and *j* are pairs: those to the same pair are the same token."""
    pairs = np.arange(len(i))
    one = np.ones(len(i), dtype=np.float32)
    to_a = sparse.csr_array((one, (i, pairs)), shape=(a.links.shape[0], len(i)))
    to_b = sparse.csr_array((one, (j, pairs)), shape=(b.links.shape[0], len(i)))
    return {
        "outlinks": candidates.weighted(sparse.csr_array(a.links @ to_a), sparse.csr_array(b.links @ to_b)),
        "inlinks": candidates.weighted(sparse.csr_array(a.links.T @ to_a), sparse.csr_array(b.links.T @ to_b)),
    }


class Side:
    """Values derived from the profiles of one side, ``(documents,)``."""

    def __init__(self, domain: Domain, profiles: Sequence[Profile], redirects: Mapping[int, int]) -> None:
        self.profiles = profiles
        self.main = [domain.main[profile.url] for profile in profiles]
        self.links = candidates.links_between(profiles, profiles, redirects)
        """Links among the documents, sparse ``(documents, documents)``."""
        self.tags = [profile.tags for profile in profiles]
        self.numbers = [_as_text(profile.numbers[:MAX_NUMBERS]) for profile in profiles]
        lengths = (p.lengths[main][:MAX_LINES].astype(np.float64) for p, main in zip(profiles, self.main, strict=True))
        octaves = (np.round(2 * np.log2(np.maximum(one, 1))).astype(np.uint32) for one in lengths)
        self.paragraphs = [_as_text(one) for one in octaves]
        """The lengths of the main lines of each document, as characters of half an octave."""
        self.words = np.array([profile.word_count for profile in profiles], dtype=np.float64)
        self.sizes = np.array([profile.size or np.nan for profile in profiles], dtype=np.float64)
        self.text = np.array([own_length(profile, domain.main) for profile in profiles], dtype=np.float64)
        """Characters of main text."""
        self.lines = np.array([kept.sum() for kept in self.main], dtype=np.float64)
        inside = np.array([max(1, len(profile.internal)) for profile in profiles], dtype=np.float64)
        names = [profile.declared for profile in profiles]
        own = [domain.pair.side(name or "") == p.language for p, name in zip(profiles, names, strict=True)]
        self.quality = {
            "share": np.array([profile.share for profile in profiles]),
            "declared": np.where([name is None for name in names], np.nan, np.array(own, dtype=np.float64)),
            # of the links inside the site, those to documents of the same language
            "held": np.asarray(self.links.sum(axis=1)) / inside,
        }
        """What makes each a document of its language, 0 to 1; ``declared`` is NaN without a declaration."""


class StructureEvidence:
    """Candidates of a domain and their features."""

    def __init__(self, domain: Domain, claimed: Found) -> None:
        self.domain = domain
        # links among numbered pages correspond whatever the numbers count
        self._claimed = {places for places, evidence in claimed.items() if not (evidence.refused or evidence.numbered)}
        redirects = candidates.hashed_redirects(domain)
        both = _comparable(domain, claimed)
        self.a, self.b = (Side(domain, profiles, redirects) for profiles in both)
        tokens = {name: [list(map(of, side)) for side in both] for name, of in candidates.CHANNELS.items()}
        self.channels = {name: candidates.channel_of(*sides) for name, sides in tokens.items()}
        channels = list(self.channels.values())
        similar = candidates.nearest(channels, NEAREST, lambda share: domain.on_progress(share / 2))
        self.candidates: Places = np.array(similar.nonzero(), dtype=np.intp)
        """Places in *a* and in *b*, ``(2, candidates)``."""

    def features(self, i: Places, j: Places, editions: Editions) -> dict[str, Floats32]:
        """Return the columns of :data:`STRUCTURE_FEATURES`, ``(candidates,)``; NaN where a page lacks the value."""
        a, b = self.a, self.b
        similar = {name: channel.cosine(i, j) for name, channel in self.channels.items()}
        quality = {f"{name}_a": values[i] for name, values in a.quality.items()}
        quality |= {f"{name}_b": values[j] for name, values in b.quality.items()}
        whole = np.sum([np.nan_to_num(column, nan=0.5) for column in quality.values()], axis=0)
        # a claim is worth as much as equal words
        said = [float(places in self._claimed) for places in zip(i.tolist(), j.tolist(), strict=True)]
        pairs = greedy(i, j, np.nansum(list(similar.values()), axis=0) + whole + said)
        linked = _link_channels(a, b, i[pairs], j[pairs])
        columns = similar | {name: channel.cosine(i, j) for name, channel in linked.items()}
        columns["total"] = np.nansum(list(columns.values()), axis=0) + whole
        columns |= quality
        columns["linked_a"] = np.log1p(a.links.sum(axis=0))[i]
        columns["linked_b"] = np.log1p(b.links.sum(axis=0))[j]
        columns["tags"] = _similarity(a.tags, b.tags, i, j, Levenshtein)
        columns["number_order"] = _similarity(a.numbers, b.numbers, i, j, Indel)
        columns["paragraphs"] = _similarity(a.paragraphs, b.paragraphs, i, j, Levenshtein)
        columns["word_overlap"], columns["verbatim"] = _overlaps(a, b, i, j)
        columns["word_ratio"] = _log_ratio(a.words[i], b.words[j])
        columns["byte_ratio"] = _log_ratio(a.sizes[i], b.sizes[j])
        columns["text_ratio"] = _log_ratio(a.text[i], b.text[j])
        columns["line_ratio"] = _log_ratio(a.lines[i], b.lines[j])
        columns["lead_a"], columns["lead_b"] = editions.leads(columns["total"], i, j)
        best = (columns["lead_a"] >= 0) & (columns["lead_b"] >= 0)
        columns["word_residual"] = _residual(columns["word_ratio"], best)
        columns["text_residual"] = _residual(columns["text_ratio"], best)
        columns["shorter"] = np.log1p(np.minimum(a.text[i], b.text[j]))
        columns["tag_lead_a"], columns["tag_lead_b"] = editions.leads(np.nan_to_num(columns["tags"], nan=0.0), i, j)
        return {name: columns[name].astype(np.float32) for name in STRUCTURE_FEATURES}


def _comparable(domain: Domain, claimed: Found) -> Sequence[Sequence[Profile]]:
    """The profiles of both sides, without what counts sections if pages that the site has *claimed* count otherwise."""
    a, b = ([profile.counts for profile in side] for side in (domain.a, domain.b))
    counted = [(i, j) for i, j in claimed if len(a[i]) and len(b[j])]
    alike = candidates.overlaps(a, b, *np.array(counted, dtype=np.intp).reshape(-1, 2).T)
    if not counted or alike.mean() >= COUNTED_ALIKE:
        return domain.a, domain.b
    return [[profile.without_counts() for profile in side] for side in (domain.a, domain.b)]


def _similarity(left: Sequence[str], right: Sequence[str], i: Places, j: Places, metric: Any) -> Floats:
    """Return the normalised similarity of the texts of each candidate, 0 to 1; NaN where one is empty."""
    queries, choices = [left[k] for k in i], [right[k] for k in j]
    result = cpdist(queries, choices, scorer=metric.normalized_similarity, workers=-1, dtype=np.float64)
    empty = [not (query and choice) for query, choice in zip(queries, choices, strict=True)]
    result[np.array(empty, dtype=bool)] = np.nan
    return np.asarray(result, dtype=np.float64)


def _as_text(hashes: Hashes) -> str:
    return (hashes % np.uint32(0xD000) + np.uint32(0x20)).astype("<u4").tobytes().decode("utf-32-le")


def _overlaps(a: Side, b: Side, i: Places, j: Places) -> tuple[Floats, Floats]:
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


def _log_ratio(a: Floats, b: Floats) -> Floats:
    return np.log((a + 1) / (b + 1))


def _residual(ratio: Floats, best: Mask) -> Floats:
    """Distance of a logarithm of ratios from what is usual among the best candidates of the domain."""
    usual = ratio[best & np.isfinite(ratio)]
    return np.abs(ratio - np.median(usual)) if len(usual) else np.abs(ratio)
