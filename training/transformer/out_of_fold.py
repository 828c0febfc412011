"""Teachers out of fold: pre-trained encoders, each fine-tuned without the domains that it is asked about.

A teacher that saw a domain repeats its labels. Knowledge distillation as in Hinton et al. 2015 from teachers that did
not, as `training.language.cross_fit` does with small networks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from training.common.data import DataError
from training.common.loop import Checkpoint, Training, fingerprint, train
from training.common.soft_labels import out_of_fold
from training.transformer.base import load_model, load_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from training.common.soft_labels import Key, Teacher
    from training.transformer.recipes import FineTuningRecipe

    Texts = Callable[[Sequence[Key], np.random.Generator | None], list[str]]
    """The texts of keys as a teacher reads them, in training with random changes by a generator."""

EXAMPLES = {"language": 1_200_000, "parallelness": 720_000}
"""Drawn for each teacher."""
CHARACTERS = 64_000  # of a padded batch, about 24,000 tokens
MOST, POOL = 1024, 64
"""Examples of a batch at most, and batches of a pool whose examples are sorted by length."""
HIDDEN = 0.1  # share of the tokens that a teacher does not see in training
WARMUP, SMOOTHING = 0.06, 0.05


@dataclass(frozen=True, slots=True)
class Lessons:
    """What teachers learn from.

    `labels` [N] index `names` or are 1 for parallel, `weights` [N] are those of the draw, `folds` [N] the number of the
    teacher that must not see the example.
    """

    kind: str
    names: tuple[str, ...]
    keys: Sequence[Key]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]
    folds: NDArray[np.int64]
    texts: Texts


def fine_tuned(lessons: Lessons, recipe: FineTuningRecipe, folder: Path) -> Teacher:
    """A teacher that answers for each key, in either order, by an encoder that saw nothing of its fold.

    One encoder is fine-tuned for each fold, on the GPU if there is one; those of a killed run are read from `folder`.
    DataError if all examples are in one fold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lengths = np.array([sum(map(len, key)) for key in lessons.keys])
    learnt_from = fingerprint("\n".join(map("\t".join, lessons.keys)), lessons.labels, lessons.weights, lessons.folds)
    encoders = []
    for number in range(int(lessons.folds.max()) + 1):
        weights = lessons.weights * (lessons.folds != number)
        if not weights.any():
            raise DataError("no example is left for a teacher to learn from: give more --folds, or more data")
        encoder = Encoder(lessons, recipe)
        key = f"{asdict(recipe)} {EXAMPLES} {learnt_from}"
        encoder.train(weights, lengths, recipe, number, Checkpoint(folder / f"teacher-{number + 1}.pt", key))
        encoders.append(encoder.probabilities)
    either_order = ((key, key[::-1]) for key in lessons.keys)
    folds = {key: fold for keys, fold in zip(either_order, lessons.folds.tolist(), strict=True) for key in keys}
    return out_of_fold(encoders, folds)


class Encoder:
    """A pre-trained encoder that is fine-tuned on lessons, on the GPU if there is one."""

    def __init__(self, lessons: Lessons, recipe: FineTuningRecipe) -> None:
        self.lessons = lessons
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = load_tokenizer(recipe)
        self.max_length = recipe.max_length
        self.net: Any = load_model(recipe, lessons.kind, lessons.names).to(self.device)

    def train(
        self,
        weights: NDArray[np.float64],
        lengths: NDArray[np.int64],
        recipe: FineTuningRecipe,
        number: int,
        saved: Checkpoint,
    ) -> None:
        """Fine-tune on examples drawn by `weights` [N], in batches by `lengths` [N]; `number` changes the draw."""
        lessons, seed = self.lessons, recipe.seed + number
        target = torch.from_numpy(lessons.labels).to(self.device)

        def loss(indices: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
            found = self.logits([lessons.keys[i] for i in indices], rng)
            wanted = target[torch.from_numpy(indices).to(self.device)]
            if lessons.kind == "language":
                return functional.cross_entropy(found, wanted, label_smoothing=SMOOTHING)
            return functional.binary_cross_entropy_with_logits(found[:, 0], wanted.float())

        def draw(rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
            yield from batches(
                rng.choice(len(weights), EXAMPLES[lessons.kind], p=weights / weights.sum()), lengths, rng
            )

        steps = sum(1 for _ in draw(np.random.default_rng([seed, 0])))
        optimizer = torch.optim.AdamW(
            self.net.parameters(), lr=recipe.rate, weight_decay=recipe.decay, betas=(0.9, 0.98)
        )
        warm = max(1, round(WARMUP * steps))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
        )
        train(Training(self.net, optimizer, schedule, draw, loss, recipe.clip), 1, seed, saved)
        self.net.eval()

    def logits(self, keys: Sequence[Key], rng: np.random.Generator | None) -> Tensor:
        """Logits [N, labels]; with a generator, of changed texts of which some tokens are hidden."""
        texts = self.lessons.texts(keys, rng)
        batch = self.tokenizer(texts, truncation=True, max_length=self.max_length, padding=True, return_tensors="pt")
        ids = batch["input_ids"]
        if rng is not None:
            special = torch.tensor(self.tokenizer.all_special_ids)
            chosen = torch.from_numpy(rng.random(ids.shape) < HIDDEN) & ~torch.isin(ids, special)
            ids = torch.where(chosen, self.tokenizer.convert_tokens_to_ids("<mask>"), ids)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            mask = batch["attention_mask"].to(self.device)
            found: Tensor = self.net(input_ids=ids.to(self.device), attention_mask=mask).logits
        return found.float()

    @torch.no_grad()
    def probabilities(self, keys: Sequence[Key]) -> NDArray[np.float32]:
        """Probabilities [N, labels]."""
        order = sorted(range(len(keys)), key=lambda i: sum(map(len, keys[i])))
        found = np.empty((len(keys), self.net.config.num_labels), dtype=np.float32)
        for start in range(0, len(order), MOST):
            some = order[start : start + MOST]
            said = self.logits([keys[i] for i in some], None)
            found[some] = (said.softmax(1) if self.lessons.kind == "language" else said.sigmoid()).cpu().numpy()
        return found


def batches(
    order: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """`order` in batches of similar length, in random order within a pool.

    The memory of a GPU limits a batch, so unlike those of `training.common.encoding.pools` they are not of one size:
    padded, they have at most `CHARACTERS`, unless a single text is longer.
    """
    for start in range(0, len(order), POOL * MOST):
        pool = order[start : start + POOL * MOST]
        pool = pool[np.argsort(-lengths[pool], kind="stable")]
        cuts, begin = [], 0
        while begin < len(pool):
            end = begin + min(MOST, max(1, CHARACTERS // max(1, int(lengths[pool[begin]]))))
            cuts.append(pool[begin:end])
            begin = end
        yield from (cuts[i] for i in rng.permutation(len(cuts)))
