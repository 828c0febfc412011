"""Negative samples for the pair model: the paper's six generators (García-Romero 2026, section 4.1).

Every generator works inside one domain group, never emits a positive pair and never an identical one.
Hard negatives of the kind a crawl meets are in ``training.parallelness.hard_negatives``.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.model_input import tokenise
from training.common.data import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

Pair = tuple[str, str]

RESOURCE = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)?([^/?#]*)(.*)$", re.DOTALL)
REPEATED_SLASH = re.compile(r"/+")
DEFAULT_LIMIT = 3
PAPER_COMBINATION = "1+2+3+4+5"
BLOCK = 256


class NegativesError(DataError):
    """A combination of generators that cannot be read."""


@dataclass(frozen=True, slots=True)
class Negative:
    """A pair of URLs that are not translations of each other; ``kind`` names the generator."""

    url_a: str
    url_b: str
    kind: str


def split_resource(url: str) -> tuple[str, str]:
    """(scheme and authority, resource): the part that generators may change starts at the path."""
    match = RESOURCE.match(url)
    assert match is not None
    return (match[1] or "") + match[2], match[3]


def random_match(pairs: Sequence[Pair], limit: int, rng: random.Random) -> Iterator[Pair]:
    """Each source with up to ``limit`` randomly drawn targets of other pairs (spec 1.3.11)."""
    for i, (source, _) in enumerate(pairs):
        for j in rng.sample(range(len(pairs)), min(limit, len(pairs))):
            if i != j:
                yield source, pairs[j][1]


def maximise_jaccard(pairs: Sequence[Pair], limit: int, rng: random.Random) -> Iterator[Pair]:
    """Each source with the ``limit`` most similar targets of other pairs: the exact top.

    Similarity, as in the reference code: Jaccard of the token sets of the resources of source and target,
    then Jaccard of the character sets of the whole URLs, then order. (The paper's text compares the new
    target with the true one.)
    """
    if len(pairs) < 2:
        return
    sources = [source for source, _ in pairs]
    targets = [target for _, target in pairs]
    tokens_s, tokens_t = _incidence(
        [set(tokenise(split_resource(u)[1])) for u in sources],
        [set(tokenise(split_resource(u)[1])) for u in targets],
    )
    chars_s, chars_t = _incidence([set(u) for u in sources], [set(u) for u in targets])
    for start in range(0, len(pairs), BLOCK):
        block = slice(start, start + BLOCK)
        by_tokens = _jaccard(tokens_s[block], tokens_t)
        by_chars = _jaccard(chars_s[block], chars_t)
        for row in range(len(by_tokens)):
            i = start + row
            by_tokens[row, i] = -1.0
            k = min(limit, len(pairs) - 1)
            threshold = np.partition(by_tokens[row], -k)[-k]
            candidates = np.flatnonzero(by_tokens[row] >= threshold)
            order = np.lexsort((candidates, -by_chars[row, candidates], -by_tokens[row, candidates]))
            for j in candidates[order[:k]]:
                yield sources[i], targets[int(j)]


def remove_random_tokens(pairs: Sequence[Pair], limit: int, rng: random.Random) -> Iterator[Pair]:
    """Each pair ``limit`` times with about half of the tokens of both resources removed (spec 1.3.13)."""
    for source, target in pairs:
        for _ in range(limit):
            yield _shorten(source, rng), _shorten(target, rng)


GENERATORS: dict[str, Callable[[Sequence[Pair], int, random.Random], Iterator[Pair]]] = {
    "random": random_match,
    "jaccard": maximise_jaccard,
    "remove": remove_random_tokens,
}
KINDS = ("random-bi", "jaccard-bi", "remove-bi", "random-mono", "jaccard-mono", "remove-mono")


def parse_combination(text: str) -> tuple[str, ...]:
    """Kinds of a combination: ``"1+2+3"``, ``"123"`` or ``"random-bi+jaccard-mono"``.

    Raises:
        NegativesError: an unknown name or number, or the same one twice.
    """
    parts = list(text) if text.isdigit() else [part.strip() for part in text.split("+")]
    kinds = []
    for part in parts:
        name = KINDS[int(part) - 1] if part.isdigit() and 1 <= int(part) <= len(KINDS) else part
        if name not in KINDS:
            raise NegativesError(
                f"unknown kind of negative {part!r} in {text!r}: use 1 to 6 or one of {', '.join(KINDS)}"
            )
        if name in kinds:
            raise NegativesError(f"{name} is named twice in {text!r}")
        kinds.append(name)
    return tuple(kinds)


def generate(
    pairs: Iterable[Pair], combination: str = PAPER_COMBINATION, limit: int = DEFAULT_LIMIT, seed: int = 71213
) -> list[Negative]:
    """Negatives of positive ``pairs``, ``limit`` per pair and generator, without duplicates.

    Positives whose two URLs do not share the domain label are left out, as in the reference; the others are
    grouped by it and generators see one group at a time. Monolingual kinds run on (u, u) of all sources, then
    of all targets. Never emitted: two URLs of one document (`clusters`), and token removals that arrive at real
    pages on both sides.
    """
    kinds = parse_combination(combination)
    rng = random.Random(seed)
    positives = list(dict.fromkeys(pairs))
    document = clusters(positives)
    groups: dict[str, list[Pair]] = defaultdict(list)
    for source, target in positives:
        if (label := domain_label(source)) == domain_label(target):
            groups[label].append((source, target))
    found: dict[Pair, str] = {}
    for group in groups.values():
        for kind in kinds:
            name, side = kind.split("-")
            for a, b in _candidates(group, name, side, limit, rng):
                if a == b or (a in document and document[a] == document.get(b)):
                    continue
                if name == "remove" and a in document and b in document:
                    continue
                found.setdefault((a, b), kind)
    return [Negative(a, b, kind) for (a, b), kind in found.items()]


def clusters(pairs: Iterable[Pair]) -> dict[str, str]:
    """URL -> representative of its document: translations of translations are translations too.

    Addresses that differ in scheme, ``www.`` or a final slash are one document.
    """
    parent: dict[str, str] = {}

    def find(url: str) -> str:
        parent.setdefault(url, url)
        while parent[url] != url:
            parent[url] = url = parent[parent[url]]
        return url

    urls = set()
    for a, b in pairs:
        urls |= {a, b}
        parent[find(address(a))] = find(address(b))
    return {url: find(address(url)) for url in urls}


def address(url: str) -> str:
    """What tells a page from others: no scheme, no ``www.``, no final slash."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")


