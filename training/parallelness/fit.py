"""Fit the pair network: the weights, the draw and the form of examples."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from training.common.data import DataError
from training.common.encoding import pools
from training.common.loop import Checkpoint, Training, fingerprint, train
from training.parallelness.examples import MADE_UP, is_refused, is_unclear
from training.parallelness.network import MARK_B, PAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from training.common.encoding import Encoded
    from training.parallelness.examples import Example
    from training.parallelness.network import PairNet
    from training.parallelness.recipe import PairRecipe


def weights_of(examples: Sequence[Example], recipe: PairRecipe) -> NDArray[np.float32]:
    """Weight of each example, at most 1: neither large domains nor sites with many untranslated pages dominate."""
    counts = Counter(example.group for example in examples)
    weights = np.array([min(1.0, (recipe.domain / counts[e.group]) ** 0.5) for e in examples], dtype=np.float32)
    weights *= np.array([recipe.synthetic if e.source in MADE_UP else 1.0 for e in examples], dtype=np.float32)
    weights *= np.array([not is_unclear(e) for e in examples], dtype=np.float32)
    refused = [i for i, e in enumerate(examples) if is_refused(e)]
    of_site = Counter(examples[i].source for i in refused)
    for i in refused:
        weights[i] = min(1.0, recipe.refused / of_site[examples[i].source])
    return weights


def fit(
    net: PairNet,
    data: Encoded,
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    chosen: NDArray[np.int64],
    recipe: PairRecipe,
    checkpoint: Path | None = None,
) -> None:
    """Train in place on the examples `chosen`. Resumes from `checkpoint` if it is of the same training.

    DataError if there is no example.
    """
    shares = weights[chosen].astype(np.float64)
    drawn = round(shares.sum())
    if not drawn:
        raise DataError("no pair is left to train on outside of a fold of the domains: give pairs of more domains")
    steps = recipe.epochs * -(-drawn // recipe.batch)
    net.word_table.requires_grad_(recipe.word_rate > 0)
    words = list(net.word_table.parameters())
    rest = [parameter for name, parameter in net.named_parameters() if not name.startswith("word_table")]
    rates = [recipe.rate, recipe.rate * recipe.word_rate]
    groups: list[dict[str, Any]] = [{"params": rest}, {"params": words, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, weight_decay=recipe.decay)
    # the library divides by zero if the warm-up takes exactly one step
    total = steps + (recipe.warmup * steps == 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, total_steps=total, pct_start=recipe.warmup)

    def draw(rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        order = rng.choice(chosen, drawn, replace=False, p=shares / shares.sum())
        batches = [batch for pool in pools(order, data.lengths, recipe.batch) for batch in pool]
        yield from (batches[number] for number in rng.permutation(len(batches)))

    def loss(indices: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        ids = data.batch(indices)
        ids = torch.where((torch.rand(ids.shape) < recipe.hide) & (ids > MARK_B), PAD, ids)
        return functional.binary_cross_entropy_with_logits(net(ids)[:, 0], torch.from_numpy(labels[indices]))

    learnt_from = fingerprint(chosen, data.ids, labels[chosen], weights[chosen])
    saved = Checkpoint(checkpoint, f"{recipe} {net.config} {learnt_from}") if checkpoint else None
    train(Training(net, optimizer, schedule, draw, loss), recipe.epochs, recipe.seed, saved)
