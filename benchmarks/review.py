"""What labels of a review teach the alignment: precision and recall after 0, 25, 50 and 100 labels.

    python -m benchmarks.review ../shared/data/sites/real HALF_TRANSLATED

The sheet of ``scrapy align --review`` is judged from its first row on by what is known of the site, without the pairs
that nobody knows, until it has so many labels, or ends; then the site is aligned with ``--labels``. *own*: labels of
the site itself. *others*: each site is left out, and as many labels are drawn from the sheets of the other sites of
its set. *before* is the alignment without labels. The pairs that the site's own labels name count in none of these
figures; *with labels* is what the user gets, these pairs included. All figures are pooled over the tasks of a set.
"""

from __future__ import annotations

import argparse
import json
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.alignment import read_set
from bilingual_crawler.harvest.table import decimals
from bilingual_crawler.harvest.verdicts import PairVerdict, Tally, Truth, share
from bilingual_crawler.pairing.align import align_domain, domains
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.refit import RefittedMethod
from bilingual_crawler.reporting.review import Review
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.methods import Candidates, Method

    Labels = Mapping[tuple[str, str], bool]

COUNTS = (0, 25, 50, 100)
"""Labels."""


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
class Labelled:
    """A task, and the labels that its sheet gets, in the order of the sheet."""

    site: str
    truth: Truth
    domains: Sequence[Domain]
    before: Tally
    labels: Labels


class Row(NamedTuple):
    """The figures of one count of labels."""

    labels: int
    """Wanted of each task."""
    given: float
    """Mean over the tasks."""
    before: Tally
    after: Tally
    whole: Tally
    """With the pairs that the labels name."""


def read(path: Path, method: Method, tasks: int | None) -> Iterator[Labelled]:
    """Read and align the tasks of the set *path*, and judge their sheets."""
    for name, corpus, truth in read_set(path, tasks):
        found = list(domains(corpus))
        review = Review(next(iter(corpus.pairs)))
        pairs = []
        for domain in found:
            alignment = align_domain(domain, method)
            review.add(alignment, domain.main_text)
            pairs += alignment.pairs
        verdicts = ((one.pair.url_a, one.pair.url_b) for one in review.documents)
        judged = ((urls, truth.verdict(urls)) for urls in verdicts)
        labels = {urls: verdict == PairVerdict.RIGHT for urls, verdict in judged if verdict != PairVerdict.UNJUDGED}
        yield Labelled(name.partition(".")[0], truth, found, truth.judge(pairs), labels)


def first(labels: Labels, count: int) -> Labels:
    """The first *count* of *labels*."""
    return dict(islice(labels.items(), count))


def with_labels(domains: Sequence[Domain], labels: Labels) -> list[Domain]:
    """The *domains* as they are after ``--labels``."""
    found = []
    for domain in domains:
        twin = copy(domain)
        a, b = ({profile.url: place for place, profile in enumerate(side)} for side in (domain.a, domain.b))
        twin.labelled = {(a[x], b[y]): right for (x, y), right in labels.items() if x in a and y in b}
        found.append(twin)
    return found


def align_with(one: Labelled, method: Method, known: Labels) -> Tally:
    """Align the task with *method*, where the labels *known* are facts."""
    pairs = [pair for domain in with_labels(one.domains, known) for pair in align_domain(domain, method).pairs]
    return one.truth.judge(pairs)


def without(tally: Tally, truth: Truth, labels: Labels) -> Tally:
    """The *tally* of the pairs that no label names."""
    pairs = [judged for judged in tally.pairs if (judged.pair.url_a, judged.pair.url_b) not in labels]
    found = sum(judged.verdict == PairVerdict.RIGHT for judged in pairs)
    return Tally(len(truth.gold.difference(labels)), found, pairs=pairs)


def own(tasks: Sequence[Labelled], method: Method, count: int) -> Row:
    """Each task learns from its own labels."""
    tallies, given = [], []
    for one in tasks:
        labels = first(one.labels, count)
        refitted = RefittedMethod(method, with_labels(one.domains, labels)) if labels else method
        whole = align_with(one, refitted, labels)
        rest = (without(tally, one.truth, labels) for tally in (one.before, whole))
        tallies.append((*rest, whole))
        given.append(len(labels))
    return Row(count, sum(given) / len(tasks), *(sum(column, Tally()) for column in zip(*tallies, strict=True)))


def others(tasks: Sequence[Labelled], method: Method, count: int) -> Row:
    """Each task learns from *count* labels of all other sites."""
    after, given = [], []
    for one in tasks:
        pool = [(other, urls) for other in tasks if other.site != one.site for urls in first(other.labels, max(COUNTS))]
        drawn = Random(0).sample(pool, min(count, len(pool)))
        labelled = [
            domain
            for other in tasks
            if (labels := {urls: other.labels[urls] for task, urls in drawn if task is other})
            for domain in with_labels(other.domains, labels)
        ]
        after.append(align_with(one, RefittedMethod(method, labelled) if labelled else method, {}))
        given.append(len(drawn))
    before = sum((one.before for one in tasks), Tally())
    return Row(count, sum(given) / len(tasks), before, sum(after, Tally()), sum(after, Tally()))


def f1(tally: Tally) -> float | None:
    """F1 of the gold and the judged pairs."""
    return share(2 * tally.found, tally.gold + tally.judged)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+", help="folders of frozen sites with tasks.tsv")
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
            method = ScoredOnce(make_method("auto", args.models, "", Path()))
            tasks = list(read(path, method, args.tasks))
            for measure in (own, others):
                for row in (measure(tasks, method, count) for count in COUNTS):
                    before, after, whole = row.before, row.after, row.whole
                    figures = {
                        **{"recall_before": before.recall, "recall": after.recall},
                        **{"precision_before": before.precision, "precision": after.precision},
                        **{"f1_before": f1(before), "f1": f1(after)},
                        **{"whole_recall": whole.recall, "whole_precision": whole.precision},
                    }
                    head = {"set": path.name, "of": measure.__name__, "labels": row.labels, "given": row.given}
                    written.append(head | {"gold": after.gold} | figures)
                    counts = path.name, measure.__name__, str(row.labels), f"{row.given:.0f}", f"{after.gold:,}"
                    table.add_row(*counts, *map(decimals, figures.values()))
            table.add_section()
    Console(width=200).print(table)
    if args.json:
        args.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
