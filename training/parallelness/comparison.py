"""`python -m training.parallelness.comparison`: the pair model beside rules and gradient boosting, by source of data.

Each source of real pairs (WMT16, hreflang pages, site repositories, corpus samples, frozen sites) is scored by learnt
systems that saw nothing of it, nor of its domains in other sources. The candidates are of two kinds: any two documents
of a site (positives with the paper's negatives), and the links of a page (of frozen sites). The small model goes on
from the checkpoints of a run with the same `--work`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import precision_recall_fscore_support

from training.common.markdown import table
from training.common.options import new_file, refuse_bad_input
from training.common.scores import average_precision
from training.parallelness.baselines import LanguageStripper, TokenReplacement
from training.parallelness.examples import FOLDS, origin_of
from training.parallelness.hand_features import hand_features
from training.parallelness.options import add_options, chosen_options
from training.parallelness.train import cross_validate, domain_splits, prepare, scale, source_splits
from training.parallelness.validation import LINKS, PAPER, by_source, is_link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.parallelness.examples import Example
    from training.parallelness.train import Prepared, Split

MOST_BOOSTED = 60_000
DRAWN = 7
"""Domains of a draw: WMT16 lists 49 training sites, of which 42 are in the training and development lists here."""
DRAWS = 2000
SMALL = "small model"
SITE_LINKS = "links of sites"
MEASURES = {
    "precision": "Precision at .5",
    "recall": "Recall at .5",
    "f1": "F1 at .5",
    "f1_of_domains": "F1 at .5, mean of domains",
    "f1_of_worst": "F1 at .5, worst tenth of the domains",
    "f1_of_draws": "F1 at .5, exceeded by nine of ten draws of seven domains",
    "average_precision": "AP",
}


@dataclass(frozen=True, slots=True)
class Scores:
    """Positive class at probability .5, and average precision; of links, the mean average precision of the sites.

    `f1_of_domains` is a mean over the domains with a positive: no large domain decides it. `f1_of_worst` is that of the
    tenth of them with the lowest. `f1_of_draws` is what another list of few domains may show: the tenth percentile of
    the F1 of all pairs of `DRAWN` domains.
    """

    precision: float
    recall: float
    f1: float
    f1_of_domains: float
    f1_of_worst: float
    f1_of_draws: float
    average_precision: float


def candidates(examples: Sequence[Example]) -> dict[str, NDArray[np.int64]]:
    """Rows of the examples to score, by source: any two documents of a site, and the links of frozen sites."""
    found: dict[str, list[int]] = {}
    for i, example in enumerate(examples):
        if example.kind in LINKS:
            found.setdefault(SITE_LINKS, []).append(i)
        elif example.kind in PAPER:
            found.setdefault(origin_of(example), []).append(i)
    return {name: np.array(rows, dtype=np.int64) for name, rows in sorted(found.items())}


def compare(examples: Sequence[Example], probabilities: NDArray[np.floating]) -> Scores:
    """Scores of one system on the candidates of one source."""
    labels = np.array([e.label for e in examples], dtype=np.int64)
    chosen = probabilities >= 0.5
    precision, recall, f1, _ = precision_recall_fscore_support(labels, chosen, average="binary", zero_division=0)
    domains = np.array([e.group for e in examples])
    rows = [domains == one for one in np.unique(domains[labels == 1])]
    counts = np.array([_counts(labels[inside] == 1, chosen[inside]) for inside in rows])
    of_domains = np.sort(_f1(counts))
    worst = of_domains[: max(1, len(of_domains) // 10)]
    if all(example.kind in LINKS for example in examples):
        average = float(np.mean(by_source(examples, labels, probabilities, np.ones(len(labels), dtype=bool))))
    else:
        average = average_precision(labels, probabilities)
    return Scores(
        float(precision),
        float(recall),
        float(f1),
        float(of_domains.mean()),
        float(worst.mean()),
        float(np.quantile(_f1_of_draws(counts), 0.1)),
        average,
    )


def _counts(truth: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> tuple[int, int]:
    """Right pairs, and known with chosen ones."""
    return int((truth & chosen).sum()), int(truth.sum() + chosen.sum())


def _f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 by the :func:`_counts` [..., 2]."""
    return np.asarray(2 * counts[:, 0] / counts[:, 1])