def _candidates(group: Sequence[Pair], name: str, side: str, limit: int, rng: random.Random) -> Iterator[Pair]:
    generator = GENERATORS[name]
    if side == "bi":
        yield from generator(group, limit, rng)
        return
    for index in (0, 1):
        urls = dict.fromkeys(pair[index] for pair in group)
        yield from generator([(url, url) for url in urls], limit, rng)


def _shorten(url: str, rng: random.Random) -> str:
    authority, resource = split_resource(url)
    tokens = tokenise(resource)
    if not tokens:
        return url
    mean = 0.5 * len(tokens)
    count = min(len(tokens), max(1, round(rng.gauss(mean, mean / 3))))
    removed = set(rng.sample(range(len(tokens)), count))
    kept = "".join(token for i, token in enumerate(tokens) if i not in removed)
    return authority + REPEATED_SLASH.sub("/", kept if kept[:1] in ("", "/", "?", "#") else "/" + kept)


def _incidence(a: Sequence[set[str]], b: Sequence[set[str]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two 0/1 matrices over the shared vocabulary of both lists of sets."""
    vocabulary: dict[str, int] = {}
    for items in (*a, *b):
        for item in items:
            vocabulary.setdefault(item, len(vocabulary))
    matrices = []
    for sets in (a, b):
        matrix = np.zeros((len(sets), len(vocabulary)), dtype=np.float32)
        for row, items in enumerate(sets):
            matrix[row, [vocabulary[item] for item in items]] = 1.0
        matrices.append(matrix)
    return matrices[0], matrices[1]


def _jaccard(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    shared = a @ b.T
    union = a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - shared
    result: NDArray[np.float32] = shared / np.maximum(union, np.float32(1))
    return result
