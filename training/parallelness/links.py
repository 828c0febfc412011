"""`python -m training.parallelness.links`: the pair model on the real links of frozen sites, counted in four ways.

Gold lists only pairs whose texts were checked, so some links to translations count as negatives: pages that are
announced as translations and hold the original text, and pairs of other languages. The four ways:

- all: positives are the gold partners among the links of a page, negatives its other links to pages;
- undeclared: without negatives that the page itself names as its translation (hreflang, or a language switcher);
- not look-alike: without negatives that WMT16's language stripper cannot tell from a translation;
- two languages: pages and positives of the two languages of a task, negatives in these or in no known language.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.harvest.sites import read_site, read_tasks
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.storage.archive import iter_responses
from training.common.markdown import table
from training.common.options import new_file, refuse_bad_input
from training.common.scores import average_precision, calibration_error
from training.parallelness.baselines import LanguageStripper
from training.parallelness.evaluation import BATCH, pair_scorer
from training.parallelness.examples import frozen_sites, link_examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.harvest.sites import Site, Task
    from training.parallelness.evaluation import PairScorer
    from training.parallelness.examples import Example

ALL, UNDECLARED, NOT_ALIKE, TWO = WAYS = ("all", "undeclared", "not look-alike", "two languages")


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """The links of one site with their scores, and which of them each way counts."""

    name: str
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    counted: Mapping[str, NDArray[np.bool_]]


def declared(site: Site) -> set[tuple[str, str]]:
    """(page, link) where the page names the link as its translation: hreflang or a place in a language switcher."""
    found = set()
    for response in iter_responses(str(site.directory / "pages.warc.xz")):
        page = parse_page(decode_body(response.body, None), response.url)
        for link in page.links:
            if link.hreflang or link.label or link.position is LinkPosition.SWITCHER:
                found.add((site.page(response.url), site.page(link.url)))
    return found


def in_two_languages(site: Site, tasks: Iterable[Task], examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Links that count for a task of the site: the page has a partner in the other language of the pair."""
    counted = np.zeros(len(examples), dtype=bool)
    for task in tasks:
        partners = site.partners(task)
        known = {task.lang_a, task.lang_b, "un"}
        for i, e in enumerate(examples):
            of_task = e.url_a in partners
            counted[i] |= of_task and (e.url_b in partners[e.url_a] if e.label else site.languages[e.url_b] in known)
    return counted


def score_site(site: Site, tasks: Iterable[Task], score: PairScorer) -> SiteLinks:
    """Score every link of the gold pages of a site that link to a partner."""
    examples = link_examples(site)
    pairs = [(e.url_a, e.url_b) for e in examples]
    parts = [score(pairs[i : i + BATCH]) for i in range(0, len(pairs), BATCH)]
    positive = np.array([e.label == 1 for e in examples], dtype=bool)
    named = declared(site) if examples else set()
    counted = {
        ALL: np.ones(len(examples), dtype=bool),
        UNDECLARED: positive | ~np.array([pair in named for pair in pairs], dtype=bool),
        NOT_ALIKE: positive | (LanguageStripper().probabilities(pairs) == 0),
        TWO: in_two_languages(site, tasks, examples),
    }
    return SiteLinks(
        site.directory.name, positive.astype(np.int64), np.concatenate([np.zeros(0, np.float32), *parts]), counted
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """Scores of one way of counting; `calibration_error` weighs every site alike, `sites` are average precisions."""

    average_precision: float
    mean_of_sites: float
    calibration_error: float
    positives: int
    negatives: int
    sites: dict[str, float]


def summarise(sites: Sequence[SiteLinks], way: str) -> Summary:
    """The scores of all sites, counted in one way."""
    labels = [s.labels[s.counted[way]] for s in sites]
    scores = [s.probabilities[s.counted[way]] for s in sites]
    each = {s.name: average_precision(y, p) for s, y, p in zip(sites, labels, scores, strict=True) if y.any()}
    weights = np.concatenate([np.full(len(y), 1 / max(1, len(y))) for y in labels])
    merged, truth = np.concatenate(scores), np.concatenate(labels)
    return Summary(
        average_precision(truth, merged),
        float(np.mean(list(each.values()))),
        calibration_error(merged, truth, weights),
        int(truth.sum()),
        int(len(truth) - truth.sum()),
        each,
    )


def summary(result: Mapping[str, Summary]) -> str:
    """Markdown: the ways in rows, then the sites in rows with the worst first."""
    ways = [
        (way, row.positives, row.negatives, row.average_precision, row.mean_of_sites, row.calibration_error)
        for way, row in result.items()
    ]
    worst_first = sorted(result[ALL].sites.items(), key=lambda item: item[1])
    sites = [(name, *(result[way].sites.get(name) for way in WAYS)) for name, _ in worst_first]
    columns = ("counted", "positives", "negatives", "AP", "mean AP of sites", "ECE")
    return f"{table(columns, ways)}\n{table(('site', *WAYS), sites)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the sites, print the table, write the figures."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness.links", description=__doc__)
    parser.add_argument("--sites", type=Path, required=True, help="folder of frozen sites with tasks.tsv")
    parser.add_argument("--model", required=True, help="a model folder, rules, or yoda")
    parser.add_argument("--json", type=new_file)
    options = parser.parse_args(arguments)
    with refuse_bad_input(parser):
        score = pair_scorer(options.model, links=True)
        tasks: dict[str, list[Task]] = defaultdict(list)
        for task in read_tasks(options.sites):
            tasks[task.site].append(task)
        sites = [score_site(read_site(site), tasks[site.name], score) for site in frozen_sites(options.sites)]
    result = {way: summarise(sites, way) for way in WAYS}
    print(summary(result), end="")
    if options.json:
        found = {way: asdict(row) for way, row in result.items()}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
