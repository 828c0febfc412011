"""Word pieces of the pair model: which there are, and vectors in which translations lie near one another.

Learnt from a bilingual lexicon (rows lang, text, lang, text in any languages): the weighted mean of the pieces of
a phrase should be nearest to that of its translation among the other phrases of the batch.
"""

from __future__ import annotations

import time
from bisect import bisect
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np
import torch
from anyascii import anyascii
from rapidfuzz.distance import Prefix
from torch.nn import functional

from bilingual_crawler.urls.model_input import plain_word, url_parts
from training.common.data import read_tsv
from training.common.encoding import padded

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer
    from torch import Tensor

    from training.parallelness.network import PairNet

BATCH = 1024
RATE = 0.02
HELD_OUT = 2000
LONGEST = 12
SHARPNESS = 20.0
NEAR = 12  # words on each side, in the order of the alphabet, among which one that begins alike is looked for
UNKNOWN = -2.0  # log-odds of the weight of a word about which the lexicon says nothing; others begin with 0


def read_lexicon(path: Path | None) -> list[tuple[str, str]]:
    """Text and translation of every row; nothing without a file."""
    if path is None:
        return []
    return [(row[0], row[1]) for row in read_tsv(path, ("text_a", "text_b"), urls=()).rows]


def phrase_forms(text: str) -> list[str]:
    """A phrase as addresses write it: without diacritics, and spelt in Latin letters if it is not."""
    plain = " ".join(plain_word(word) for word in text.split())
    latin = "" if plain.isascii() else " ".join(anyascii(text).lower().split())
    return [plain, latin] if latin and latin != plain and latin.replace(" ", "").isalnum() else [plain]


def count_lexicon(lexicon: Iterable[tuple[str, str]]) -> Counter[str]:
    """How many phrases hold each word, in every form."""
    counts: Counter[str] = Counter()
    for pair in lexicon:
        for text in pair:
            for form in phrase_forms(text):
                counts.update(set(form.split()))
    return counts


def count_url_words(path: Path) -> Counter[str]:
    """On how many domains the addresses of a list hold each word."""
    domains: dict[str, set[str]] = defaultdict(set)
    for (url,) in read_tsv(path, ("url",)).rows:
        parts = url_parts(url)
        for token in parts.texts:
            if token.isalpha() and len(token) > 1:
                domains[plain_word(token)].add(parts.label)
    return Counter({word: len(labels) for word, labels in domains.items()})


def learn_vectors(
    net: PairNet, tokenizer: Tokenizer, lexicon: Sequence[tuple[str, str]], epochs: int, seed: int
) -> float:
    """Train the word table of `net` in place; returns how often a held-out translation is nearest of 2,000."""
    rng = np.random.default_rng(seed)
    sides = [encode(tokenizer, [phrase_forms(pair[side]) for pair in lexicon]) for side in (0, 1)]
    order = rng.permutation(len(lexicon))
    held_out, order = order[:HELD_OUT], order[HELD_OUT:]
    first = net.config.features
    net.word_table.sparse = True  # a step touches few rows of a table that has tens of thousands
    optimizer = torch.optim.SparseAdam(list(net.word_table.parameters()), lr=RATE)
    steps = max(1, epochs * (len(order) // BATCH))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))
    for _ in range(epochs):
        began, total = time.perf_counter(), 0.0
        order = rng.permutation(order)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            a, b = (bag(net, table_rows(side, rows, first, rng)) for side in sides)
            scores = SHARPNESS * (a @ b.T)
            target = torch.arange(len(rows))
            loss = functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()  # type: ignore[no-untyped-call]
            schedule.step()
            total += loss.item()
        print(
            f"words: loss {total / max(1, len(order) // BATCH):.3f} seconds {time.perf_counter() - began:.0f}",
            flush=True,
        )
    net.word_table.sparse = False
    with torch.no_grad():
        a, b = (bag(net, table_rows(side, held_out, first, rng)) for side in sides)
        nearest = (a @ b.T).argmax(1) == torch.arange(len(held_out))
    return float(nearest.float().mean())


def lend_vectors(net: PairNet, tokenizer: Tokenizer, lexicon: Container[str]) -> int:
    """Give whole words that the lexicon lacks the mean vector of those in it that begin alike (`rezept`, `rezepte`).

    Dictionaries have head words, addresses also plurals and cases. Words that begin like none weigh little. Returns how
    many got a vector.
    """
    rows = {piece: i - net.config.features + 1 for piece, i in tokenizer.get_vocab().items()}
    words = [piece for piece, row in rows.items() if row > 0 and not piece.startswith("##")]
    known = sorted(word for word in words if word in lexicon)
    table = net.word_table.weight.detach()
    lent = 0
    for word in words:
        if word in lexicon:
            continue
        place = bisect(known, word)
        near = {other: _beginning(word, other) for other in known[max(0, place - NEAR) : place + NEAR]}
        best = max(near.values(), default=0.0)
        if best > 0:
            chosen = table[[rows[other] for other, likeness in near.items() if likeness == best]]
            table[rows[word], :-1] = functional.normalize(chosen[:, :-1], dim=1).mean(0)
            table[rows[word], -1] = chosen[:, -1].mean()
            lent += 1
        else:
            table[rows[word], -1] = UNKNOWN
    return lent


def _beginning(a: str, b: str) -> float:
    """How far two words begin alike; 0 if that is less than four letters, or if more than three of one are left."""
    common = Prefix.similarity(a, b)
    return common - abs(len(a) - len(b)) / 2 if common >= max(4, len(a) - 3, len(b) - 3) else 0.0


def encode(tokenizer: Tokenizer, forms: Sequence[list[str]]) -> list[list[NDArray[np.int64]]]:
    """Ids of every form of every phrase."""
    flat = [form for one in forms for form in one]
    rows = iter(tokenizer.encode_batch_fast(flat))
    return [[np.array(next(rows).ids[:LONGEST], dtype=np.int64) for _ in one] for one in forms]


def table_rows(
    side: list[list[NDArray[np.int64]]], rows: NDArray[np.int64], first: int, rng: np.random.Generator
) -> Tensor:
    """Numbers of rows in the word table [B, L], 0 for padding; one form of each phrase at random."""
    chosen = [side[i][rng.integers(len(side[i]))] for i in rows]
    return padded([np.maximum(ids - first + 1, 0) for ids in chosen])


def bag(net: PairNet, rows: Tensor) -> Tensor:
    """Unit vectors of bags of rows of the word table, weighted as `PairNet` does."""
    found = net.word_table(rows)
    vectors = functional.normalize(found[:, :, :-1], dim=2, eps=1e-6)
    weight = torch.sigmoid(found[:, :, -1:]) * (rows > 0).unsqueeze(2)
    mean = (vectors * weight).sum(1) / weight.sum(1).clamp(min=1e-3)
    return functional.normalize(mean, dim=1, eps=1e-6)
