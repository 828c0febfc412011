"""Training examples of the classifiers of document pairs: candidates of frozen sites, labelled by gold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.language_pairs import LanguagePairs
from bilingual_crawler.pairing.align import read_corpus
from bilingual_crawler.pairing.domain import Domain
from bilingual_crawler.pairing.evidence import gather

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pairing.embeddings import Encoder

MOST_ROWS = 3000
"""Most candidates of a domain in the training of a classifier."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Examples:
    """The candidate pairs of one domain of a task, with their features and labels."""

    family: str
    """Tasks of one family are always on the same side of a split."""
    gold: int
    """Gold pairs of the task; 0 for all but its first domain."""
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


def read_examples(sites: Path, task: Task, encoder: Encoder) -> list[Examples]:
    """Candidates with all features and labels, domain by domain."""
    corpus = read_corpus([sites / task.site], LanguagePairs.parse(task.pair))
    gold = gold_pairs(sites, task)
    urls = {url for urls in gold for url in urls}
    found: list[Examples] = []
    (pair,) = corpus.pairs
    for group in corpus.groups():
        domain = Domain.of(group, corpus, pair, corpus.profiles(group))
        evidence = gather(domain, "auto-content", encoder)
        pairs = [(domain.a[i].url, domain.b[j].url) for i, j in zip(evidence.a, evidence.b, strict=True)]
        found.append(
            Examples(
                family(task.site),
                0 if found else len(gold),
                evidence.a,
                evidence.b,
                evidence.columns,
                np.array([one in gold for one in pairs], dtype=bool),
                np.array([not urls.isdisjoint(one) for one in pairs], dtype=bool),
            )
        )
    return found
