"""The examples of each epoch and their order: folds that grow, batches of similar length."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices

from training.transformer.recipes import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from training.transformer.recipes import FineTuningRecipe


@dataclass(frozen=True, slots=True)
class Plan:
    """Examples to draw from in each epoch; those that do not fill a batch are left out of that epoch."""

    sizes: tuple[int, ...]
    batch: int
    seed: int

    @property
    def ends(self) -> tuple[int, ...]:
        """The last step of each epoch."""
        return tuple(accumulate(size // self.batch for size in self.sizes))


def growing(rows: int, recipe: FineTuningRecipe) -> Plan:
    """Epoch k draws from the first k folds of one random order of the rows; RecipeError if they fill no batch."""
    fold = min(recipe.fold or rows, rows)
    if fold < recipe.batch:
        raise RecipeError(f"{fold} rows do not fill one batch: --batch must not exceed them")
    return Plan(tuple(min(rows, epoch * fold) for epoch in range(1, recipe.epochs + 1)), recipe.batch, recipe.seed)


class PlannedSampler(Sampler[int]):
    """Indices of the examples of all epochs of a plan, one after the other; the same in every run."""

    def __init__(self, plan: Plan, lengths: NDArray[np.int32]) -> None:
        self.plan = plan
        self.lengths = torch.tensor(lengths)

    def __len__(self) -> int:
        return self.plan.ends[-1] * self.plan.batch

    def __iter__(self) -> Iterator[int]:
        plan = self.plan
        order = torch.randperm(len(self.lengths), generator=torch.Generator().manual_seed(plan.seed))
        for epoch, size in enumerate(plan.sizes, start=1):
            generator = torch.Generator().manual_seed(plan.seed + epoch)
            fold = order[:size]
            lengths = self.lengths[fold].tolist()
            grouped = get_length_grouped_indices(lengths, plan.batch, generator=generator)
            batches = torch.split(fold[torch.tensor(grouped)], plan.batch)[: size // plan.batch]
            for number in torch.randperm(len(batches), generator=generator).tolist():
                yield from batches[number].tolist()
