"""`python -m training.language.leave_out`: scores of networks that did not see the domain, the country or the source.

Networks are trained without a part of the domains, countries or sources, and answer the URLs of that part. Several
short trainings answer together: they are about as good as the shipped network, which was trained longer and learnt from
others. From the answers lists are drawn like those of an evaluation: they show how far a score moves because other
domains were drawn.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.metrics import precision_recall_fscore_support

from bilingual_crawler.scoring.models import TEXTS, ByteTokens
from bilingual_crawler.storage.files import replacing
from bilingual_crawler.urls.hosts import domain_label
from training.common.data import DataError, draw, read_real, read_tsv
from training.common.loop import fingerprint, predict
from training.common.markdown import table
from training.common.options import add_recipe, chosen_recipe, new_file, refuse_bad_input
from training.common.soft_labels import SHARE as TEACHERS_SHARE
from training.common.soft_labels import Lesson, SoftLabels
from training.language.card import MANY
from training.language.encoding import EncodedUrls
from training.language.examples import prepare, thinned
from training.language.fit import fit_on_part
from training.language.network import WordNetConfig
from training.language.recipe import LanguageRecipe
from training.language.train import NETWORK, TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.language.examples import Examples

KINDS = ("domain", "country", "source")
RECIPE = replace(LanguageRecipe(), epochs=2)
NETWORKS = 4
SHOWN = ("srp", "ukr", "mlt", "uzb", "hin", "rus", "eng")
LISTS = 200
SHARE = 0.07
PER_DOMAIN, PER_LANGUAGE = 100, 1500
HOME_PAGES = 0.05
FREQUENT = ("eng", "deu")
FREQUENT_DOMAINS = 0.3
"""A list has the URLs of a share of the domains, at most so many of a language in a domain and of a language. One in
twenty home pages stays whose language only its country's suffix tells. The domains of the two languages that every list
has enough of are thinned first, to save time."""
GENERIC_COUNTRIES = frozenset(("tv", "me", "io", "co", "eu", "fm", "to"))
"""Suffixes of two letters that sites of all countries use."""
HELD_OUT = 0.002  # the share of the domains by which the progress of a training is shown

Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """Rows (url, lang, source, evidence) of the list to judge, their labels, and the rows of each drawn list."""

    rows: list[Row]
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    lists: list[NDArray[np.int64]]

    def scores(self, guesses: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Macro-F1 of each list that has 30 URLs of a language, and F1 [lists, labels]; NaN for languages with fewer.

        DataError if no list has as many.
        """
        found = []
        for chosen in filter(len, self.lists):
            _, _, f1, support = precision_recall_fscore_support(
                self.labels[chosen], guesses[chosen], labels=np.arange(len(self.names)), zero_division=0
            )
            found.append(np.where(support >= MANY, f1, np.nan))
        by_language = np.reshape(found, (-1, len(self.names)))
        counted = by_language[~np.isnan(by_language).all(axis=1)]
        if not len(counted):
            raise DataError(f"no drawn list has {MANY} URLs of a language: give more rows")
        return np.nanmean(counted, axis=1), by_language


def choose_rows(rows: Sequence[Row]) -> NDArray[np.int64]:
    """Indices of the rows from which lists are drawn, in random order."""
    kept = [
        i
        for i, (url, _, _, evidence) in enumerate(rows)
        if not evidence.startswith("cctld") or not is_home(url) or draw(f"home {url}") < HOME_PAGES
    ]
    mixed = [kept[i] for i in np.random.default_rng(0).permutation(len(kept))]
    mixed = [
        i for i in mixed if rows[i][1] not in FREQUENT or draw(f"big {domain_label(rows[i][0])}") < FREQUENT_DOMAINS
    ]
    return thinned(np.array(mixed), [(domain_label(rows[i][0]), rows[i][1]) for i in mixed], PER_DOMAIN)


def is_home(url: str) -> bool:
    """Whether the URL has no path to speak of."""
    return len(url.partition("://")[2].partition("/")[2]) <= 1


