"""Document alignment on frozen sites or on gold texts: recall and precision of every method in one table.

    python -m benchmarks.alignment ../shared/data/sites/dev --lexicon lexicon.tsv.gz
    python -m benchmarks.alignment ../shared/data/gold/fernando-army-en-si.tar.xz

Recall is the share of gold pairs that are found; precision, of the pairs with at least one document in gold, the share
that is gold; both pooled over tasks. *Soft* figures take a pair for a gold one if they share a document and the texts
of the others are nearly equal, as WMT16 does (Buck & Koehn 2016). Sites are also measured in the forms of
``training.documents.forms``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Levenshtein
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from benchmarks.alignment_baselines import SOME_WORDS, PpLocator, Pti, WmtBaseline
from benchmarks.gold_texts import read_gold_texts
from bilingual_crawler.alignment.documents.align import align_domain, read_corpus
from bilingual_crawler.alignment.documents.content import document_space, sentence_space
from bilingual_crawler.alignment.documents.encoders import is_installed, load_encoder
from bilingual_crawler.alignment.documents.methods import Candidates, make_method
from bilingual_crawler.harvest.sites import read_tasks
from bilingual_crawler.languages.pairs import LanguagePairs
from training.documents.examples import gold_pairs
from training.documents.forms import FORMS, DisguisedCorpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bilingual_crawler.alignment.documents.content import Space
    from bilingual_crawler.alignment.documents.corpus import Corpus, Domain
    from bilingual_crawler.alignment.documents.encoders import Encoder
    from bilingual_crawler.alignment.documents.methods import Method

OURS = ("url", "structure", "auto")
WITH_CONTENT = ("content", "structure-content")
WITH_ENCODER = "auto, encoder"
IN_FORMS = (*OURS, *WITH_CONTENT, WITH_ENCODER)
NEARLY_EQUAL = 0.95
"""Similarity of two texts, by edit distance, from which one stands for the other."""


@dataclass(slots=True)
class Counts:
    """Sums over tasks."""

    gold: int = 0
    found: int = 0
    found_softly: int = 0
    """Gold pairs to which a pair comes near."""
    judged: int = 0
    right_softly: int = 0
    """Pairs that come near to a gold pair."""
    pairs: int = 0


class CosineMethod:
    """DDE or SAE as published: cosine inside the domain, greedy matching without a threshold."""

    def __init__(self, space: Callable[[Domain, Encoder], Space], encoder: Encoder) -> None:
        self._space, self._encoder = space, encoder

    def __call__(self, domain: Domain) -> Candidates:
        if not domain.a or not domain.b:
            return Candidates(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), [], -1.0)
        space = self._space(domain, self._encoder)
        i, j = (places.ravel() for places in np.indices((len(domain.a), len(domain.b))))
        scores = (space.a @ space.b.T).ravel().astype(np.float64)
        return Candidates(i, j, scores, ["content"] * len(i), -1.0)


def methods(models: Path, encoder: Encoder | None, cache: Path, name: str, lexicon: Path | None) -> dict[str, Method]:
    """All methods that can run on this machine."""
    found: dict[str, Method] = {
        "WMT16 URL baseline": WmtBaseline(),
        "PTI": Pti(lexicon),
        "PTI, similarity .2": Pti(lexicon, SOME_WORDS),
        "PPLocator": PpLocator(models),
    }
    if encoder is not None:
        found |= {"DDE": CosineMethod(document_space, encoder), "SAE": CosineMethod(sentence_space, encoder)}
    for own in OURS:
        found[own] = make_method(own, models, "", cache)
    if encoder is not None:
        found |= {own: make_method(own, models, name, cache) for own in WITH_CONTENT}
        found[WITH_ENCODER] = make_method("auto", models, name, cache)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("gold", type=Path, help="folder of frozen sites with tasks.tsv, or archive of gold texts")
    add("--models", type=Path, default=Path("models"), help="(%(default)s)")
    add("--encoder", default="e5-small", help="sentence encoder; empty for none (%(default)s)")
    add("--cache", type=Path, default=Path("~/.cache/bilingual-crawler").expanduser(), help="of vectors (%(default)s)")
    add("--lexicon", type=Path, help="word list for PTI, written by training.prepare.lexicon")
    add("--tasks", type=int, help="only so many, those with the smallest archives")
    args = parser.parse_args()
    encoder = load_encoder(args.encoder, args.cache) if is_installed(args.encoder) else None
    known = methods(args.models, encoder, args.cache, args.encoder, args.lexicon)
    counts: defaultdict[str, Counts] = defaultdict(Counts)
    one_to_one = 0
    for corpus, gold, forms in _read(args.gold, args.tasks):
        one_to_one += _most(gold)
        for form in forms:
            disguised = DisguisedCorpus(corpus, FORMS[form])
            shown = {(disguised.url(a), disguised.url(b)) for a, b in gold}
            for name, method in known.items():
                if form == "whole" or name in IN_FORMS:
                    pairs = _pairs(disguised, corpus.groups(), method)
                    _count(counts[f"{name}, {form}"], shown, pairs, disguised)
    _print(counts)
    print(f"A one-to-one matching finds {one_to_one:,} of the gold pairs at most.")


def _read(path: Path, tasks: int | None) -> Iterator[tuple[Corpus, set[tuple[str, str]], Iterable[str]]]:
    """Documents, gold pairs, and the forms in which they are measured."""
    if path.is_file():
        yield *read_gold_texts(path), ("text",)
        return
    smallest = sorted(read_tasks(path), key=lambda task: _size(path / task.site))[:tasks]
    for task in track(smallest, console=Console(stderr=True)):
        yield read_corpus([path / task.site], LanguagePairs.parse(task.pair)), gold_pairs(path, task), FORMS


def _size(site: Path) -> int:
    """Bytes of the archive."""
    return sum(file.stat().st_size for file in site.glob("*.warc*"))


def _pairs(corpus: DisguisedCorpus, groups: list[tuple[str, ...]], method: Method) -> Iterator[tuple[str, str]]:
    for group in groups:
        for pair in align_domain(corpus.domain(group), method).pairs:
            yield pair.url_a, pair.url_b


def _count(
    counts: Counts, gold: set[tuple[str, str]], pairs: Iterable[tuple[str, str]], corpus: DisguisedCorpus
) -> None:
    of_url: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for pair in gold:
        for url in pair:
            of_url[url].add(pair)
    found = list(pairs)
    found_softly: set[tuple[str, str]] = set()
    for a, b in found:
        near = {one for one in of_url[a] | of_url[b] if _is_near((a, b), one, corpus)}
        found_softly |= near
        counts.judged += bool(of_url[a] or of_url[b])
        counts.right_softly += bool(near)
    counts.gold += len(gold)
    counts.pairs += len(found)
    counts.found += len(gold & set(found))
    counts.found_softly += len(found_softly)


def _is_near(pair: tuple[str, str], gold: tuple[str, str], corpus: DisguisedCorpus) -> bool:
    """Whether *pair* is *gold*, or they share a document and the others are nearly equal."""
    if pair == gold:
        return True
    for own, other in ((0, 1), (1, 0)):
        if pair[own] == gold[own]:
            try:
                texts = [corpus.document(one[other]).text for one in (pair, gold)]
            except KeyError:  # the page in gold counts as another language
                return False
            return Levenshtein.normalized_similarity(*texts, score_cutoff=NEARLY_EQUAL) >= NEARLY_EQUAL
    return False


def _most(gold: set[tuple[str, str]]) -> int:
    """How many of the *gold* pairs can be in one one-to-one matching."""
    a, b = (np.unique(urls, return_inverse=True)[1] for urls in zip(*gold, strict=True))
    return int((maximum_bipartite_matching(csr_array((np.ones(len(gold)), (a, b)))) >= 0).sum())


def _print(counts: dict[str, Counts]) -> None:
    table = Table(
        "method", "recall", "precision", "F1", "F1 of all", "soft recall", "soft precision", "found", "judged"
    )
    for name, one in counts.items():
        recall, soft_recall = (found / max(one.gold, 1) for found in (one.found, one.found_softly))
        precision, soft_precision = (right / max(one.judged, 1) for right in (one.found, one.right_softly))
        f1, of_all = (2 * one.found / max(one.gold + pairs, 1) for pairs in (one.judged, one.pairs))
        shares = (f"{share:.3f}" for share in (recall, precision, f1, of_all, soft_recall, soft_precision))
        table.add_row(name, *shares, f"{one.found} of {one.gold}", str(one.judged))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
