"""The training loop of the small networks, which resumes from a checkpoint after a kill."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from bilingual_crawler.storage.files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from training.common.encoding import Encoded

    Draw = Callable[[np.random.Generator], Iterator[NDArray[np.int64]]]
    Loss = Callable[[NDArray[np.int64], np.random.Generator], Tensor]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a training in a file; `key` identifies the training."""

    path: Path
    key: str

    def load(self) -> dict[str, Any] | None:
        """The state that an earlier run of the same training left."""
        if not self.path.exists():
            return None
        state: dict[str, Any] = torch.load(self.path, weights_only=True)
        return state if state.get("key") == self.key else None

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state atomically."""
        with replacing(self.path) as part:
            torch.save({"key": self.key, **state}, part)


def fingerprint(*parts: NDArray[Any] | str) -> str:
    """A hash of what a training learns from, for the key of its checkpoint."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Training:
    """The parts of a training that differ between networks: optimisation, the batches of an epoch, and their loss.

    `draw` gives the indices of the examples of each batch of an epoch, `loss` the mean loss of a batch; both draw from
    the generator of the epoch. Gradients are clipped at the norm `clip`, if it is given.
    """

    net: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    draw: Draw
    loss: Loss
    clip: float | None = None


def train(
    training: Training,
    epochs: int,
    seed: int,
    checkpoint: Checkpoint | None = None,
    validate: Callable[[], Mapping[str, float]] = dict,
) -> list[dict[str, float]]:
    """Train in place; one record per epoch with the loss, what `validate` gives, and the seconds.

    With a checkpoint, epochs are reported and saved, and those of an earlier run are not repeated.
    """
    parts: dict[str, Any] = {"net": training.net, "optimizer": training.optimizer, "schedule": training.schedule}
    history: list[dict[str, float]] = []
    if checkpoint and (saved := checkpoint.load()):
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        history = saved["history"]
        print(f"{checkpoint.path.stem}: going on after epoch {len(history)}", flush=True)
    for epoch in range(len(history), epochs):
        began = time.perf_counter()
        loss = _train_epoch(training, np.random.default_rng([seed, epoch]), seed + epoch)
        record = {"loss": loss, **validate(), "seconds": round(time.perf_counter() - began, 1)}
        history.append(record)
        if checkpoint:
            numbers = " ".join(f"{name} {value:.4g}" for name, value in record.items())
            print(f"{checkpoint.path.stem}: epoch {epoch + 1} {numbers}", flush=True)
            checkpoint.save({**{name: part.state_dict() for name, part in parts.items()}, "history": history})
    return history


def _train_epoch(training: Training, rng: np.random.Generator, seed: int) -> float:
    """Show the examples of one epoch; returns their mean loss."""
    torch.manual_seed(seed)
    training.net.train()
    total, shown = 0.0, 0
    for indices in training.draw(rng):
        loss = training.loss(indices, rng)
        training.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if training.clip is not None:
            nn.utils.clip_grad_norm_(training.net.parameters(), training.clip)
        training.optimizer.step()
        training.schedule.step()
        total += loss.item() * len(indices)
        shown += len(indices)
    return total / max(1, shown)


def predict(net: nn.Module, data: Encoded, indices: NDArray[np.int64], batch: int = 256) -> Tensor:
    """Logits [N, outputs] of the examples at `indices`, in that order."""
    net.eval()
    order = np.argsort(data.lengths[indices], kind="stable")
    with torch.no_grad():
        parts = [net(data.batch(indices[order[i : i + batch]])) for i in range(0, max(1, len(order)), batch)]
    found = torch.cat(parts)
    result = torch.empty_like(found)
    result[torch.from_numpy(order)] = found
    return result
