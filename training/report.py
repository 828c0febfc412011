"""`python -m training.report`: the tables and figures of the paper for our models, as one Markdown page.

Table 1 (languages, macro means), Table 2 (pairs and synthetic negatives by language pair), Table 4 (pairs), Figure 2
(training URLs by language), Figure 3 (F1 by language), Figure 5 (macro-F1 by language pair), accuracy by kind of pair,
confusion with English, calibration and speed. Table 3 is `python -m training.wmt16`.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bilingual_crawler.scoring.models import LanguageModel
from bilingual_crawler.urls.hosts import domain_label
from training.common.counts import Counts, cell
from training.common.data import DataError, read_real
from training.common.markdown import table
from training.common.options import refuse_bad_input
from training.common.scores import calibration_error
from training.language.evaluation import language_guesser, measure_guesser, read_judged
from training.parallelness.evaluation import evaluate_parallelness, pair_scorer, read_labelled_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.parallelness.evaluation import LabelledPair

LEAST = 30  # fewest URLs of a language, or pairs of a kind or of two languages, that are shown separately
CONFUSED = 0.1
BINS = 10


def bars(groups: Mapping[str, Mapping[str, float]], names: Sequence[str], label: str, path: Path, log: bool) -> None:
    """Bars of every group for every name."""
    figure = Figure(figsize=(max(6.0, 0.22 * len(names) * len(groups) + 2), 3.5), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(groups)
    for number, (group, values) in enumerate(groups.items()):
        places = np.arange(len(names)) + number * width
        axes.bar(places, [values.get(name, 0) for name in names], width, label=group)
    axes.set_xticks(np.arange(len(names)) + 0.4 - width / 2, names, rotation=90, fontsize=7)
    axes.set_ylabel(label)
    if log:
        axes.set_yscale("log")
    if len(groups) > 1:
        axes.legend(fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def reliability(confidence: NDArray[np.float32], right: NDArray[np.bool_], path: Path) -> None:
    """Calibration curve: accuracy by confidence."""
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    counts = np.bincount(places, minlength=BINS)
    shown = counts > 0
    figure = Figure(figsize=(3.5, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    means = [np.bincount(places, values, BINS)[shown] / counts[shown] for values in (confidence, right)]
    axes.plot(*means, marker="o")
    axes.set_xlabel("probability of the best language")
    axes.set_ylabel("share that is right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def language_part(options: argparse.Namespace) -> str:
    """Table 1, Figures 2 and 3, confusion with English, calibration."""
    least = options.min_urls
    rows = read_judged(options.languages, least, "give a longer list, or a lower --min-urls").rows
    results = {name: measure_guesser(language_guesser(name), rows, least) for name in options.language_models}
    urls = Counter(language for _, language in rows)
    domains: defaultdict[str, set[str]] = defaultdict(set)
    for url, language in rows:
        domains[language].add(domain_label(url))
    kept = [
        name
        for name, count in sorted(urls.items(), key=lambda one: (-one[1], one[0]))
        if count >= least and len(domains[name]) >= options.min_domains
    ]
    if not kept:
        most = max(len(domains[name]) for name, count in urls.items() if count >= least)
        raise DataError(
            f"{options.languages}: no language has {options.min_domains} domains; give --min-domains {most}"
        )
    scores = {name: {lang: result["classes"][lang]["f1"] for lang in kept} for name, result in results.items()}
    bars(scores, kept, "F1", options.out / "figure3.png", log=False)
    macro = [
        [name, *(r["macro"][k] for k in ("precision", "recall", "f1")), r["accuracy"], f"{r['urls_per_second']:,.0f}"]
        for name, r in results.items()
    ]
    text = (
        f"## Language of a URL\n\n{len(rows):,} URLs, macro means over "
        f"{next(iter(results.values()))['macro']['classes']} languages with {least} or more.\n\n"
        + table(("Table 1", "precision", "recall", "F1", "accuracy", "URLs/s"), macro)
        + f"\nThe {len(kept)} languages with {least} URLs and {options.min_domains} domains or more:\n\n"
        + "![F1 by language](figure3.png)\n\n"
    )
    if options.training:
        counts = Counter(row[1] for row in read_real(options.training)[0])
        names = [name for name, _ in counts.most_common(60)]
        bars({"training": counts}, names, "URLs", options.out / "figure2.png", log=True)
        text += "Training URLs of the 60 most frequent languages:\n\n![URLs by language](figure2.png)\n\n"
    return text + _model_part(options, rows, kept)


def _model_part(options: argparse.Namespace, rows: Sequence[tuple[str, ...]], kept: Sequence[str]) -> str:
    """The figures that need probabilities, for the first model folder."""
    folder = next((Path(name) for name in options.language_models if Path(name).is_dir()), None)
    if folder is None:
        return ""
    model = LanguageModel(folder)
    probabilities = np.concatenate(
        [model.probabilities([url for url, *_ in rows[start : start + 256]]) for start in range(0, len(rows), 256)]
    )
    columns = {label: column for column, label in enumerate(model.labels)}
    truth = np.array([columns.get(row[1], -1) for row in rows])
    guess = probabilities.argmax(axis=1)
    reliability(probabilities.max(axis=1), guess == truth, options.out / "calibration.png")
    english = columns.get("eng", -1)
    shares = {name: float(np.mean(guess[truth == columns[name]] == english)) for name in kept if name in columns}
    confused = sorted((n for n in shares if shares[n] >= CONFUSED and n != "eng"), key=lambda n: -shares[n])
    return (
        f"Of `{folder}`: expected calibration error {calibration_error(probabilities, truth):.3f}.\n\n"
        "![Calibration](calibration.png)\n\n"
        f"Languages of which {CONFUSED:.0%} or more are taken for English: "
        + (", ".join(f"{name} {shares[name]:.0%}" for name in confused) or "none")
        + ".\n\n"
    )


def pair_part(options: argparse.Namespace) -> str:
    """Tables 2 and 4, Figure 5, accuracy by kind."""
    pairs = read_labelled_pairs(options.pairs)
    results: dict[str, Any] = {name: evaluate_parallelness(pairs, pair_scorer(name)) for name in options.pair_models}
    rows = [
        [f"{name}, {part}", *(result[part][key] for key in ("precision", "recall", "f1"))]
        for name, result in results.items()
        for part in ("positive", "negative", "macro")
    ]
    kinds = [kind for kind, row in next(iter(results.values()))["kinds"].items() if row["n"] >= LEAST]
    accuracy = {name: {kind: result["kinds"][kind]["accuracy"] for kind in kinds} for name, result in results.items()}
    bars(accuracy, kinds, "accuracy", options.out / "kinds.png", log=False)
    languages = [pair for pair, row in next(iter(results.values()))["languages"].items() if row["n"] >= LEAST]
    if languages:
        scores = {
            name: {pair: result["languages"][pair]["f1"] for pair in languages} for name, result in results.items()
        }
        bars(scores, languages, "macro-F1", options.out / "figure5.png", log=False)
    precision = ", ".join(f"{name} {result['average_precision']:.3f}" for name, result in results.items())
    speed = ", ".join(f"{name} {result['pairs_per_second']:,.0f}" for name, result in results.items())
    return (
        f"## Parallelness of two URLs\n\n{len(pairs):,} pairs, "
        f"{sum(p.label for p in pairs):,} of them translations.\n\n"
        + table(("Table 4", "precision", "recall", "F1"), rows)
        + f"\nAverage precision: {precision}. Pairs per second: {speed}.\n\n![Accuracy by kind](kinds.png)\n"
        + ("\n![Macro-F1 by language pair](figure5.png)\n" if languages else "")
        + _table_2(
            {path.name: read_labelled_pairs(path) for path in options.training_pairs} | {options.pairs.name: pairs}
        )
    )


def _table_2(parts: Mapping[str, Sequence[LabelledPair]]) -> str:
    """Positives, negatives and domains of each language pair, in each of *parts*; empty without language pairs."""
    counts = Counts()
    for name, pairs in parts.items():
        for pair in pairs:
            counts.add(pair.pair, name, str(pair.label), domain_label(pair.url_a))
    cells: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for languages, name, *numbers in counts.rows():
        if languages:
            cells[languages][name] = cell(*numbers)
    rows = [[languages, *(found.get(name, "0") for name in parts)] for languages, found in cells.items()]
    return "\nPositives/negatives (domains):\n\n" + table(("Table 2", *parts), rows) if rows else ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write report.md and its figures."""
    parser = argparse.ArgumentParser(prog="python -m training.report", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--languages", type=Path, help="TSV (url, lang) to score languages on")
    add("--language-models", nargs="+", default=["models/url-language", "rules"], help="as training.evaluate --model")
    add("--training", type=Path, nargs="*", default=[], help="what the model learnt from, for Figure 2")
    add(
        "--min-urls",
        type=int,
        default=LEAST,
        help="of a language in Table 1 and Figure 3; in the paper 100 (%(default)s)",
    )
    add("--min-domains", type=int, default=1, help="of a language in Figure 3; in the paper 10 (%(default)s)")
    add("--pairs", type=Path, help="TSV (url_a, url_b, label, maybe kind and pair) to score parallelness on")
    add("--training-pairs", type=Path, nargs="*", default=[], help="what the model learnt from, for Table 2")
    add("--pair-models", nargs="+", default=["models/url-parallelness", "rules", "yoda"])
    add("--out", type=Path, required=True, help="folder for report.md and the figures")
    options = parser.parse_args(arguments)
    if not options.languages and not options.pairs:
        parser.error("nothing to report on: give --languages, --pairs or both")
    mpl.use("agg")
    options.out.mkdir(parents=True, exist_ok=True)
    with refuse_bad_input(parser):
        parts = [language_part(options)] if options.languages else []
        parts += [pair_part(options)] if options.pairs else []
    text = "# Scores of the URL models\n\n" + "".join(parts)
    (options.out / "report.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
