"""Document alignment on frozen sites: recall and precision of every method in one table.

    python -m benchmarks.alignment ../shared/data/sites/dev --lexicon lexicon.tsv.gz

Recall is the share of gold pairs that are found; precision, of the pairs with at least one document in gold, the share
that is gold; both pooled over tasks. "Hashed" replaces the path of every URL inside a site by a hash, so that no method
can read languages, words or numbers out of it; the other documents, links and announcements stay as they are.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, replace
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.alignment_baselines import SOME_WORDS, PpLocator, Pti, WmtBaseline
from bilingual_crawler.harvest.sites import read_tasks
from bilingual_crawler.language_pairs import LanguagePairs
from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.align import align_domain, read_corpus
from bilingual_crawler.pairing.content import document_space, sentence_space
from bilingual_crawler.pairing.domain import Domain
from bilingual_crawler.pairing.encoders import is_installed, load_encoder
from bilingual_crawler.pairing.methods import Candidates, make_method
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import marked_language, strip_language
from training.documents.examples import gold_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bilingual_crawler.pairing.content import Space
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.documents import DocumentText, Profile
    from bilingual_crawler.pairing.embeddings import Encoder
    from bilingual_crawler.pairing.methods import Method

OURS = ("url", "structure", "auto")
WITH_CONTENT = ("content", "structure-content", "auto-content")
HASHED = ("url", "structure", "content", "structure-content", "auto")


@dataclass(slots=True)
class Counts:
    """Sums over tasks."""

    gold: int = 0
    found: int = 0
    judged: int = 0


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


class HashedCorpus:
    """A corpus whose URLs have a hash for a path."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.pairs = corpus.pairs
        self._urls: dict[str, str] = {}
        self.redirects: dict[str, str] = {}

    def profiles(self, group: tuple[str, ...]) -> list[Profile]:
        """Profiles of a group of domains with their URLs hashed, and links to their documents hashed alike."""
        profiles = self._corpus.profiles(group)
        keys = {hash_text(link_key(p.url)): hash_text(link_key(hashed(p.url))) for p in profiles}
        keys |= {hash_text(key): keys.get(hash_text(to), hash_text(to)) for key, to in self._corpus.redirects.items()}
        return [self._hashed(profile, keys) for profile in profiles]

    def document(self, url: str) -> DocumentText:
        """The document behind a hashed URL."""
        return self._corpus.document(self._urls[url])

    def resolve(self, key: str) -> str:
        """Announced links were resolved before they were hashed."""
        return key

    def _hashed(self, profile: Profile, keys: dict[int, int]) -> Profile:
        url = hashed(profile.url)
        self._urls[url] = profile.url
        languages = self.pairs.equivalents
        resolve = self._corpus.resolve
        return replace(
            profile,
            url=url,
            key=strip_language(url, languages),
            marked=marked_language(url, languages),
            claims=tuple(hashed("https://" + resolve(link_key(claim))) for claim in profile.claims),
            switches=tuple(hashed("https://" + resolve(link_key(switch))) for switch in profile.switches),
            internal=np.unique(np.array([keys.get(key, key) for key in profile.internal.tolist()], dtype=np.uint32)),
        )


def hashed(url: str) -> str:
    """*url* with its registered domain for a host and a hash for the rest."""
    return f"https://{registered_domain(url)}/{sha1(link_key(url).encode()).hexdigest()}"


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
    for own in (*OURS, *(WITH_CONTENT if encoder is not None else ())):
        found[own] = make_method(own, models, "" if own == "auto" else name, cache)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    add("--models", type=Path, default=Path("models"), help="(%(default)s)")
    add("--encoder", default="e5-small", help="sentence encoder; empty for none (%(default)s)")
    add("--cache", type=Path, default=Path("~/.cache/bilingual-crawler").expanduser(), help="of vectors (%(default)s)")
    add("--lexicon", type=Path, help="word list for PTI, written by training.prepare.lexicon")
    add("--tasks", type=int, help="only the first so many")
    args = parser.parse_args()
    encoder = load_encoder(args.encoder, args.cache) if is_installed(args.encoder) else None
    known = methods(args.models, encoder, args.cache, args.encoder, args.lexicon)
    counts: defaultdict[str, Counts] = defaultdict(Counts)
    for task in track(read_tasks(args.sites)[: args.tasks], console=Console(stderr=True)):
        corpus, gold = (
            read_corpus([args.sites / task.site], LanguagePairs.parse(task.pair)),
            gold_pairs(args.sites, task),
        )
        for name, method in known.items():
            _count(counts[name], gold, _pairs(corpus, corpus.groups(), method))
        shuffled = {(hashed(a), hashed(b)) for a, b in gold}
        for name in HASHED:
            if name in known:
                _count(counts[f"{name}, hashed"], shuffled, _pairs(HashedCorpus(corpus), corpus.groups(), known[name]))
    _print(counts)


def _pairs(corpus: Corpus | HashedCorpus, groups: list[tuple[str, ...]], method: Method) -> Iterator[tuple[str, str]]:
    for group in groups:
        domain = Domain.of(group, corpus, corpus.pairs.pairs[0], corpus.profiles(group))  # type: ignore[arg-type]
        for pair in align_domain(domain, method).pairs:
            yield pair.url_a, pair.url_b


def _count(counts: Counts, gold: set[tuple[str, str]], pairs: Iterator[tuple[str, str]]) -> None:
    urls = {url for pair in gold for url in pair}
    counts.gold += len(gold)
    for pair in pairs:
        counts.found += pair in gold
        counts.judged += not urls.isdisjoint(pair)


def _print(counts: dict[str, Counts]) -> None:
    table = Table("method", "recall", "precision", "gold pairs found", "pairs judged")
    for name, one in counts.items():
        recall, precision = one.found / max(one.gold, 1), one.found / max(one.judged, 1)
        table.add_row(name, f"{recall:.3f}", f"{precision:.3f}", f"{one.found} of {one.gold}", str(one.judged))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