def draw_lists(rows: Sequence[Row], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Indices of `LISTS` lists, each with the rows of a share of the domains."""
    rng = np.random.default_rng(1)
    domains = np.unique([domain_label(row[0]) for row in rows], return_inverse=True)[1]
    lists = []
    for _ in range(LISTS):
        chosen = np.flatnonzero((rng.random(domains.max() + 1) < SHARE)[domains])
        chosen = rng.permutation(chosen)
        chosen = chosen[np.argsort(labels[chosen], kind="stable")]
        found = labels[chosen]
        lists.append(chosen[np.arange(len(found)) - np.searchsorted(found, found) < PER_LANGUAGE])
    return lists


def country(url: str) -> str:
    """The suffix of a country, or the domain label of a site under another suffix."""
    suffix = url.partition("://")[2].partition("/")[0].partition(":")[0].lower().rpartition(".")[2]
    return suffix if len(suffix) == 2 and suffix not in GENERIC_COUNTRIES else domain_label(url)


def parts_of(kind: str, rows: Sequence[Row], count: int) -> NDArray[np.int64]:
    """The part of each row. Sources are spread so that the parts have about as many rows."""
    if kind != "source":
        group = domain_label if kind == "domain" else country
        return np.array([int(draw(f"{kind} {group(row[0])}") * count) for row in rows])
    sources, place = np.unique([row[2] for row in rows], return_inverse=True)
    sizes = np.bincount(place)
    part, load = np.zeros(len(sources), dtype=np.int64), np.zeros(count)
    for source in np.argsort(-sizes, kind="stable"):
        part[source] = load.argmin()
        load[part[source]] += sizes[source]
    return part[place]


def answers(
    kind: str,
    rows: Sequence[Row],
    kept: NDArray[np.int64],
    examples: Examples,
    recipe: LanguageRecipe,
    networks: int,
    out: Path,
    lesson: Lesson | None = None,
) -> NDArray[np.float32]:
    """Probabilities [kept, labels] by the mean of as many `networks`, which saw no domain of a row's part.

    Those of an earlier run are read from `out`. What teachers say of the other domains they learnt from all domains.
    """
    encoded = EncodedUrls(ByteTokens(recipe.max_length), [TEXTS[TEXT](url) for url in examples.urls])
    weights = examples.weights(recipe.synthetic_share)
    learnt_from = fingerprint(encoded.ids, examples.labels, weights, f"{examples.names} {rows}")
    taught = lesson.fingerprint() if lesson else ""
    path, key = out / f"{kind}.npz", f"{kind} {networks} {asdict(recipe)} {learnt_from} {taught}"
    if path.exists() and str((saved := np.load(path))["key"]) == key:
        return np.asarray(saved["probabilities"], dtype=np.float32)
    config = WordNetConfig(labels=len(examples.names), **{name: getattr(recipe, name) for name in NETWORK})
    place = {url: i for i, url in reversed(list(enumerate(examples.urls)))}
    judged = np.array([place[rows[i][0]] for i in kept])
    domains = [domain_label(url) for url in examples.urls]
    parts = parts_of(kind, rows, recipe.folds)
    answered = np.zeros((len(kept), len(examples.names)), dtype=np.float32)
    for part in range(recipe.folds):
        left_out = {domain_label(rows[i][0]) for i in np.flatnonzero(parts == part).tolist()}
        seen = np.array([domain not in left_out for domain in domains])
        own = np.flatnonzero(parts[kept] == part)
        if not len(own):
            continue
        for number in range(networks):
            other = replace(recipe, seed=recipe.seed + number * recipe.folds)
            checkpoint = out / f"{kind}-{part}-{number}.pt"
            net = fit_on_part(config, encoded, examples, seen, other, part, checkpoint, lesson)
            answered[own] += predict(net, encoded, judged[own]).softmax(1).numpy() / networks
    rounded = answered.astype(np.float16)
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, probabilities=rounded, key=key)
    return rounded.astype(np.float32)


def macro_scores(found: dict[str, NDArray[np.float32]], judged: Judged) -> dict[str, dict[str, float]]:
    """Mean, standard deviation and worst decile of macro-F1 over the lists, by what was left out."""
    scores = {name: judged.scores(answered.argmax(1))[0] for name, answered in found.items()}
    return {
        name: {"mean": float(macro.mean()), "deviation": float(macro.std()), "worst": float(np.quantile(macro, 0.1))}
        for name, macro in scores.items()
    }


def report_lists(found: dict[str, NDArray[np.float32]], judged: Judged) -> str:
    """Mean and worst decile over the lists of macro-F1 and of the F1 of some languages, as a Markdown table."""
    rows: list[list[object]] = []
    for name, answered in found.items():
        macro, by_language = judged.scores(answered.argmax(1))
        cells = [f"{macro.mean():.3f} ± {macro.std():.3f}, {np.quantile(macro, 0.1):.3f}"]
        for lang in SHOWN:
            f1 = by_language[:, judged.names.index(lang)] if lang in judged.names else np.full(1, np.nan)
            f1 = f1[~np.isnan(f1)]
            cells.append(f"{f1.mean():.2f}, {np.quantile(f1, 0.1):.2f}" if len(f1) else "–")
        rows.append([name, *cells])
    return table(["left out", "macro-F1", *SHOWN], rows)


def report_errors(answered: NDArray[np.float32], judged: Judged) -> str:
    """Right and false answers of some languages, and the languages of most of the false ones, as a Markdown table."""
    guesses, names = answered.argmax(1), np.array(judged.names)
    rows: list[list[object]] = []
    for lang in SHOWN:
        true = names[judged.labels[names[guesses] == lang]]
        false = Counter(true[true != lang].tolist()).most_common(4)
        rows.append([lang, (true == lang).sum(), (true != lang).sum(), ", ".join(f"{one} {n}" for one, n in false)])
    return table(["answer", "right", "false", "of these"], rows)


def run(options: argparse.Namespace, recipe: LanguageRecipe) -> None:
    """Answer, draw, print."""
    made_up = [row for path in options.synthetic for row in read_tsv(path, ("url", "lang")).rows]
    barred = {domain_label(url) for url, _ in read_real(options.exclude)[0]}
    real = read_real([options.list, *options.data])[0]
    # The parts are what is left out: hardly any further domain is held out.
    examples = prepare(real, made_up, barred, replace(recipe, held_out=HELD_OUT))
    listed = read_tsv(options.list, ("url", "lang", "source", "evidence")).rows
    rows: list[Row] = [
        (url, lang, source, evidence)
        for url, lang, source, evidence in listed
        if lang in examples.names and domain_label(url) not in barred
    ]
    if not rows:
        raise DataError(f"{options.list}: no URL to judge, in a language of the training and no excluded domain")
    kept = choose_rows(rows)
    judged_rows = [rows[i] for i in kept]
    labels = np.array([examples.names.index(row[1]) for row in judged_rows])
    judged = Judged(judged_rows, labels, examples.names, draw_lists(judged_rows, labels))
    lesson = None
    if options.soft_labels:
        teachers = [SoftLabels.load(path) for path in options.soft_labels]
        lesson = Lesson(teachers, examples.urls, examples.labels, examples.names, options.soft_share)
    found: dict[str, NDArray[np.float32]] = {}
    for kind in options.kinds:
        found[kind] = answers(kind, rows, kept, examples, recipe, options.networks, options.out, lesson)
    print(report_lists(found, judged))
    if options.json:
        options.json.write_text(json.dumps(macro_scores(found, judged), indent=1) + "\n", encoding="utf-8")
    for kind in options.kinds:
        print(f"Answers without the {kind}:\n\n{report_errors(found[kind], judged)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of drawn lists."""
    parser = argparse.ArgumentParser(prog="python -m training.language.leave_out", description=main.__doc__)
    parser.add_argument("--list", type=Path, required=True, help="TSV (url, lang, source, evidence) to judge")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="more to train on, as for training.language")
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="TSV files of training.prepare.synthetic")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="what is left out")
    parser.add_argument("--out", type=Path, required=True, help="folder for the answers of the networks")
    parser.add_argument("--json", type=new_file, help="macro-F1, for benchmarks.report")
    parser.add_argument("--soft-labels", type=Path, nargs="*", help="teachers' probabilities, of training.distil")
    parser.add_argument("--soft-share", type=float, default=TEACHERS_SHARE, help="of the teacher in the targets")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="that answer together (%(default)s)")
    add_recipe(parser, RECIPE)
    options = parser.parse_args(arguments)
    recipe = chosen_recipe(RECIPE, options)
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    with refuse_bad_input(parser):
        run(options, recipe)


if __name__ == "__main__":
    main()
