"""Fit the language network: the draw of examples, and their form."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from training.common.data import DataError
from training.common.encoding import pools
from training.common.loop import Checkpoint, Training, fingerprint, predict, train
from training.common.scores import macro_f1
from training.language.network import WordNet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from training.common.soft_labels import Lesson
    from training.language.encoding import EncodedUrls
    from training.language.examples import Examples
    from training.language.network import WordNetConfig
    from training.language.recipe import LanguageRecipe


def fit(
    net: WordNet,
    data: EncodedUrls,
    examples: Examples,
    recipe: LanguageRecipe,
    checkpoint: Path,
    lesson: Lesson | None = None,
) -> list[dict[str, float]]:
    """Train in place; one record per epoch. Resumes from `checkpoint` if it is of the same recipe and data. A teacher's
    `lesson` replaces the labels. DataError if an epoch is smaller than a batch.
    """
    if recipe.epoch_size < recipe.batch:
        raise DataError(
            f"--epoch-size {recipe.epoch_size} fills no batch of {recipe.batch}: give more, or a smaller --batch"
        )
    cumulative = np.cumsum(examples.weights(recipe.synthetic_share))
    target = torch.from_numpy(examples.labels)
    steps = recipe.epochs * max(1, recipe.epoch_size // recipe.batch)
    warm = max(1, int(steps * recipe.warmup))
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm)))
    )

    def draw(rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        drawn = np.searchsorted(cumulative, rng.random(recipe.epoch_size) * cumulative[-1])
        for pool in pools(drawn, data.lengths, recipe.batch):
            whole = [batch for batch in pool if len(batch) == recipe.batch]
            yield from (whole[i] for i in rng.permutation(len(whole)))

    def loss(indices: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        hide = rng.random(len(indices)) / max(recipe.hide_host, 1e-9)
        wanted = lesson.targets(indices) if lesson else target[indices]
        return nn.functional.cross_entropy(net(data.batch(indices, hide)), wanted, label_smoothing=recipe.smoothing)

    def validate() -> dict[str, float]:
        return {"macro_f1": macro_f1(predict(net, data, examples.valid), examples.labels[examples.valid])}

    taught = lesson.fingerprint() if lesson else ""
    learnt_from = fingerprint(data.ids, examples.labels, cumulative, taught)
    saved = Checkpoint(checkpoint, f"{asdict(recipe)} {net.config} {learnt_from}")
    return train(Training(net, optimizer, schedule, draw, loss), recipe.epochs, recipe.seed, saved, validate)


def fit_on_part(
    config: WordNetConfig,
    data: EncodedUrls,
    examples: Examples,
    shown: NDArray[np.bool_],
    recipe: LanguageRecipe,
    number: int,
    checkpoint: Path,
    lesson: Lesson | None = None,
) -> WordNet:
    """A network that sees only the examples that are `shown`; its first weights depend on its `number`."""
    torch.manual_seed(recipe.seed + 1 + number)
    net = WordNet(config)
    part = replace(examples, real=examples.real * shown, made_up=examples.made_up * shown)
    fit(net, data, part, recipe, checkpoint, lesson)
    return net