def _f1_of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 of all pairs of `DRAWN` domains drawn at random, of fewer if there are no more; *counts* [domains, 2]."""
    rng = np.random.default_rng(0)
    size = min(DRAWN, len(counts))
    drawn = np.array([counts[rng.choice(len(counts), size, replace=False)].sum(0) for _ in range(DRAWS)])
    return _f1(drawn)


def calibrated(prepared: Prepared, splits: Sequence[Split], logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities [N] of held-out logits: two documents calibrated by the other sources, links by other domains."""
    linked = is_link(prepared.examples)
    parts = [(split.inside[~linked[split.inside]], ~linked) for split in splits]
    parts += [(fold.inside[linked[fold.inside]], linked) for fold in domain_splits(prepared.examples, FOLDS)]
    held_out = np.isin(np.arange(len(logits)), np.concatenate([split.inside for split in splits]))
    result = np.zeros(len(logits))
    for inside, alike in parts:
        others = alike & held_out
        others[inside] = False
        temperature, shift = scale(prepared, logits, np.flatnonzero(others))
        result[inside] = (logits[inside] + shift) / temperature
    probabilities: NDArray[np.float64] = 1 / (1 + np.exp(-result.clip(-50, 50)))
    return probabilities


def boosted(prepared: Prepared, splits: Sequence[Split], seed: int) -> NDArray[np.float32]:
    """Logits [N] from gradient-boosted trees that saw nothing of the split."""
    rng = np.random.default_rng(seed)
    result = np.zeros(len(prepared.examples), dtype=np.float32)
    for split in splits:
        weights = prepared.weights[split.outside].astype(np.float64)
        some = min(MOST_BOOSTED, round(weights.sum()))
        drawn = rng.choice(split.outside, some, replace=False, p=weights / weights.sum())
        model = HistGradientBoostingClassifier(random_state=seed)
        model.fit(_features(prepared.examples, drawn), prepared.labels[drawn])
        result[split.inside] = model.decision_function(_features(prepared.examples, split.inside))
    return result


def _features(examples: Sequence[Example], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    return hand_features([(examples[i].url_a, examples[i].url_b) for i in rows])


def summary(found: Mapping[str, Mapping[str, Scores]]) -> str:
    """Markdown: one table for each measure, systems in rows, sources and the worst of them in columns."""
    sources = list(next(iter(found.values())))
    parts = []
    for measure, title in MEASURES.items():
        rows = [(name, [getattr(by_name[source], measure) for source in sources]) for name, by_name in found.items()]
        parts.append(table((title, *sources, "worst"), [(name, *values, min(values)) for name, values in rows]))
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the systems, print the tables, write --json and --table."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness.comparison", description=__doc__)
    add_options(parser)
    parser.add_argument("--json", type=new_file, required=True)
    parser.add_argument("--table", type=new_file, required=True, help="Markdown")
    options = parser.parse_args(arguments)
    sources, recipe = chosen_options(options)
    with refuse_bad_input(parser):
        prepared = prepare(sources, recipe, options.work)
        splits = source_splits(prepared.examples)
        logits = cross_validate(prepared, splits, recipe, options.work)
    held_out = np.concatenate([split.inside for split in splits])
    wanted = {name: np.intersect1d(rows, held_out) for name, rows in candidates(prepared.examples).items()}
    wanted = {name: rows for name, rows in wanted.items() if prepared.labels[rows].any()}
    measured = np.concatenate(list(wanted.values()))
    systems = {
        SMALL: calibrated(prepared, splits, logits),
        "gradient boosting on hand features": calibrated(prepared, splits, boosted(prepared, splits, recipe.seed)),
    }
    pairs = [(prepared.examples[i].url_a, prepared.examples[i].url_b) for i in measured]
    for name, rule in (("WMT16 language stripper", LanguageStripper()), ("YODA token replacement", TokenReplacement())):
        systems[name] = np.zeros(len(logits))
        systems[name][measured] = rule.probabilities(pairs)
    found = {
        name: {
            source: compare([prepared.examples[i] for i in rows], probabilities[rows])
            for source, rows in wanted.items()
        }
        for name, probabilities in systems.items()
    }
    print(summary(found), end="")
    everything = {name: {source: asdict(s) for source, s in by_name.items()} for name, by_name in found.items()}
    options.json.write_text(json.dumps(everything, indent=1) + "\n")
    options.table.write_text(summary(found), encoding="utf-8")


if __name__ == "__main__":
    main()
