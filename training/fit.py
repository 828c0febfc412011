"""The training loop of the small networks: which examples are drawn, how they are shown, when it is resumed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import Tensor, nn

from bilingual_crawler.scoring.tokens import FIRST_BYTE
from bilingual_crawler.urls.canonical import domain_label
from training.networks import PAD, WordNet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bilingual_crawler.scoring.tokens import Tokens
    from training.soft_labels import Lesson

SLASH = FIRST_BYTE + ord("/")
DOT = FIRST_BYTE + ord(".")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the language model is trained; the defaults are those of the shipped model.

    `class_power` and `domain_power` shape the draw of examples: a class with n URLs weighs n**class_power, a
    URL of a domain with m URLs of the class weighs m**-domain_power. `hide_host` is the share of URLs shown
    without their host, half of these with its suffix left; `synthetic_share` is that of made-up URLs drawn, whose
    classes weigh as the real ones to the power of `synthetic_power`. `held_out` is the share of the domains kept
    for validation. Classes with fewer than `least` real URLs are left out.
    """

    seed: int = 71213
    epochs: int = 8
    epoch_size: int = 250_000
    batch: int = 512
    rate: float = 2e-3
    decay: float = 0.01
    warmup: float = 0.05
    smoothing: float = 0.05
    class_power: float = 0.5
    domain_power: float = 0.5
    hide_host: float = 0.35
    synthetic_share: float = 0.15
    synthetic_power: float = 0.5
    held_out: float = 0.05
    least: int = 5
    max_length: int = 128
    rows: int = 262_139
    word_rows: int = 65_521
    columns: int = 24
    width: int = 96
    layers: int = 1


class Encoded:
    """Token ids of many texts in one array."""

    def __init__(self, tokens: Tokens, texts: Sequence[str]) -> None:
        parts = [tokens(texts[start : start + 4096]) for start in range(0, len(texts), 4096)]
        self.ids = np.concatenate([ids for ids, _ in parts]).astype(np.uint16)
        self.lengths = np.concatenate([lengths for _, lengths in parts])
        self._ends = np.cumsum(self.lengths)

    def batch(self, indices: NDArray[np.int64], hide: NDArray[np.float64] | None = None) -> Tensor:
        """Padded ids [B, L]; where `hide` is below 1 the host goes, where below .5 also its suffix."""
        rows = [self.ids[self._ends[i] - self.lengths[i] : self._ends[i]] for i in indices]
        if hide is not None:
            rows = [without_host(row, bool(h < 0.5)) if h < 1 else row for row, h in zip(rows, hide, strict=True)]
        padded = np.full((len(rows), max(1, max(map(len, rows)))), PAD, dtype=np.int64)
        for i, row in enumerate(rows):
            padded[i, : len(row)] = row
        return torch.from_numpy(padded)


def without_host(ids: NDArray[np.uint16], suffix_too: bool) -> NDArray[np.uint16]:
    """The ids from the first slash on, or from the last dot before it; unchanged if there is no path."""
    slashes = np.flatnonzero(ids == SLASH)
    if not len(slashes) or len(ids) - slashes[0] < 4:
        return ids
    dots = np.flatnonzero(ids[: slashes[0]] == DOT)
    return ids[slashes[0] if suffix_too or not len(dots) else dots[-1] :]


def draw_weights(
    urls: Sequence[str], labels: NDArray[np.int64], class_power: float, domain_power: float
) -> NDArray[np.float64]:
    """Weight of each example in the draw, summing to 1."""
    keys = [(domain_label(url), label) for url, label in zip(urls, labels, strict=True)]
    domains = Counter(keys)
    weights = np.array([float(domains[key]) ** -domain_power for key in keys])
    mass = np.bincount(labels, weights)
    wanted = np.where(mass > 0, mass, 1) ** class_power
    result: NDArray[np.float64] = weights / mass[labels] * wanted[labels]
    return np.asarray(result / result.sum())


def like_lengths(
    drawn: NDArray[np.int64], lengths: NDArray[np.int64], batch: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Batches of examples of like length, in random order; what does not fill a batch is left out."""
    pool = 32 * batch
    for start in range(0, len(drawn), pool):
        some = drawn[start : start + pool]
        some = some[np.argsort(lengths[some], kind="stable")]
        for i in rng.permutation(len(some) // batch):
            yield some[i * batch : (i + 1) * batch]


def predict(net: WordNet, data: Encoded, indices: NDArray[np.int64], batch: int = 256) -> Tensor:
    """Logits of the examples at `indices`, in that order."""
    net.eval()
    order = np.argsort(data.lengths[indices], kind="stable")
    starts = range(0, len(order), batch)
    with torch.no_grad():
        parts = [net(data.batch(indices[order[start : start + batch]])) for start in starts]
    result = torch.empty(len(indices), net.config.labels)
    result[torch.from_numpy(order)] = torch.cat(parts)
    return result


def macro_f1(logits: Tensor, labels: NDArray[np.int64], least: int = 30) -> float:
    """Macro-F1 over the classes with at least `least` examples, or the largest if there is none."""
    counts = np.bincount(labels)
    classes = np.flatnonzero(counts >= min(least, counts.max()))
    return float(f1_score(labels, logits.argmax(1).numpy(), labels=classes, average="macro", zero_division=0))


def train(
    net: WordNet,
    data: Encoded,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    valid: NDArray[np.int64],
    recipe: Recipe,
    checkpoint: Path,
    lesson: Lesson | None = None,
) -> list[dict[str, float]]:
    """Train in place; one record per epoch. Goes on from `checkpoint` if there is one of the same recipe.

    `weights` are those of the draw; `valid` are the indices of the held-out examples, of weight 0. A
    teacher's `lesson` takes the place of the labels.
    """
    cumulative = np.cumsum(weights)
    target = torch.from_numpy(labels)
    steps = recipe.epochs * max(1, recipe.epoch_size // recipe.batch)
    warm = max(1, int(steps * recipe.warmup))
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm)))
    )
    history: list[dict[str, float]] = []
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        if saved["recipe"] == asdict(recipe):
            net.load_state_dict(saved["net"])
            optimizer.load_state_dict(saved["optimizer"])
            schedule.load_state_dict(saved["schedule"])
            history = saved["history"]
            print(f"going on after epoch {len(history)}")
    for epoch in range(len(history), recipe.epochs):
        began, losses = time.perf_counter(), []
        rng = np.random.default_rng([recipe.seed, epoch])
        torch.manual_seed(recipe.seed + epoch)
        net.train()
        drawn = np.searchsorted(cumulative, rng.random(recipe.epoch_size) * cumulative[-1])
        for indices in like_lengths(drawn, data.lengths, recipe.batch, rng):
            hide = rng.random(len(indices)) / max(recipe.hide_host, 1e-9)
            logits = net(data.batch(indices, hide))
            wanted = lesson.targets(indices) if lesson else target[indices]
            loss = nn.functional.cross_entropy(logits, wanted, label_smoothing=recipe.smoothing)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        score = macro_f1(predict(net, data, valid), labels[valid])
        seconds = time.perf_counter() - began
        history.append({"loss": float(np.mean(losses)), "macro_f1": score, "seconds": round(seconds, 1)})
        print(f"epoch {epoch + 1}", " ".join(f"{key} {value:.4f}" for key, value in history[-1].items()), flush=True)
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
        written = checkpoint.with_suffix(".new")
        torch.save({**state, "history": history, "recipe": asdict(recipe)}, written)
        written.replace(checkpoint)
    return history
