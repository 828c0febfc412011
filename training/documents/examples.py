"""Training examples of the classifiers of document pairs: candidates of frozen sites, labelled by gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bilingual_crawler.harvest.sites import PairVerdict, Truth, read_site
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.align import read_corpus
from bilingual_crawler.pairing.matching import greedy
from training.documents.encounters import kind_of
from training.documents.forms import FORMS, DisguisedCorpus, Lies, taken_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.evidence import Proposals
    from bilingual_crawler.pairing.model import Profile

MOST_ROWS = 600  # most candidates of a domain in the training of a classifier
MOST_PAIRS = 200  # gold pairs of a domain whose documents are read; documents in none: at most so many again
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
    alike: tuple[NDArray[np.intp], NDArray[np.intp]]
    """Groups of near-duplicates of both sides, ``(documents,)``."""
    columns: dict[str, NDArray[Any]]
    parallel: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    """Whether one of the two documents is in a gold pair, or is known to have no translation."""

    @property
    def lying(self) -> bool:
        """Whether the site says of some pages that they are translations of others, and they are not."""
        return FORMS[self.form].lying

    def sample(self) -> NDArray[np.intp]:
        """Judged candidates, all of a document or none; about :data:`MOST_ROWS` of a large domain."""
        judged = np.flatnonzero(self.judged)
        documents = np.random.default_rng(SEED).permutation(self.a.max(initial=0) + 1)
        share = MOST_ROWS / max(len(judged), MOST_ROWS)
        return np.asarray(judged[documents[self.a[judged]] < share * len(documents)])

    def rows(self, features: Sequence[str]) -> NDArray[np.float32]:
        """All candidates as rows of *features*."""
        return np.column_stack([self.columns[name] for name in features])

    def chosen(self, scores: NDArray[np.float64], least: float) -> NDArray[np.intp]:
        """Candidates that a one-to-one matching chooses, with a score of *least* or more, best first."""
        return greedy(self.alike[0][self.a], self.alike[1][self.b], scores, least)

    def pairs(self, least: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs that a matching chooses by the column ``probability``, from *least* on, best first."""
        chosen = self.chosen(self.columns["probability"].astype(np.float64), least)
        return self.a[chosen], self.b[chosen]

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Examples:
        """The same with more or other *columns*."""
        return replace(self, columns={**self.columns, **columns})

    def without(self, features: Iterable[str]) -> Examples:
        """The same where nothing is known of *features*."""
        return self.with_columns(dict.fromkeys(features, np.full(len(self.a), np.nan, np.float32)))


class TaskSites:
    """The documents of the domains of one task in disguise; of a large domain a sample."""

    def __init__(self, folder: Path, task: Task) -> None:
        self._task = task
        self._corpus = read_corpus([folder / task.site], LanguagePairs.parse(task.pair))
        self._truth = read_site(folder / task.site).truth(task)

    def domains(self, form: str) -> Iterator[tuple[Domain, Truth]]:
        """Each domain in a *form*, and what is known of its documents."""
        shown = FORMS[form]
        for group in self._corpus.groups():
            kept = _sample(self._corpus.profiles(group), self._truth)
            gold = {pair for pair in self._truth.gold if kept.issuperset(pair)}
            paired = set().union(*gold)
            lies: Lies = {}
            if shown.lying:
                lies, lost = taken_apart(gold, Random(f"{self._task} {group}"))
                kept -= lost
                gold = {pair for pair in gold if kept.issuperset(pair)}
            orphans = (self._truth.orphans | (paired - set().union(*gold))) & kept
            disguised = DisguisedCorpus(self._corpus, shown, lies)
            domain = disguised.domain(group, kept.__contains__)

            def disguised_pairs(
                pairs: Iterable[tuple[str, str]], shown: DisguisedCorpus = disguised
            ) -> frozenset[tuple[str, str]]:
                return frozenset((shown.url(a), shown.url(b)) for a, b in pairs)

            yield (
                domain,
                Truth(
                    disguised_pairs(gold),
                    frozenset(map(disguised.url, orphans)),
                    false=disguised_pairs(self._truth.false),
                    undecided=disguised_pairs(self._truth.undecided),
                ),
            )

    def examples(self, form: str, domain: Domain, truth: Truth, proposed: Proposals) -> Examples:
        """The *proposed* candidates of a *domain* with their labels."""
        places = zip(proposed.a, proposed.b, strict=True)
        verdicts = [truth.verdict((domain.a[i].url, domain.b[j].url)) for i, j in places]
        return Examples(
            kind_of(self._task.site),
            form,
            len(truth.gold),
            proposed.a,
            proposed.b,
            (domain.alike_a, domain.alike_b),
            proposed.columns,
            np.array([verdict == PairVerdict.RIGHT for verdict in verdicts], dtype=bool),
            np.array([verdict != PairVerdict.UNJUDGED for verdict in verdicts], dtype=bool),
        )


def family(site: str) -> str:
    """Name of the family of a site, whose members are editions of one site."""
    return "-".join(site.removeprefix("deb.").split("-")[:2]).removesuffix("-help").removesuffix("-en")


def _sample(profiles: Sequence[Profile], truth: Truth) -> set[str]:
    """URLs of documents: those of some gold pairs, and twice as many others, orphans first."""
    random = Random(SEED)
    held = {profile.url for profile in profiles}
    pairs = sorted(pair for pair in truth.gold if held.issuperset(pair))
    chosen = {url for pair in random.sample(pairs, min(len(pairs), MOST_PAIRS)) for url in pair}
    others = held.difference(*pairs)
    chosen |= held.intersection(set().union(*truth.false))
    for some in (sorted(others & truth.orphans), sorted(others - truth.orphans)):
        chosen.update(random.sample(some, min(len(some), MOST_PAIRS)))
    return chosen
