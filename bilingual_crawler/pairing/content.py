"""Features by content: words that the surest pairs of a site teach, without a dictionary, and sentence vectors.

Two words that the same pairs hold are translations if neither has a better one (Dice's coefficient; Melamed 2000). The
glossary of a document is learnt from other pairs than its own, so no pair confirms itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

import numpy as np

from bilingual_crawler.encoders.base import Encoder
from bilingual_crawler.pairing import sparse
from bilingual_crawler.pairing.arrays import Floats, Floats32, Mask, Matrix, Places
from bilingual_crawler.pairing.candidates import Channel, Editions, incidence, normal_rows, rarity
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import highest
from bilingual_crawler.pairing.model import Profile

DOCUMENT_TOKENS = 64  # tokens of title and main text that DDE reads
SENTENCES = 3  # lines of main text that SAE reads
SENTENCE_TOKENS = 32
SHORTEST_SENTENCE = 20  # characters from which a line counts as a sentence
NEIGHBOURS = 10  # nearest documents whose mean similarity CSLS takes off
BLOCK = 2_000
GLOSSARY_FEATURES = ("translated_a", "translated_b", "translated_lead_a", "translated_lead_b")
PARTS = 2  # folds of the pairs; a document is translated by the glossary of the other folds
MIN_PAIRS = 3  # minimum document pairs with two words for them to count as translations
MAX_PRODUCTS = 100_000_000  # maximum counted pairs of words; beyond it only the first document pairs are used


def glossary_channels(domain: Domain, i: Places, j: Places) -> dict[str, Channel]:
    """Words in the other language's, for both sides, given that documents *i* and *j* are pairs, the surest first."""
    a, b = _words(domain.a), _words(domain.b)
    cost = np.cumsum(np.diff(a.indptr)[i].astype(np.int64) * np.diff(b.indptr)[j])
    kept = cost <= MAX_PRODUCTS
    i, j = i[kept], j[kept]
    part = np.arange(len(i)) % PARTS
    part_a, part_b = np.zeros(a.shape[0], dtype=np.intp), np.zeros(b.shape[0], dtype=np.intp)
    part_a[i], part_b[j] = part, part
    translated_a = sparse.csr_array((a.shape[0], b.shape[1]), dtype=np.float32)
    translated_b = sparse.csr_array((b.shape[0], a.shape[1]), dtype=np.float32)
    for own in range(PARTS):
        glossary = _learn(a[i[part != own]], b[j[part != own]])
        translated_a += _only(a, part_a == own) @ glossary
        translated_b += _only(b, part_b == own) @ glossary.T
    rarity_a, rarity_b = rarity(a), rarity(b)
    return {
        "translated_a": Channel(normal_rows(translated_a, rarity_b), normal_rows(b, rarity_b)),
        "translated_b": Channel(normal_rows(a, rarity_a), normal_rows(translated_b, rarity_a)),
    }


def glossary_columns(channels: Mapping[str, Channel], i: Places, j: Places, editions: Editions) -> dict[str, Floats32]:
    """The columns of :data:`GLOSSARY_FEATURES`."""
    columns = {name: channel.cosine(i, j) for name, channel in channels.items()}
    likeness = np.nansum(list(columns.values()), axis=0)
    columns["translated_lead_a"], columns["translated_lead_b"] = editions.leads(likeness, i, j)
    return {name: column.astype(np.float32) for name, column in columns.items()}


def _words(side: Sequence[Profile]) -> Matrix:
    """Which document has which word; words of one document only can have no translation that is learnt."""
    sets = [profile.words for profile in side]
    words, counts = np.unique(np.concatenate([*sets, np.zeros(0, dtype=np.uint32)]), return_counts=True)
    return incidence(sets, words[counts > 1])


def _learn(a: Matrix, b: Matrix) -> Matrix:
    """How surely each word of the first language is one of the second, 0 to 1; rows are pairs of documents."""
    together = (a.T @ b).tocoo()
    places = (together.row, together.col)
    # a single pair may be a coincidence
    dice = 2 * (together.data - 1) / (a.sum(axis=0)[together.row] + b.sum(axis=0)[together.col])
    dice[together.data < MIN_PAIRS] = 0
    good = dice > 0
    for place in places:
        good &= dice == highest(dice, place)[place]
    found = (together.row[good], together.col[good])
    return sparse.csr_array((dice[good].astype(np.float32), found), shape=together.shape)


def _only(matrix: Matrix, rows: Mask) -> Matrix:
    """*matrix* with nothing in other *rows*."""
    return sparse.csr_array(sparse.diags_array(rows.astype(np.float32)) @ matrix)


