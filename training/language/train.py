"""Train the small language model on lists of URLs and write its folder."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import torch

from bilingual_crawler.scoring.models import TEXTS, ByteTokens
from training.common.calibration import fit_temperature
from training.common.loop import predict
from training.common.model_folder import parity, write_folder
from training.common.scores import calibration_error, macro_f1
from training.common.soft_labels import SHARE, Lesson, SoftLabels
from training.language.card import FEW, MANY, write_language_card
from training.language.cross_fit import cross_fit
from training.language.encoding import EncodedUrls
from training.language.evaluation import score_languages
from training.language.examples import read_examples
from training.language.fit import fit
from training.language.graph import language_graph, round_tables
from training.language.network import WordNet, WordNetConfig

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from training.language.examples import Examples
    from training.language.recipe import LanguageRecipe

TEXT = "lower"
NETWORK = ("rows", "word_rows", "columns", "width", "layers", "gram_dropout", "name_dropout")
"""The settings of the recipe that are the network's."""
TOLERANCE = 0.01  # of macro-F1: smaller differences are noise


def shift_priors(net: WordNet, logits: Tensor, examples: Examples, recipe: LanguageRecipe) -> tuple[Tensor, float]:
    """Shift the network from the priors of the draw towards those of the real lists, as far as validation improves.

    Rare languages are drawn more often than they are met. The share of the way is chosen by macro-F1 over all classes
    with five held-out URLs, for the big ones alone would move it so far that the small ones are never answered. It is
    the least share within a point of the best: the lists have more English than the sites of a pair. Returns the
    shifted logits of the validation examples and that share.
    """
    drawn = np.bincount(examples.labels, examples.weights(recipe.synthetic_share), len(examples.names))
    real = np.bincount(examples.labels[examples.real > 0], minlength=len(examples.names))
    shift = torch.from_numpy(np.log(real / real.sum()) - np.log(drawn / drawn.sum())).float()
    labels = examples.labels[examples.valid]
    scores = {step / 10: macro_f1(logits + step / 10 * shift, labels, FEW) for step in range(11)}
    chosen = min(share for share, score in scores.items() if score >= max(scores.values()) - TOLERANCE)
    with torch.no_grad():
        net.head.bias.add_(chosen * shift)
    return logits + chosen * shift, chosen


def run(
    data: Sequence[Path],
    synthetic: Sequence[Path],
    excluded: Sequence[Path],
    out: Path,
    recipe: LanguageRecipe,
    soft: Path | None = None,
    share: float = SHARE,
) -> dict[str, float]:
    """Read, train, export, write the card; returns the numbers of the card.

    A `share` of the targets is the mean of what the networks out of fold say and, if given, the teachers of the file
    `soft`: both err in other places.
    """
    torch.set_num_threads(1)
    examples, report = read_examples(data, synthetic, excluded, recipe)
    labels, valid, names = examples.labels, examples.valid, examples.names
    print("\n".join(report), flush=True)

    encoded = EncodedUrls(ByteTokens(recipe.max_length), [TEXTS[TEXT](url) for url in examples.urls])
    config = WordNetConfig(labels=len(names), **{name: getattr(recipe, name) for name in NETWORK})
    out.mkdir(parents=True, exist_ok=True)
    checkpoints = out / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    teachers = [SoftLabels.load(soft)] if soft else []
    if recipe.folds > 1:
        teachers.append(cross_fit(config, encoded, examples, recipe, checkpoints))
    lesson = Lesson(teachers, examples.urls, labels, names, share) if teachers else None
    if lesson:
        report.append(str(lesson))
        print(report[-1], flush=True)
    torch.manual_seed(recipe.seed)
    net = WordNet(config)
    history = fit(net, encoded, examples, recipe, checkpoints / "checkpoint.pt", lesson)

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
    write_language_card(out, report, recipe, numbers, names, scores)
    shutil.rmtree(checkpoints)
    return numbers
