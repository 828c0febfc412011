"""`python -m training.language`: train the small URL language model and write its folder."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from bilingual_crawler.scoring.models import TEXTS
from bilingual_crawler.urls.canonical import domain_label
from training.data import DataError, check_classes, check_disjoint, in_held_out, read_real, read_tsv
from training.export import parity, write_card, write_folder
from training.fit import Encoded, Recipe, draw_weights, fit_temperature, macro_f1, predict, train
from training.networks import WordNet, WordNetConfig, byte_tokenizer
from training.onnx_graph import language_graph, round_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Row = tuple[str, ...]
TEXT = "reference"


@dataclass(frozen=True, slots=True)
class Examples:
    """What is trained on: URLs with the index of their label, and the weight of each in either draw.

    `valid` are the held-out indices; `names` are the labels, most frequent first.
    """

    urls: list[str]
    labels: NDArray[np.int64]
    real: NDArray[np.float64]
    made_up: NDArray[np.float64]
    valid: NDArray[np.int64]
    names: tuple[str, ...]

    def weights(self, recipe: Recipe, epoch: int) -> NDArray[np.float64]:
        """Weights in the draw of an epoch."""
        if not self.made_up.any():
            return self.real
        share = 1.0 if epoch < recipe.pretrain else recipe.synthetic
        return share * self.made_up + (1 - share) * self.real


def prepare(real: list[Row], made_up: list[Row], excluded: set[str], recipe: Recipe) -> Examples:
    """Choose labels, leave excluded domains out, hold domains out for validation, weigh the rest."""
    real = [row for row in real if domain_label(row[0]) not in excluded]
    counts = Counter(lang for _, lang in real)
    names = tuple(lang for lang, count in counts.most_common() if count >= recipe.least)
    index = {name: i for i, name in enumerate(names)}
    rows = [row for row in (*real, *made_up) if row[1] in index]
    count = sum(row[1] in index for row in real)
    held = np.array([in_held_out(url, recipe.held_out, recipe.seed) for url, _ in rows[:count]])
    kept, aside = np.flatnonzero(~held), np.flatnonzero(held)
    check_disjoint((rows[i][0] for i in kept), (rows[i][0] for i in aside), ("training", "validation"))
    check_classes((rows[i][1] for i in kept), names, "training part")
    if not len(aside):
        raise DataError("no domain was held out for validation: too little data")
    labels = np.array([index[row[1]] for row in rows])
    real_weights, made_up_weights = np.zeros(len(rows)), np.zeros(len(rows))
    urls = [rows[i][0] for i in kept]
    real_weights[kept] = draw_weights(urls, labels[kept], recipe.class_power, recipe.domain_power)
    if len(rows) > count:
        mass = np.bincount(labels, real_weights, len(names)) ** recipe.synthetic_power
        made = labels[count:]
        made_up_weights[count:] = mass[made] / np.bincount(made, minlength=len(names))[made]
        made_up_weights /= made_up_weights.sum()
    return Examples([row[0] for row in rows], labels, real_weights, made_up_weights, aside, names)


def run(
    data: Sequence[Path], synthetic: Sequence[Path], excluded: Sequence[Path], out: Path, recipe: Recipe
) -> dict[str, float]:
    """Read, train, export, write the card; returns the numbers of the card."""
    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    real, report = read_real(data)
    made_up = [row for path in synthetic for row in read_tsv(path, ("url", "lang")).rows]
    barred = {domain_label(url) for path in excluded for url, _ in read_tsv(path, ("url", "lang")).rows}
    examples = prepare(real, made_up, barred, recipe)
    labels, valid, names = examples.labels, examples.valid, examples.names
    report.append(
        f"{np.count_nonzero(examples.real)} real and {np.count_nonzero(examples.made_up)} synthetic URLs to draw "
        f"from, {len(valid)} held out by domain, {len(names)} labels; {len(barred)} evaluation domains left out"
    )
    print("\n".join(report), flush=True)

    tokenizer = byte_tokenizer()
    encoded = Encoded(tokenizer, [TEXTS[TEXT](url) for url in examples.urls], recipe.max_length)
    sizes = {name: getattr(recipe, name) for name in ("rows", "word_rows", "columns", "width", "layers")}
    net = WordNet(WordNetConfig(labels=len(names), **sizes))
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    history = train(net, encoded, labels, partial(examples.weights, recipe), valid, recipe, checkpoint)

    round_tables(net)
    logits = predict(net, encoded, valid)
    graph = language_graph(net)
    numbers = {
        "macro_f1": macro_f1(logits, labels[valid]),
        "temperature": fit_temperature(logits, labels[valid]),
        "parity": parity(net, graph, encoded.batch(valid[:512])),
        "epochs": len(history),
    }
    write_folder(
        out,
        graph,
        tokenizer,
        kind="language",
        labels=names,
        max_length=recipe.max_length,
        temperature=numbers["temperature"],
        text=TEXT,
    )
    card(out, report, recipe, numbers, names)
    checkpoint.unlink()
    return numbers


def card(out: Path, report: list[str], recipe: Recipe, numbers: dict[str, float], names: tuple[str, ...]) -> None:
    """The model card."""
    write_card(
        out,
        "The language of a document from its URL",
        {
            "What it does": "Probabilities of the language (ISO 639-3) of the page behind a URL, from the URL alone; "
            "`unk` is not a page (images, scripts, archives). Hashed n-grams of the words of the URL, mixed by "
            f"{recipe.layers} transformer layer(s) of width {recipe.width}; the n-gram tables are int8.",
            "Trained on": "\n".join(f"- {line}" for line in report),
            "Labels": " ".join(names),
            "Recipe": f"`python -m training.language`\n\n```json\n{json.dumps(asdict(recipe), indent=1)}\n```",
            "Scores": f"Held-out domains, classes with 30 URLs or more: macro-F1 {numbers['macro_f1']:.4f}. "
            f"Temperature {numbers['temperature']:.3f} (fitted there). Largest difference of logits between PyTorch "
            f"and ONNX: {numbers['parity']:.2g}.",
            "Limits": "English is what remains when a URL says nothing; a domain seen in training is recognised "
            "better than a new one. Country domains tell the likely language of the country, not of the page.",
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --data, decide on a held-out part of its domains, write --out."""
    parser = argparse.ArgumentParser(prog="python -m training.language", description=__doc__)
    parser.add_argument(
        "--data", type=Path, nargs="+", required=True, help="TSV files (url, lang), folders of frozen sites"
    )
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="TSV files of training.synthetic")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    parser.add_argument("--out", type=Path, required=True)
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args(arguments))
    recipe = Recipe(**{name: options[name] for name in asdict(Recipe())})
    try:
        run(options["data"], options["synthetic"], options["exclude"], options["out"], recipe)
    except DataError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