CONTENT_FEATURES = tuple(f"{name}{part}" for name in ("dde", "sae") for part in ("", "_csls", "_lead_a", "_lead_b"))


class Space:
    """Vectors of both sides, ``(documents, width)``: centred, rows of length 1; NaN for documents without text."""

    def __init__(self, a: Floats32, b: Floats32) -> None:
        self.a, self.b = _centred(a), _centred(b)
        self.hubness_a, self.hubness_b = _hubness(self.a, self.b), _hubness(self.b, self.a)
        """Mean similarity of each document to its nearest ones of the other side."""

    def cosine(self, i: Places, j: Places) -> Floats32:
        """Return the cosine of each pair, -1 to 1."""
        return np.asarray(np.einsum("ij,ij->i", self.a[i], self.b[j]), dtype=np.float32)

    def csls(self, i: Places, j: Places) -> Floats32:
        """Return CSLS of each pair: the cosine less the mean cosine to the neighbours of both."""
        return 2 * self.cosine(i, j) - self.hubness_a[i] - self.hubness_b[j]

    def nearest(self, count: int) -> Places:
        """For each document its *count* nearest ones of the other side by CSLS, places ``(2, candidates)``; exact."""
        there = set(_nearest(self.a, self.b, self.hubness_b, count))
        back = {(i, j) for j, i in _nearest(self.b, self.a, self.hubness_a, count)}
        return np.array(sorted(there | back), dtype=np.intp).reshape(-1, 2).T


def document_space(domain: Domain, encoder: Encoder) -> Space:
    """DDE: a vector for the start of each document."""
    sides = []
    for profiles in (domain.a, domain.b):
        texts = [" ".join((title, *lines)) for title, lines in (_texts(domain, profile.url) for profile in profiles)]
        sides.append(encoder.encode([text[: 8 * DOCUMENT_TOKENS] for text in texts], DOCUMENT_TOKENS))
    return Space(*sides)


def sentence_space(domain: Domain, encoder: Encoder) -> Space:
    """SAE: the mean of the vectors of the first sentences of each document."""
    sides = []
    for profiles in (domain.a, domain.b):
        sentences: list[str] = []
        owners: list[int] = []
        for place, profile in enumerate(profiles):
            title, lines = _texts(domain, profile.url)
            chosen = [line for line in lines if len(line) >= SHORTEST_SENTENCE][:SENTENCES] or [title]
            sentences += [line[: 8 * SENTENCE_TOKENS] for line in chosen]
            owners += [place] * len(chosen)
        vectors = encoder.encode(sentences, SENTENCE_TOKENS)
        means = np.zeros((len(profiles), vectors.shape[1]), dtype=np.float32)
        np.add.at(means, owners, vectors)
        counts = np.bincount(owners, minlength=len(profiles)).astype(np.float32)
        sides.append(means / counts[:, None])
    return Space(*sides)


def content_columns(spaces: Mapping[str, Space], i: Places, j: Places, editions: Editions) -> dict[str, Floats32]:
    """The columns of :data:`CONTENT_FEATURES`."""
    columns: dict[str, Floats | Floats32] = {}
    for name, space in spaces.items():
        columns[name], columns[f"{name}_csls"] = space.cosine(i, j), space.csls(i, j)
        leads = editions.leads(columns[f"{name}_csls"].astype(np.float64), i, j)
        columns[f"{name}_lead_a"], columns[f"{name}_lead_b"] = leads
    return {name: column.astype(np.float32) for name, column in columns.items()}


def _texts(domain: Domain, url: str) -> tuple[str, list[str]]:
    """Return the title, and the lines of main text; all lines of a page that is only boilerplate."""
    document = domain.corpus.document(url)
    return document.title, list(compress(document.lines, domain.main[url])) or list(document.lines)


def _centred(vectors: Floats32) -> Floats32:
    centred = vectors - vectors.mean(axis=0)
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _hubness(one: Floats32, other: Floats32) -> Floats32:
    count = min(NEIGHBOURS, len(other))
    blocks = (one[at : at + BLOCK] @ other.T for at in range(0, len(one), BLOCK))
    return np.concatenate([np.partition(block, -count, axis=1)[:, -count:].mean(axis=1) for block in blocks])


def _nearest(one: Floats32, other: Floats32, hubness: Floats32, count: int) -> Iterator[tuple[int, int]]:
    for at in range(0, len(one), BLOCK):
        scores = 2 * (one[at : at + BLOCK] @ other.T) - hubness
        best = np.argpartition(-scores, min(count, len(other) - 1), axis=1)[:, :count]
        yield from ((at + row, place) for row, places in enumerate(best.tolist()) for place in places)
