"""What labels of a review teach the alignment: precision and recall after 0, 25, 50 and 100 labels.

    python -m benchmarks.review ../shared/data/sites/real HALF_TRANSLATED --method auto

The sheet of ``scrapy align --review`` is judged from its first row on by what is known of the site, without the pairs
that nobody knows, until it has so many labels, or ends; then the sites are aligned with ``--labels``. *own*: each task
learns from its own sheet. *all*: one sheet of all tasks of the set. *others*: each site is left out, and learns from as
many labels of the sheets of all other sites. *before* is the alignment without labels. The pairs that labels name count
in none of these figures; *with labels* is what the user gets, these pairs included. All are pooled over the tasks.
"""

from __future__ import annotations

import argparse
import json
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.alignment import read_set
from bilingual_crawler.harvest.results import decimals
from bilingual_crawler.harvest.sites import PairVerdict, Tally, Truth, share
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pairing.align import align_domain, domains
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.pairing.refit import RefittedMethod
from bilingual_crawler.reporting.review import Review
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilingual_crawler.items import Pair
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.methods import Candidates, Method

    Labels = Mapping[tuple[str, str], bool]

COUNTS = (0, 25, 50, 100)  # labels


class ScoredOnce:
    """A method that scores each domain once, whatever its labels."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._scored: dict[tuple[int, tuple[str, ...]], Candidates] = {}

    def __call__(self, domain: Domain) -> Candidates:
        key = id(domain.corpus), domain.group
        if key not in self._scored:
            self._scored[key] = self._method(domain)
        return self._scored[key]


@dataclass(frozen=True, slots=True)
class Judged:
    """A task, and what its reader knows."""

    site: str
    truth: Truth
    domains: Sequence[Domain]
    before: Tally
    review: Review

    def labels(self, review: Review) -> Labels:
        """The labels that the reader gives in the sheet of *review*, in its order."""
        urls = ((one.pair.url_a, one.pair.url_b) for one in review.documents)
        verdicts = ((pair, self.truth.verdict(pair)) for pair in urls if self.knows(pair))
        return {pair: verdict == PairVerdict.RIGHT for pair, verdict in verdicts if verdict != PairVerdict.UNJUDGED}

    def knows(self, pair: tuple[str, str]) -> bool:
        """Whether both documents of *pair* are of the task, the first one in the first language."""
        a, b = map(link_key, pair)
        return any(a in domain.places_a and b in domain.places_b for domain in self.domains)

    def with_labels(self, labels: Labels) -> list[Domain]:
        """The domains as they are after ``--labels``."""
        found = []
        for domain in self.domains:
            twin = copy(domain)
            a, b = ({profile.url: place for place, profile in enumerate(side)} for side in (domain.a, domain.b))
            twin.labelled = {(a[x], b[y]): right for (x, y), right in labels.items() if x in a and y in b}
            found.append(twin)
        return found

    def aligned(self, method: Method, known: Labels) -> Tally:
        """The pairs by *method*, where the labels *known* are facts."""
        return self.truth.judge(
            pair for domain in self.with_labels(known) for pair in align_domain(domain, method).pairs
        )


class Row(NamedTuple):
    """The figures of one count of labels."""

    labels: int
    """Wanted."""
    given: float
    """Mean over the tasks."""
    before: Tally
    after: Tally
    whole: Tally
    """With the pairs that the labels name."""


def read(path: Path, method: Method, tasks: int | None, every: Review) -> Iterator[Judged]:
    """Read and align the tasks of the set *path*; their pairs are added to *every*, the sheet of all."""
    for name, corpus, truth in read_set(path, tasks):
        found = list(domains(corpus))
        review = Review(next(iter(corpus.pairs)))
        pairs: list[Pair] = []
        for domain in found:
            alignment = align_domain(domain, method)
            for sheet in (review, every):
                sheet.add(alignment, domain.main_text)
            pairs += alignment.pairs
        yield Judged(name.partition(".")[0], truth, found, truth.judge(pairs), review)


def first(labels: Labels, count: int) -> Labels:
    """The first *count* of *labels*."""
    return dict(islice(labels.items(), count))


def refitted(method: Method, learnt: Sequence[tuple[Judged, Labels]]) -> Method:
    """The *method* that has learnt from labels of some tasks."""
    labelled = [domain for one, labels in learnt if labels for domain in one.with_labels(labels)]
    return RefittedMethod(method, labelled) if labelled else method


def without(tally: Tally, truth: Truth, labels: Labels) -> Tally:
    """The *tally* of the pairs that no label names."""
    pairs = [judged for judged in tally.pairs if (judged.pair.url_a, judged.pair.url_b) not in labels]
    found = sum(judged.verdict == PairVerdict.RIGHT for judged in pairs)
    return Tally(len(truth.gold.difference(labels)), found, pairs=pairs)


def figures(count: int, results: Sequence[tuple[Judged, Labels, Method]], given: float) -> Row:
    """The figures of tasks aligned with the labels that they know and the method that has learnt."""
    tallies = []
    for one, known, method in results:
        whole = one.aligned(method, known)
        tallies.append((*(without(tally, one.truth, known) for tally in (one.before, whole)), whole))
    return Row(count, given, *(sum(column, Tally()) for column in zip(*tallies, strict=True)))


def own(tasks: Sequence[Judged], every: Review, method: Method, count: int) -> Row:
    """Each task learns from its own sheet."""
    known = [(one, first(one.labels(one.review), count)) for one in tasks]
    given = fmean(len(labels) for _, labels in known)
    return figures(count, [(one, labels, refitted(method, [(one, labels)])) for one, labels in known], given)


def all_tasks(tasks: Sequence[Judged], every: Review, method: Method, count: int) -> Row:
    """All tasks learn from one sheet."""
    labels = [one.labels(every) for one in tasks]
    order = [(one.pair.url_a, one.pair.url_b) for one in every.documents]
    judged = first({pair: True for pair in order if any(pair in found for found in labels)}, count)
    known = [
        (one, {pair: right for pair, right in found.items() if pair in judged})
        for one, found in zip(tasks, labels, strict=True)
    ]
    learnt = refitted(method, known)
    return figures(count, [(one, labels, learnt) for one, labels in known], len(judged))


def others(tasks: Sequence[Judged], every: Review, method: Method, count: int) -> Row:
    """Each task learns from *count* labels of all other sites."""
    labels = [first(one.labels(one.review), max(COUNTS)) for one in tasks]
    results: list[tuple[Judged, Labels, Method]] = []
    given = []
    for one in tasks:
        pool = [(n, pair) for n, other in enumerate(tasks) if other.site != one.site for pair in labels[n]]
        drawn = Random(0).sample(pool, min(count, len(pool)))
        learnt = [
            (other, {pair: labels[n][pair] for place, pair in drawn if place == n}) for n, other in enumerate(tasks)
        ]
        results.append((one, {}, refitted(method, learnt)))
        given.append(len(drawn))
    return figures(count, results, fmean(given))


SHEETS = {"own": own, "all": all_tasks, "others": others}


def f1(tally: Tally) -> float | None:
    """F1 of the gold and the judged pairs."""
    return share(2 * tally.found, tally.gold + tally.judged)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+", help="folders of frozen sites with tasks.tsv")
    parser.add_argument("--method", default="auto", help="of scrapy align (%(default)s)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="(%(default)s)")
    parser.add_argument("--tasks", type=int, help="of each set only so many, those with the smallest archives")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures, for benchmarks.report")
    args = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("set", "labels of", "labels", "given", "gold", "recall\nbefore", "recall"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in (
        "precision\nbefore",
        "precision",
        "F1\nbefore",
        "F1",
        "recall\nwith labels",
        "precision\nwith labels",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    written = []
    with refuse_bad_input(parser):
        for path in args.sets:
            method = ScoredOnce(make_method(args.method, args.models, "", Path()))
            every = Review(LanguagePair("und", "mul"))
            tasks = list(read(path, method, args.tasks, every))
            for name, measure in SHEETS.items():
                for row in (measure(tasks, every, method, count) for count in COUNTS):
                    before, after, whole = row.before, row.after, row.whole
                    figures = {
                        **{"recall_before": before.recall, "recall": after.recall},
                        **{"precision_before": before.precision, "precision": after.precision},
                        **{"f1_before": f1(before), "f1": f1(after)},
                        **{"whole_recall": whole.recall, "whole_precision": whole.precision},
                    }
                    head = {
                        "name": f"{name}, {row.labels}",
                        "set": path.name,
                        "of": name,
                        "labels": row.labels,
                        "given": row.given,
                    }
                    written.append(head | {"gold": after.gold} | figures)
                    counts = path.name, name, str(row.labels), f"{row.given:.0f}", f"{after.gold:,}"
                    table.add_row(*counts, *map(decimals, figures.values()))
            table.add_section()
    Console(width=200).print(table)
    if args.json:
        args.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
