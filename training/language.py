"""`python -m training.language`: train the small URL language model and write its folder."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bilingual_crawler.scoring.models import TEXTS
from bilingual_crawler.scoring.tokens import ByteTokens
from bilingual_crawler.urls.canonical import domain_label
from training.calibration import calibration_error, fit_temperature
from training.data import DataError, read_real, read_tsv
from training.evaluate import score_languages
from training.examples import prepare
from training.export import parity, write_card, write_folder
from training.fit import Encoded, Recipe, macro_f1, predict, train
from training.networks import WordNet, WordNetConfig
from training.onnx_graph import language_graph, round_tables
from training.soft_labels import SHARE, Lesson, SoftLabels
from training.transformer import hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from training.examples import Examples

TEXT = "lower"
FEW, MANY = 5, 30
SMALL = ("mlt", "eus", "isl", "fin", "cnr", "mkd", "sqi")


def shift_priors(net: WordNet, logits: Tensor, examples: Examples, recipe: Recipe) -> tuple[Tensor, float]:
    """Move the network from the priors of the draw towards those of the real lists, as far as helps on validation.

    Rare languages are drawn more often than they are met; the share of the way is chosen by macro-F1 over all classes
    with five held-out URLs, for the big ones alone would move it so far that the small ones are never answered.
    Returns the shifted logits of the validation examples and that share.
    """
    drawn = np.bincount(examples.labels, examples.weights(recipe.synthetic_share), len(examples.names))
    real = np.bincount(examples.labels[examples.real > 0], minlength=len(examples.names))
    shift = torch.from_numpy(np.log(real / real.sum()) - np.log(drawn / drawn.sum())).float()
    labels = examples.labels[examples.valid]
    shares = [step / 10 for step in range(11)]
    best = max(shares, key=lambda share: macro_f1(logits + share * shift, labels, FEW))
    with torch.no_grad():
        net.head.bias.add_(best * shift)
    return logits + best * shift, best


def run(
    data: Sequence[Path],
    synthetic: Sequence[Path],
    excluded: Sequence[Path],
    out: Path,
    recipe: Recipe,
    soft: Path | None = None,
    share: float = SHARE,
) -> dict[str, float]:
    """Read, train, export, write the card; returns the numbers of the card."""
    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    real, report = read_real(data)
    made_up = [row for path in synthetic for row in read_tsv(path, ("url", "lang")).rows]
    barred = {domain_label(url) for url, _ in read_real(excluded)[0]}
    examples = prepare(real, made_up, barred, recipe)
    labels, valid, names = examples.labels, examples.valid, examples.names
    report.append(
        f"{np.count_nonzero(examples.real)} real and {np.count_nonzero(examples.made_up)} synthetic URLs to draw "
        f"from, {len(valid)} held out by domain, {len(names)} labels; {len(barred)} evaluation domains left out"
    )
    lesson = Lesson(SoftLabels.load(soft), examples.urls, labels, names, share) if soft else None
    if lesson:
        report.append(str(lesson))
    print("\n".join(report), flush=True)

    encoded = Encoded(ByteTokens(recipe.max_length), [TEXTS[TEXT](url) for url in examples.urls])
    sizes = {name: getattr(recipe, name) for name in ("rows", "word_rows", "columns", "width", "layers")}
    net = WordNet(WordNetConfig(labels=len(names), **sizes))
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    history = train(net, encoded, labels, examples.weights(recipe.synthetic_share), valid, recipe, checkpoint, lesson)

    round_tables(net)
    logits, share = shift_priors(net, predict(net, encoded, valid), examples, recipe)
    graph = language_graph(net)
    temperature = fit_temperature(logits, labels[valid])
    numbers = {
        "prior_shift": share,
        "macro_f1": macro_f1(logits, labels[valid], MANY),
        "macro_f1_few": macro_f1(logits, labels[valid], FEW),
        "temperature": temperature,
        "ece_before": calibration_error(logits.softmax(1).numpy(), labels[valid]),
        "ece": calibration_error((logits / temperature).softmax(1).numpy(), labels[valid]),
        "parity": parity(net, graph, encoded.batch(valid[:512])),
        "epochs": len(history),
    }
    write_folder(
        out,
        graph,
        None,
        kind="language",
        labels=names,
        max_length=recipe.max_length,
        temperature=temperature,
        text=TEXT,
    )
    scores = score_languages([names[i] for i in labels[valid]], [names[i] for i in logits.argmax(1).tolist()], MANY)
    card(out, report, recipe, numbers, names, scores)
    checkpoint.unlink()
    return numbers


def card(
    out: Path,
    report: list[str],
    recipe: Recipe,
    numbers: dict[str, float],
    names: tuple[str, ...],
    scores: dict[str, Any],
) -> None:
    """The model card; `scores` are those of `score_languages` on the held-out domains."""
    small = ", ".join(f"{k} {v['f1']:.2f} ({v['support']})" for k in SMALL if (v := scores["classes"].get(k)))
    write_card(
        out,
        "The language of a document from its URL",
        {
            "What it does": "Probabilities of the language (ISO 639-3) of the page behind a URL, from the URL alone; "
            "`unk` is not a page (images, scripts, archives). Hashed n-grams of the words of the URL, mixed with "
            f"their neighbours in {recipe.layers} layer(s) of width {recipe.width}, pooled by attention; the n-gram "
            "tables are int8. It reads the bytes of the URL, percent-decoded and in lower case.",
            "Trained on": "\n".join(f"- {line}" for line in report),
            "Labels": " ".join(names),
            "Recipe": f"`python -m training.language`\n\n```json\n{json.dumps(asdict(recipe), indent=1)}\n```",
            "Scores": "On domains held out from training.\n\n"
            f"- macro-F1 {numbers['macro_f1']:.4f} over classes with {MANY} URLs or more, {numbers['macro_f1_few']:.4f} "
            f"with {FEW} or more; accuracy {scores['accuracy']:.4f}\n"
            f"- small languages, F1 (URLs): {small}\n"
            f"- {scores['errors_to_english']:.0%} of the errors call a page English that is not\n"
            f"- fitted here: priors moved {numbers['prior_shift']:.0%} of the way from the draw to the lists; "
            f"temperature {numbers['temperature']:.3f}, which brings the calibration error from "
            f"{numbers['ece_before']:.4f} to {numbers['ece']:.4f}\n"
            f"- largest difference of logits between PyTorch and ONNX: {numbers['parity']:.2g}",
            "Limits": "English is what remains when a URL says nothing; a domain seen in training is recognised "
            "better than a new one. Country domains tell the likely language of the country, not of the page.",
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --data, decide on a held-out part of its domains, write --out."""
    left = hand_over("language", arguments)
    if left is None:
        return
    parser = argparse.ArgumentParser(prog="python -m training.language", description=__doc__)
    parser.add_argument(
        "--data", type=Path, nargs="+", required=True, help="TSV files (url, lang), folders of frozen sites"
    )
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="TSV files of training.synthetic")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--soft-labels", type=Path, help="a teacher's probabilities, written by training.distil")
    parser.add_argument("--soft-share", type=float, default=SHARE, help="of the teacher in the targets")
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args(left))
    recipe = Recipe(**{name: options[name] for name in asdict(Recipe())})
    try:
        sources = (options["data"], options["synthetic"], options["exclude"])
        run(*sources, options["out"], recipe, options["soft_labels"], options["soft_share"])
    except DataError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
