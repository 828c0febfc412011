"""Fitting the pair network: weights of examples, batches, epochs with checkpoints, calibration."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from training.pair_network import MARK_B, PAD
from training.pairs import MADE_UP, is_refused, is_unclear

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from training.pair_network import PairNet
    from training.pairs import Example

MAX_LENGTH = 80
POOL = 32
BINS = 15


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is trained; the defaults are those of the shipped model.

    An example of a domain with n examples weighs min(1, (domain / n) ** .5), a synthetic one `synthetic` times
    that, an unclear negative nothing, the refused links (`pairs.is_refused`) of a site together at most `refused`.
    An epoch draws examples by weight, as many as the weights add up to. `hide` is the share of tokens hidden from the network in training. `negatives` and `hard` are per positive (and
    generator). `made_up` sites of each kind are made up. The table of word pieces learns at `word_rate` times the
    rate, after `word_epochs` on the lexicon; at 0 it stays as the lexicon left it, which halves the work.
    """

    seed: int = 71213
    epochs: int = 4
    batch: int = 512
    rate: float = 4e-3
    decay: float = 0.01
    warmup: float = 0.1
    hide: float = 0.1
    domain: float = 600.0
    refused: float = 30.0
    made_up: int = 1000
    synthetic: float = 0.5
    negatives: int = 3
    hard: int = 3
    pieces: int = 56_000
    word_epochs: int = 3
    word_rate: float = 0.0


class Encoded:
    """Token ids of many pairs in one array."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
        tokenizer.enable_truncation(MAX_LENGTH)
        rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
        self.lengths = np.array([len(row) for row in rows])
        self.ends = np.cumsum(self.lengths)
        self.ids = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=int(self.ends[-1]))

    def batch(self, indices: NDArray[np.int64]) -> torch.Tensor:
        """Padded ids [B, L] of the examples at `indices`."""
        lengths = self.lengths[indices]
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(mask.shape, PAD, dtype=np.int64)
        padded[mask] = np.concatenate([self.ids[self.ends[i] - self.lengths[i] : self.ends[i]] for i in indices])
        return torch.from_numpy(padded)


def weights_of(examples: Sequence[Example], recipe: Recipe) -> NDArray[np.float32]:
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


def train(
    net: PairNet,
    data: Encoded,
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    chosen: NDArray[np.int64],
    recipe: Recipe,
    checkpoint: Path | None = None,
) -> None:
    """Train in place on the examples `chosen`; goes on from `checkpoint` if that is of the same training."""
    shares = weights[chosen].astype(np.float64)
    drawn = round(shares.sum())
    steps = recipe.epochs * -(-drawn // recipe.batch)
    net.word_table.requires_grad_(recipe.word_rate > 0)
    words = list(net.word_table.parameters())
    rest = [parameter for name, parameter in net.named_parameters() if not name.startswith("word_table")]
    rates = [recipe.rate, recipe.rate * recipe.word_rate]
    groups: list[dict[str, Any]] = [{"params": rest}, {"params": words, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, total_steps=steps, pct_start=recipe.warmup)
    parts: dict[str, Any] = {"net": net, "optimizer": optimizer, "schedule": schedule}
    key = f"{recipe} {net.config} {len(chosen)}"
    done = 0
    if checkpoint and checkpoint.exists() and (saved := torch.load(checkpoint, weights_only=True))["key"] == key:
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        done = saved["epochs"]
        print(f"{checkpoint.stem}: going on after epoch {done}", flush=True)
    for epoch in range(done, recipe.epochs):
        began, total = time.perf_counter(), 0.0
        rng = np.random.default_rng([recipe.seed, epoch])
        torch.manual_seed(recipe.seed + epoch)
        net.train()
        order = rng.choice(chosen, drawn, replace=False, p=shares / shares.sum())
        for indices in batches(order, data.lengths, recipe.batch, rng):
            ids = data.batch(indices)
            ids = torch.where((torch.rand(ids.shape) < recipe.hide) & (ids > MARK_B), PAD, ids)
            loss = functional.binary_cross_entropy_with_logits(net(ids)[:, 0], torch.from_numpy(labels[indices]))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += loss.item() * len(indices)
        if checkpoint:
            states = {name: part.state_dict() for name, part in parts.items()}
            save({"key": key, "epochs": epoch + 1, **states}, checkpoint)
            seconds = time.perf_counter() - began
            print(f"{checkpoint.stem}: epoch {epoch + 1} loss {total / drawn:.4f} seconds {seconds:.0f}", flush=True)


def save(state: dict[str, Any], path: Path) -> None:
    """Write a checkpoint so that a kill leaves the old one or the new one."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    os.replace(partial, path)


def batches(
    order: NDArray[np.int64], lengths: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Batches of examples of like length: pools of 32 batches are sorted by length, then drawn at random."""
    found = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        found += [pool[i : i + size] for i in range(0, len(pool), size)]
    for number in rng.permutation(len(found)):
        yield found[number]


def predict(net: PairNet, data: Encoded, indices: NDArray[np.int64], batch: int = 512) -> NDArray[np.float32]:
    """Logits of the examples at `indices`, in that order."""
    net.eval()
    order = np.argsort(data.lengths[indices], kind="stable")
    result = np.empty(len(indices), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            result[rows] = net(data.batch(indices[rows]))[:, 0].numpy()
    return result


def fit_calibration(
    logits: NDArray[np.float32], labels: NDArray[np.float32], weights: NDArray[np.float32]
) -> tuple[float, float]:
    """Temperature and shift with the least weighted cross-entropy of `(logits + shift) / temperature`."""
    model = LogisticRegression(C=1e6).fit(logits[:, None], labels, sample_weight=weights)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    return (1 / slope, intercept / slope) if slope > 0.1 else (1.0, 0.0)


def calibration_error(
    probabilities: NDArray[np.floating], labels: NDArray[np.number], weights: NDArray[np.floating]
) -> float:
    """Expected calibration error: weighted mean gap between probability and share of positives, in 15 equal bins."""
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights * (probabilities - labels), minlength=BINS)
    return float(np.abs(gaps).sum() / weights.sum())
