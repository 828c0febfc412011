"""Training examples of the classifiers of document pairs: candidates of frozen sites, labelled by gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.alignment.documents.align import read_corpus
from bilingual_crawler.alignment.documents.evidence import NO_PAIRS, CandidateEvidence
from bilingual_crawler.alignment.documents.matching import greedy
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages.pairs import LanguagePairs
from training.documents.encounters import kind_of
from training.documents.forms import FORMS, DisguisedCorpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.alignment.documents.corpus import Domain
    from bilingual_crawler.alignment.documents.model import Profile
    from bilingual_crawler.alignment.encoders.base import Encoder
    from bilingual_crawler.harvest.sites import Task

MOST_ROWS = 600
"""Most candidates of a domain in the training of a classifier."""
MOST_PAIRS = 200
"""Gold pairs of a domain whose documents are read; documents in none: at most so many again."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Examples:
    """The candidate pairs of one domain of a task in one form, with their features and labels."""

    kind: str
    """Of website; tasks of one kind are always on the same side of a split."""
    form: str
    gold: int
    """Gold pairs of the domain."""
    a: NDArray[np.intp]
    b: NDArray[np.intp]
    columns: dict[str, NDArray[np.float32]]
    parallel: NDArray[np.bool_]
    touching: NDArray[np.bool_]
    """Whether one of the two documents is in a gold pair."""

    def sample(self) -> NDArray[np.intp]:
        """Candidates with a document in gold, all of a document or none; about :data:`MOST_ROWS` of a large domain."""
        touching = np.flatnonzero(self.touching)
        documents = np.random.default_rng(SEED).permutation(self.a.max(initial=0) + 1)
        share = MOST_ROWS / max(len(touching), MOST_ROWS)
        return np.asarray(touching[documents[self.a[touching]] < share * len(documents)])

    def rows(self, features: Sequence[str]) -> NDArray[np.float32]:
        """All candidates as rows of *features*."""
        return np.column_stack([self.columns[name] for name in features])

    def pairs(self, scores: NDArray[np.float64], least: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One-to-one pairs with a score of *least* or more, best first."""
        chosen = greedy(self.a, self.b, scores, least)
        return self.a[chosen], self.b[chosen]

    def without(self, features: Iterable[str]) -> Examples:
        """The same where nothing is known of *features*."""
        return replace(self, columns=self.columns | dict.fromkeys(features, np.full(len(self.a), np.nan, np.float32)))


class DisguisedSite:
    """The documents of one domain of a task in one form."""

    def __init__(self, task: Task, form: str, domain: Domain, gold: set[tuple[str, str]], encoder: Encoder) -> None:
        self._task, self._form, self._domain = task, form, domain
        held = {profile.url for profile in (*domain.a, *domain.b)}
        self._gold = {pair for pair in gold if held.issuperset(pair)}
        self._evidence = CandidateEvidence(domain, "thorough", encoder)

    def examples(self, pairs: tuple[NDArray[np.intp], NDArray[np.intp]] = NO_PAIRS) -> Examples:
        """All candidates with all features; *pairs* teach how the site translates."""
        domain, found, gold = self._domain, self._evidence.candidates(pairs), self._gold
        urls = {url for pair in gold for url in pair}
        proposed = [(domain.a[i].url, domain.b[j].url) for i, j in zip(found.a, found.b, strict=True)]
        return Examples(
            kind_of(self._task.site),
            self._form,
            len(gold),
            found.a,
            found.b,
            found.columns,
            np.array([one in gold for one in proposed], dtype=bool),
            np.array([not urls.isdisjoint(one) for one in proposed], dtype=bool),
        )


def gold_pairs(sites: Path, task: Task) -> set[tuple[str, str]]:
    """Gold pairs of a task, in the order of its languages."""
    wanted = (task.lang_a, task.lang_b)
    found = set()
    for pair in read_site(sites / task.site).pairs:
        if (pair.lang_a, pair.lang_b) == wanted:
            found.add((pair.url_a, pair.url_b))
        elif (pair.lang_b, pair.lang_a) == wanted:
            found.add((pair.url_b, pair.url_a))
    return found


def family(site: str) -> str:
    """Name of the family of a site, whose members are editions of one site."""
    return "-".join(site.removeprefix("deb.").split("-")[:2]).removesuffix("-help").removesuffix("-en")


def read_sites(sites: Path, task: Task, encoder: Encoder) -> Iterator[DisguisedSite]:
    """The domains of a task in all forms; those without gold pairs teach nothing."""
    corpus = read_corpus([sites / task.site], LanguagePairs.parse(task.pair))
    gold = gold_pairs(sites, task)
    for group in corpus.groups():
        kept = _sample(corpus.profiles(group), gold)
        for form in FORMS:
            disguised = DisguisedCorpus(corpus, FORMS[form])
            shown = {(disguised.url(a), disguised.url(b)) for a, b in gold}
            yield DisguisedSite(task, form, disguised.domain(group, kept.__contains__), shown, encoder)


def _sample(profiles: Sequence[Profile], gold: set[tuple[str, str]]) -> set[str]:
    """URLs of documents: those of some gold pairs, and as many others."""
    random = Random(SEED)
    held = {profile.url for profile in profiles}
    pairs = sorted(pair for pair in gold if held.issuperset(pair))
    chosen = {url for pair in random.sample(pairs, min(len(pairs), MOST_PAIRS)) for url in pair}
    others = sorted(held.difference(*pairs))
    return chosen.union(random.sample(others, min(len(others), 2 * MOST_PAIRS)))
